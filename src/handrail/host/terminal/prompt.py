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
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any, Final, TypeVar

import anyio
import anyio.to_thread

from handrail.core.approval import Answer, ApprovalRequest, Reply, config_line
from handrail.core.ports.questions import ModelQuestion, QuestionReply, QuestionRequest
from handrail.core.text.safe_text import safe_text
from handrail.host import messages
from handrail.host.terminal.question_text import (
    Screen,
    frame,
    render_full_question,
    render_heading,
    render_model_question,
    render_question,
)

T = TypeVar("T")
_LOOK_S: Final = 0.2
_GONE_S: Final = 2.0
# Too short to read a question: input within this time was meant for something else.
_UNREAD_S: Final = 0.3
# Lines of a paste arrive closer together than typed ones.
_PASTE_S: Final = 0.05
_CTRL_C: Final = b"\x03"
_ANSWER_PROMPT: Final = "your answer to the model: "
_MORE: Final = "Enter: more · q: back · Ctrl-C: stop "
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
    """Asks on the controlling terminal, independent of standard input and output. With
    `single_call` there is no run that an answer could end, so that answer is not offered. With
    `session_ends` the session is over with the call, so "always" would have no effect.
    """

    def __init__(
        self,
        device: str = "/dev/tty",
        *,
        colour: bool = False,
        single_call: bool = False,
        session_ends: bool = False,
    ) -> None:
        self._device = device
        self._colour = colour
        self._single_call = single_call
        self._no_always = messages.ALWAYS_ENDS if session_ends else messages.NO_ALWAYS

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Show what would happen and wait for an answer."""
        return await self._in_thread(partial(self._ask, request))

    async def _in_thread(self, ask: Callable[[int, threading.Event], T]) -> T:
        """Run a dialogue on the terminal in a thread."""
        over, gone = threading.Event(), threading.Event()

        def work() -> T:
            try:
                with _open_terminal(self._device) as terminal:
                    return ask(terminal, over)
            finally:
                gone.set()

        try:
            return await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            # The thread must not outlive the question: it would delay the end of the process and
            # read later input, even Ctrl-C, as an answer.
            over.set()
            with anyio.CancelScope(shield=True):
                await anyio.to_thread.run_sync(gone.wait, _GONE_S)

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Show the questions of a model one after the other and wait for the answers."""
        return await self._in_thread(partial(self._ask_questions, request))

    def _ask_questions(
        self, request: QuestionRequest, terminal: int, over: threading.Event
    ) -> QuestionReply:
        answers = _QuestionDialogue(terminal, over, self._screen(terminal)).answer(request)
        return QuestionReply(answers, "terminal", user_name(), aborted=answers is None)

    def _ask(self, request: ApprovalRequest, terminal: int, over: threading.Event) -> Reply:
        dialogue = _QuestionDialogue(terminal, over, self._screen(terminal))
        answer, reason = dialogue.ask(
            request, single_call=self._single_call, no_always=self._no_always
        )
        return Reply(answer, "terminal", user_name(), reason)

    def _screen(self, terminal: int) -> Screen:
        try:
            size = os.get_terminal_size(terminal)
        except OSError:
            return Screen(colour=self._colour)
        # A terminal of unknown size reports zero.
        return Screen(size.columns or 80, size.lines or 24, self._colour)


class _QuestionDialogue:
    """One question and the dialogue until it is answered."""

    def __init__(self, terminal: int, over: threading.Event, screen: Screen) -> None:
        self._terminal = terminal
        self._over = over
        self._screen = screen

    def ask(
        self, request: ApprovalRequest, *, single_call: bool, no_always: str
    ) -> tuple[Answer, str | None]:
        """Return the answer, and the reason of a refusal."""
        shown = render_question(request, self._screen)
        self._print(shown.text)
        end = "Ctrl-C: stop" if single_call else "abort or Ctrl-C: refuse it and stop"
        self._print(_choices(request, self._screen.width, end, cut=shown.cut))
        self._over.wait(_UNREAD_S)
        words = ["yes", "no", *(["always"] if request.always else [])]
        words += [] if single_call else ["abort"]
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
                kept = frame(safe_text(config_line(request.always), one_line=True), self._screen)
                self._print("\n".join(["to keep it, add to your own configuration:", *kept, ""]))
                return Answer.ALWAYS, None
            if word == "v":
                if not self._page(request):
                    return self._abort()
                self._print(f"\n{render_heading(request)}\n")
            elif word:
                said = no_always if word == "always" else _not_an_answer(word, words)
                self._print(_wrapped([said], self._screen.width))

    def answer(self, request: QuestionRequest) -> dict[str, str | list[str]] | None:
        """Return the answers to the questions of a model; None if the user aborts the run."""
        answers: dict[str, str | list[str]] = {}
        self._over.wait(_UNREAD_S)
        for number, one in enumerate(request.questions, 1):
            self._print(render_model_question(request, number, self._screen))
            line = self._read(_ANSWER_PROMPT)
            if line.endswith(_CTRL_C):
                self._print("\n")
                return None
            text = line.decode("utf-8", "replace").strip()
            if text:
                answers[one.question] = parse_choice(one, text)
        return answers

    def _abort(self) -> tuple[Answer, None]:
        self._print("\n")  # The terminal shows ^C without a line end.
        return Answer.ABORT, None

    def _page(self, request: ApprovalRequest) -> bool:
        """Show everything, one screen at a time; False if the user aborts."""
        room = max(self._screen.height - 1, 5)
        for number, row in enumerate(render_full_question(request, self._screen), 1):
            self._print(f"{row}\n")
            if number % room == 0:
                line = self._read(_MORE)
                if line.endswith(_CTRL_C) or line.strip().lower() == b"abort":
                    return False
                if not line or line.strip():
                    break
        return True

    def _read(self, prompt: str) -> bytes:
        """Return a line typed after the prompt; empty at end of input or if the question closed."""
        while not self._over.is_set():
            _forget_typed_ahead(self._terminal)
            self._print(prompt)
            line = self._line()
            if not line or line.endswith(_CTRL_C):
                return line
            if not select.select([self._terminal], [], [], _PASTE_S)[0]:
                return line
            self._print("\nseveral lines at once are not an answer\n")
        return b""

    def _line(self) -> bytes:
        while not self._over.is_set():
            if select.select([self._terminal], [], [], _LOOK_S)[0]:
                return os.read(self._terminal, 1024)
        return b""

    def _print(self, text: str) -> None:
        data = text.encode("utf-8", "replace")
        while data:
            data = data[os.write(self._terminal, data) :]


def parse_choice(question: ModelQuestion, text: str) -> str | list[str]:
    """Return the options that numbers name; other text is an answer in the user's own words."""
    numbers = re.split(r"[\s,]+", text)
    labels = [one.label for one in question.options]
    if not all(one.isdigit() and 1 <= int(one) <= len(labels) for one in numbers):
        return text
    chosen = [labels[int(one) - 1] for one in dict.fromkeys(numbers)]
    return chosen if question.multi_select else chosen[0] if len(chosen) == 1 else text


def user_name() -> str:
    """The user of this process, for the record."""
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        return f"uid {os.getuid()}"


def _choices(request: ApprovalRequest, width: int, end: str, *, cut: bool) -> str:
    more = " · v: show all of it" if cut else ""
    lines = [
        "yes: allow it once · no: refuse it · no TEXT: refuse it and say why",
        f"{end}{more}",
    ]
    if request.always is not None:
        within = _command_limits(request.effects)
        lines.append(f"always: allow this until the session ends, without asking{within}:")
    folded = _wrapped(lines, width)
    if request.always is None:
        return folded
    rule = frame(safe_text(request.always, one_line=True), Screen(width))
    return folded + "".join(f"{row}\n" for row in rule)


def _wrapped(lines: Sequence[str], width: int) -> str:
    return "".join(f"{row}\n" for line in lines for row in textwrap.wrap(line, max(width, 20)))


def _not_an_answer(word: str, offered: Sequence[str]) -> str:
    if whole := [one for one in offered if word == one[0]]:
        return f"type the whole word: {' or '.join(whole)}"
    return "that is not an answer"


def _command_limits(effects: Mapping[str, Any] | None) -> str:
    """The limits within which a command runs without a question."""
    if effects is None:
        return ""
    return ", inside the sandbox" + (" and without network" if effects.get("network") else "")


@contextmanager
def _open_terminal(device: str) -> Iterator[int]:
    terminal = os.open(device, os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        before = _set_line_mode(terminal)
        try:
            yield terminal
        finally:
            if before is not None:
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)


def _set_line_mode(terminal: int) -> list[Any] | None:
    """Set line mode with echo and Ctrl-C; return the old settings, None if not a terminal."""
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
