"""Edits one line of input from the bytes of a terminal; draws nothing."""

from __future__ import annotations

import codecs
import re
from typing import Final, NamedTuple

from handrail.core.text.columns import cells, character_width

_MOST_CHARS: Final = 64 * 1024
_MOST_KEPT: Final = 200
# Special keys: CSI and SS3 sequences, and letters typed with Alt.
_SEQUENCE: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*[@-~]|O[A-Za-z]|[^\[O])", re.DOTALL)
_UNFINISHED: Final = re.compile(r"\x1b(?:\[[0-9;?]*[ -/]*|O)?\Z")
_PASTE: Final = "\x1b[200~"
_PASTE_END: Final = "\x1b[201~"
# How a line end inside pasted text is shown.
_LINE_END: Final = "↵"
_KEYS: Final = {
    "\x1b[C": "right", "\x1b[D": "left", "\x1b[A": "older", "\x1b[B": "newer",
    "\x1b[H": "home", "\x1b[F": "end", "\x1b[1~": "home", "\x1b[4~": "end", "\x1b[3~": "delete",
    "\x1bOC": "right", "\x1bOD": "left", "\x1bOA": "older", "\x1bOB": "newer", "\x1bOH": "home",
    "\x1bOF": "end", "\x01": "home", "\x05": "end", "\x02": "left", "\x06": "right",
    "\x10": "older", "\x0e": "newer", "\x7f": "backspace", "\x08": "backspace",
    "\x15": "kill_before", "\x0b": "kill_after", "\x17": "kill_word",
}  # fmt: skip


class ShownLine(NamedTuple):
    """The part of the line that fits on the screen, and the column of the cursor in it."""

    text: str
    column: int


class LineEditor:
    """One line and its cursor, with the history of entered lines. Pasted text may contain line ends
    and is one entry.
    """

    def __init__(self) -> None:
        self.text = ""
        self._cursor = 0
        self._entered: list[str] = []
        self._place = 0
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        # The beginning of an incomplete sequence.
        self._rest = ""
        self._pasting = False

    def feed(self, data: bytes) -> list[str | None]:
        """Edit the line with these bytes; return the lines that were entered, None for the end of
        input.
        """
        keys = self._rest + self._decoder.decode(data)
        self._rest, entered, at = "", list[str | None](), 0
        while at < len(keys):
            if _UNFINISHED.match(keys, at):
                self._rest = keys[at:]
                break
            match = _SEQUENCE.match(keys, at)
            key = match[0] if match else keys[at]
            at += len(key)
            if key in (_PASTE, _PASTE_END):
                self._pasting = key == _PASTE
            elif self._pasting or not self._is_entered(key, entered):
                self._press(key)
        return entered

    def show(self, room: int) -> ShownLine:
        """Return the line around the cursor, in at most `room` columns."""
        text = self.text.replace("\n", _LINE_END)
        start = 0
        while cells(text[start : self._cursor]) >= room:
            start += 1
        shown, used = "", 0
        for char in text[start:]:
            used += character_width(char)
            if used > room:
                break
            shown += char
        return ShownLine(shown, cells(text[start : self._cursor]))

    def _is_entered(self, key: str, entered: list[str | None]) -> bool:
        if key in ("\r", "\n"):
            entered.append(self.text)
            if self.text.strip():
                self._entered = [*self._entered[-_MOST_KEPT:], self.text]
            self._set("")
            self._place = len(self._entered)
            return True
        if key == "\x04" and not self.text:
            entered.append(None)
            return True
        return False

    def _press(self, key: str) -> None:
        action = _KEYS.get(key) or ("delete" if key == "\x04" else "")
        if action and not self._pasting:
            getattr(self, f"_{action}")()
        elif key in ("\r", "\n") or key == "\t" or key.isprintable():
            added = {"\r": "\n", "\t": " "}.get(key, key)
            if len(self.text) < _MOST_CHARS:
                self.text = self.text[: self._cursor] + added + self.text[self._cursor :]
                self._cursor += 1

    def _set(self, text: str) -> None:
        self.text, self._cursor = text, len(text)

    def _left(self) -> None:
        self._cursor = max(self._cursor - 1, 0)

    def _right(self) -> None:
        self._cursor = min(self._cursor + 1, len(self.text))

    def _home(self) -> None:
        self._cursor = 0

    def _end(self) -> None:
        self._cursor = len(self.text)

    def _backspace(self) -> None:
        self._remove(self._cursor - 1)

    def _delete(self) -> None:
        self.text = self.text[: self._cursor] + self.text[self._cursor + 1 :]

    def _kill_before(self) -> None:
        self._remove(0)

    def _kill_after(self) -> None:
        self.text = self.text[: self._cursor]

    def _kill_word(self) -> None:
        before = self.text[: self._cursor].rstrip()
        self._remove(before.rfind(" ") + 1)

    def _remove(self, start: int) -> None:
        """Remove the text between `start` and the cursor."""
        start = max(start, 0)
        self.text = self.text[:start] + self.text[self._cursor :]
        self._cursor = start

    def _older(self) -> None:
        self._recall(self._place - 1)

    def _newer(self) -> None:
        self._recall(self._place + 1)

    def _recall(self, place: int) -> None:
        if 0 <= place < len(self._entered):
            self._place = place
            self._set(self._entered[place])
        elif place >= len(self._entered):
            self._place = len(self._entered)
            self._set("")
