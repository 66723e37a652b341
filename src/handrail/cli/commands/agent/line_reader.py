"""Reads lines from the terminal in a thread, except while a question is open.

A question reads the terminal itself. The reader holds a lock while it looks for a line, and the
question takes that lock, so that an answer never becomes a message to the model, nor the reverse.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import select
import sys
import termios
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from handrail.cli.commands.agent.live_terminal import LiveTerminal
    from handrail.cli.commands.agent.view import RunView
    from handrail.core.approval import ApprovalRequest, Reply
    from handrail.core.ports.machine import Approver
    from handrail.core.ports.questions import QuestionRequest

_LOOK_S: Final = 0.1
_TRY_S: Final = 0.003
_MAX_LINE: Final = 64 * 1024


class TypedLines:
    """Typed lines that were not read yet, in order. `_lines` ends with None."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()

    async def next_line(self) -> str | None:
        """Return the next line without its end, None at the end of input."""
        return await self._lines.get()

    def take_typed(self) -> list[str]:
        """Remove and return the typed lines that were not read yet."""
        lines: list[str] = []
        while not self._lines.empty():
            line = self._lines.get_nowait()
            if line is None:
                self._lines.put_nowait(None)
                break
            lines.append(line)
        return lines

    async def discard_typed(self) -> None:
        """Discard everything that was typed, including input that is still in the terminal."""
        with contextlib.suppress(termios.error):
            termios.tcflush(sys.stdin.fileno(), termios.TCIFLUSH)
        self.take_typed()


class LineReader(TypedLines):
    """Lines typed at standard input, in order."""

    # The terminal echoes what is typed.
    echoes = True

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="handrail-lines", daemon=True)
        self._thread.start()

    def show(self, prompt: str) -> None:
        """Print the prompt."""
        print(prompt, end="", flush=True)

    def close(self) -> None:
        """Stop reading."""
        self._ended.set()
        self._thread.join(timeout=5)

    async def pause(self) -> None:
        """Stop reading until `go_on`."""
        # The reader releases the lock between two looks. No thread waits for it: a question that is
        # cancelled meanwhile must not leave it locked.
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110 - held by a thread
            await asyncio.sleep(_TRY_S)

    def go_on(self) -> None:
        """Read again."""
        self._lock.release()

    async def discard_typed(self) -> None:
        """Discard everything that was typed, including lines that the thread is passing on."""
        await self.pause()
        try:
            await asyncio.sleep(0)
            await super().discard_typed()
        finally:
            self.go_on()

    def _read(self) -> None:
        descriptor = sys.stdin.fileno()
        while not self._ended.is_set():
            with self._lock:
                readable, _, _ = select.select([descriptor], [], [], _LOOK_S)
                # A terminal in line mode is readable when a whole line is there.
                if readable and not self._put(_read_terminal(descriptor)):
                    return
            # Lets a waiting question have the lock.
            self._ended.wait(0.01)

    def _put(self, data: bytes) -> bool:
        lines = data.decode("utf-8", "replace").splitlines()
        try:
            for line in lines:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            if not data:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
        except RuntimeError:
            # The event loop is closed: the program is ending.
            return False
        return bool(data)


def _read_terminal(descriptor: int) -> bytes:
    """Return the typed bytes; empty, which means the end of input, if the terminal is gone."""
    try:
        return os.read(descriptor, _MAX_LINE)
    except OSError:
        return b""


class PausingApprover:
    """Asks through another approver while the reader is paused and the view prints nothing."""

    def __init__(
        self, approver: Approver, reader: LineReader | LiveTerminal | None, view: RunView
    ) -> None:
        self._approver = approver
        self._reader = reader
        self._view = view

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Ask the user; the reader continues afterwards."""
        from handrail.policy.approval.approvers import parse_reply

        async with self._paused():
            return parse_reply(await self._approver.ask(request), self._approver)

    async def ask_questions(self, request: QuestionRequest) -> Any:
        """Forward a question of the model; the reader continues afterwards."""
        from handrail.engine.approval import AnswersQuestions

        if not isinstance(self._approver, AnswersQuestions):
            return None
        async with self._paused():
            return await self._approver.ask_questions(request)

    @asynccontextmanager
    async def _paused(self) -> AsyncIterator[None]:
        if self._reader is not None:
            await self._reader.pause()
            # The bell: the user may be looking elsewhere.
            print("\a", end="", flush=True)
        with self._view.question():
            try:
                yield
            finally:
                if self._reader is not None:
                    self._reader.go_on()
