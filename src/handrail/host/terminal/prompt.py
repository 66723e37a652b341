"""Asks the user at the terminal: no typed-ahead input, no default yes, no pasted answer.

During a question the terminal is in line mode and delivers Ctrl-C; its settings are restored
afterwards.
"""

from __future__ import annotations

import os
import pwd
import select
import termios
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
_MORE: Final = "-- Enter: more · q: back to the question · a or Ctrl-C: abort everything -- "
_LFLAG: Final = 3
_CC: Final = 6
_WORDS: Final = {
    "y": Answer.YES,
    "yes": Answer.YES,
    "n": Answer.NO,
    "no": Answer.NO,
    "a": Answer.ABORT,
    "abort": Answer.ABORT,
}


class TerminalApprover:
    """Asks on the controlling terminal, whatever standard input and output are."""

    def __init__(self, device: str = "/dev/tty", *, colour: bool = False) -> None:
        self._device = device
        self._colour = colour

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Show what would happen and wait for an answer."""
        over, gone = threading.Event(), threading.Event()
        try:
            answer = await anyio.to_thread.run_sync(
                self._ask, request, over, gone, abandon_on_cancel=True
            )
        finally:
            # The thread must not outlive the question: it would delay the end of the process and
            # take later input, even Ctrl-C, for an answer.
            over.set()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(gone.wait, _GONE_S)
        return Reply(answer, "terminal", user_name())

    def _ask(
        self, request: ApprovalRequest, over: threading.Event, gone: threading.Event
    ) -> Answer:
        try:
            with _opened(self._device) as terminal:
                return _Conversation(terminal, over, self._screen(terminal)).ask(request)
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

    def ask(self, request: ApprovalRequest) -> Answer:
        shown = render_question(request, self._screen)
        self._say(shown.text)
        self._say(_choices(request, cut=shown.cut))
        self._over.wait(_UNREAD_S)
        letters = ["y", "n", "a", *(["always"] if request.always else [])]
        prompt = f"Allow this once? [{'/'.join([*letters, *(['v'] if shown.cut else [])])}] "
        while True:
            line = self._read(prompt)
            if line.endswith(_CTRL_C):
                return self._abort()
            if not line:
                return Answer.NO
            word = line.decode("utf-8", "replace").strip().lower() if line.endswith(b"\n") else ""
            if word in _WORDS:
                return _WORDS[word]
            if word == "always" and request.always is not None:
                self._say(f"to keep it, add to your own configuration:\n{_kept(request.always)}\n")
                return Answer.ALWAYS
            if word == "v":
                if not self._page(request):
                    return self._abort()
                self._say(f"\n{render_heading(request)}\n")
            elif word == "always":
                self._say("there is no rule to allow this always; it can be allowed once\n")

    def _abort(self) -> Answer:
        # The terminal shows ^C without a line end.
        self._say("\n")
        return Answer.ABORT

    def _page(self, request: ApprovalRequest) -> bool:
        """Show everything, one screen at a time; False if the user aborts."""
        room = max(self._screen.height - 1, 5)
        for number, row in enumerate(render_full_question(request, self._screen), 1):
            self._say(f"{row}\n")
            if number % room == 0:
                line = self._read(_MORE)
                if line.endswith(_CTRL_C) or line.strip().lower() in (b"a", b"abort"):
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
            self._say("\nseveral lines at once are no answer\n")
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


def _choices(request: ApprovalRequest, *, cut: bool) -> str:
    more = " · v: show all of it" if cut else ""
    lines = [f"y: yes, this once · n: no · a or Ctrl-C: abort everything{more}"]
    if request.always is not None:
        lines += [
            "always: yes, and until this session ends, without asking"
            + f"{_within(request.effects)}:",
            _kept(request.always, line=False),
        ]
    return "\n".join(lines) + "\n"


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
