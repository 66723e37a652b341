"""Asks the user at the terminal: no typed-ahead input, no default yes, no pasted answer.

During a question the terminal is in line mode and delivers Ctrl-C; its settings are restored
afterwards.
"""

from __future__ import annotations

import os
import pwd
import re
import select
import termios
import textwrap
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

import anyio
import anyio.to_thread

from handrail.core.approval import Answer, ApprovalRequest, Reply, config_line
from handrail.core.text.safe_text import safe_text
from handrail.host.terminal.question import (
    MARGIN,
    Screen,
    render_full_question,
    render_heading,
    render_question,
)

_LOOK_S: Final = 0.2
_GONE_S: Final = 2.0
# Too short to read a question: input within this time was meant for something else.
_UNREAD_S: Final = 0.3
# Lines of a paste arrive closer together than typed ones.
_PASTE_S: Final = 0.05
_CTRL_C: Final = b"\x03"
_MORE: Final = "Enter: more · q: back · abort: end the run "
_LFLAG: Final = 3
_CC: Final = 6
_WORDS: Final = {
    "y": Answer.YES,
    "yes": Answer.YES,
    "n": Answer.NO,
    "no": Answer.NO,
    "abort": Answer.ABORT,
}
_REFUSAL: Final = re.compile(r"no?\s+(?P<reason>\S.*)", re.IGNORECASE)


class TerminalApprover:
    """Asks on the controlling terminal, whatever standard input and output are."""

    def __init__(self, device: str = "/dev/tty", *, colour: bool = False) -> None:
        self._device = device
        self._colour = colour

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Show what would happen and wait for an answer."""
        over, gone = threading.Event(), threading.Event()
        try:
            return await anyio.to_thread.run_sync(
                self._ask, request, over, gone, abandon_on_cancel=True
            )
        finally:
            # The thread must not outlive the question: it would delay the end of the process and
            # take later input, even Ctrl-C, for an answer.
            over.set()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(gone.wait, _GONE_S)

    def _ask(self, request: ApprovalRequest, over: threading.Event, gone: threading.Event) -> Reply:
        try:
            with _opened(self._device) as terminal:
                answer, reason = _Conversation(terminal, over, self._screen(terminal)).ask(request)
                return Reply(answer, "terminal", user_name(), reason)
        finally:
            gone.set()

    def _screen(self, terminal: int) -> Screen:
        try:
            size = os.get_terminal_size(terminal)
        except OSError:
            return Screen(colour=self._colour)
        # A terminal of unknown size reports zero.
        return Screen(size.columns or 80, size.lines or 24, self._colour)


class _Conversation:
    """One question and the dialogue until it is answered."""

    def __init__(self, terminal: int, over: threading.Event, screen: Screen) -> None:
        self._terminal = terminal
        self._over = over
        self._screen = screen

    def ask(self, request: ApprovalRequest) -> tuple[Answer, str | None]:
        """Return the answer, and the reason of a refusal."""
        shown = render_question(request, self._screen)
        self._say(shown.text)
        self._say(_choices(request, self._screen.width, cut=shown.cut))
        self._over.wait(_UNREAD_S)
        words = ["yes", "no", *(["always"] if request.always else []), "abort"]
        prompt = f"Allow this once? [{'/'.join([*words, *(['v'] if shown.cut else [])])}] "
        while True:
            line = self._read(prompt)
            if line.endswith(_CTRL_C):
                return self._abort()
            if not line:
                return Answer.NO, None
            text = line.decode("utf-8", "replace").strip() if line.endswith(b"\n") else ""
            word = text.lower()
            if word in _WORDS:
                return _WORDS[word], None
            if refusal := _REFUSAL.fullmatch(text):
                return Answer.NO, refusal["reason"]
            if word == "always" and request.always is not None:
                self._say(f"to keep it, add to your own configuration:\n{_kept(request.always)}\n")
                return Answer.ALWAYS, None
            if word == "v":
                if not self._page(request):
                    return self._abort()
                self._say(f"\n{render_heading(request)}\n")
            elif word:
                self._say(_not_an_answer(word))

    def _abort(self) -> tuple[Answer, None]:
        # The terminal shows ^C without a line end.
        self._say("\n")
        return Answer.ABORT, None

    def _page(self, request: ApprovalRequest) -> bool:
        """Show everything, one screen at a time; False if the user aborts."""
        room = max(self._screen.height - 1, 5)
        for number, row in enumerate(render_full_question(request, self._screen), 1):
            self._say(f"{row}\n")
            if number % room == 0:
                line = self._read(_MORE)
                if line.endswith(_CTRL_C) or line.strip().lower() == b"abort":
                    return False
                if not line or line.strip():
                    break
        return True

    def _read(self, prompt: str) -> bytes:
        """One line that was typed after the prompt, and alone; empty at end of input or when the
        question is over.
        """
        while not self._over.is_set():
            _forget_typed_ahead(self._terminal)
            self._say(prompt)
            line = self._line()
            if not line or line.endswith(_CTRL_C):
                return line
            if not select.select([self._terminal], [], [], _PASTE_S)[0]:
                return line
            self._say("\nseveral lines at once are not an answer\n")
        return b""

    def _line(self) -> bytes:
        while not self._over.is_set():
            if select.select([self._terminal], [], [], _LOOK_S)[0]:
                return os.read(self._terminal, 1024)
        return b""

    def _say(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._terminal, data) :]


def user_name() -> str:
    """The user of this process, for the record."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def _choices(request: ApprovalRequest, width: int, *, cut: bool) -> str:
    more = " · v: show all of it" if cut else ""
    lines = [
        "yes: allow it once · no: refuse it · no TEXT: refuse it and say why",
        f"abort or Ctrl-C: end the run{more}",
    ]
    if request.always is not None:
        within = _within(request.effects)
        lines.append(f"always: allow this until the session ends, without asking{within}:")
    folded = [row for line in lines for row in textwrap.wrap(line, max(width, 20))]
    if request.always is not None:
        folded.append(_kept(request.always, line=False))
    return "\n".join(folded) + "\n"


def _not_an_answer(word: str) -> str:
    if word == "always":
        return "there is no rule to allow this always; it can be allowed once\n"
    if word == "a":
        return "type the whole word: always or abort\n"
    return "that is not an answer\n"


def _within(effects: Mapping[str, Any] | None) -> str:
    """The limits within which a command runs without a question."""
    if effects is None:
        return ""
    return ", inside the sandbox" + (" and without network" if effects.get("network") else "")


def _kept(rule: str, *, line: bool = True) -> str:
    return MARGIN + safe_text(config_line(rule) if line else rule, one_line=True)


@contextmanager
def _opened(device: str) -> Iterator[int]:
    terminal = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        before = _set_up(terminal)
        try:
            yield terminal
        finally:
            if before is not None:
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)


def _set_up(terminal: int) -> list[Any] | None:
    """Set line mode with echo and Ctrl-C as input; returns the old settings, None if this is no
    terminal.
    """
    try:
        before = termios.tcgetattr(terminal)
    except termios.error:
        return None
    mine = [*before[:_CC], list(before[_CC])]
    mine[_LFLAG] |= termios.ICANON | termios.ECHO | termios.ISIG
    mine[0] |= termios.ICRNL
    mine[_CC][termios.VINTR] = b"\x00"
    mine[_CC][termios.VEOL] = _CTRL_C
    termios.tcsetattr(terminal, termios.TCSADRAIN, mine)
    return before


def _forget_typed_ahead(terminal: int) -> None:
    try:
        termios.tcflush(terminal, termios.TCIFLUSH)
    except termios.error:
        return
