"""Reads lines from the terminal in a thread, except while a question is open.

A question reads the terminal by itself. The reader holds a lock while it looks for a line, and the
question takes that lock, so that an answer never becomes a message to the model, nor the reverse.
"""

from __future__ import annotations

import asyncio
import os
import select
import sys
import threading
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from handrail.core.approval import ApprovalRequest, Reply
    from handrail.core.ports.machine import Approver

_LOOK_S: Final = 0.1
_TRY_S: Final = 0.003
_MAX_LINE: Final = 64 * 1024


class LineReader:
    """Lines typed at standard input, in order."""

    def __init__(self) -> None:
        self._lines: asyncio.Queue[str | None] = asyncio.Queue()
        self._loop = asyncio.get_running_loop()
        self._lock = threading.Lock()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._read, name="handrail-lines", daemon=True)
        self._thread.start()

    async def next_line(self) -> str | None:
        """The next line without its end, None at the end of input."""
        return await self._lines.get()

    def show(self, prompt: str) -> None:
        """Print the prompt."""
        print(prompt, end="", flush=True)

    def close(self) -> None:
        """Stop reading."""
        self._ended.set()
        self._thread.join(timeout=5)

    async def pause(self) -> None:
        """Stop reading until `go_on`."""
        # The reader lets go of the lock between two looks. No thread waits for it: a question that
        # is cancelled meanwhile must not leave it locked.
        while not self._lock.acquire(blocking=False):  # noqa: ASYNC110 - held by a thread
            await asyncio.sleep(_TRY_S)

    def go_on(self) -> None:
        """Read again."""
        self._lock.release()

    def _read(self) -> None:
        descriptor = sys.stdin.fileno()
        while not self._ended.is_set():
            with self._lock:
                readable, _, _ = select.select([descriptor], [], [], _LOOK_S)
                # A terminal in line mode is readable once a whole line is there.
                data = os.read(descriptor, _MAX_LINE) if readable else None
            if data is not None and not self._put(data):
                return
            # Lets a question that waits have the lock.
            self._ended.wait(0.01)

    def _put(self, data: bytes) -> bool:
        lines = data.decode("utf-8", "replace").splitlines()
        try:
            for line in lines:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, line)
            if not data:
                self._loop.call_soon_threadsafe(self._lines.put_nowait, None)
        except RuntimeError:
            # The loop is closed: the program is ending.
            return False
        return bool(data)


class PausingApprover:
    """Asks through another approver while the reader is paused."""

    def __init__(self, approver: Approver, reader: LineReader) -> None:
        self._approver = approver
        self._reader = reader

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Ask the user; the reader goes on afterwards."""
        from handrail.policy.approval.approvers import parse_reply

        await self._reader.pause()
        try:
            # The bell: the user may have looked away.
            print("\a", end="", flush=True)
            return parse_reply(await self._approver.ask(request), self._approver)
        finally:
            self._reader.go_on()
