"""The runtime's end of the socket to one runner, read by the event loop."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from handrail.core.ports.processes import OnOutput
from handrail.core.problems import ProblemRaised
from handrail.host.messages import ROOT_REPLACED
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.messages import DIRECTORY_NOT_ENTERED, PROGRAM_NOT_STARTED
from handrail.host.supervisor.wire import (
    Frame,
    FrameDecoder,
    FrameKind,
    encode_frame,
    encode_recipe,
)

_CHUNK: Final = 1 << 16
# Time to start and fork an interpreter on a very busy machine.
_HELLO_S: Final = 30.0


class RunnerConnection:
    """A connection to one runner, which serves one request at a time. `answer` is its final
    answer.
    """

    def __init__(self, sock: socket.socket, forget: Callable[[RunnerConnection], None]) -> None:
        self._sock = sock
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._unpacker = FrameDecoder()
        self._on_output: OnOutput | None = None
        self._news = asyncio.Event()
        self._recipe: Recipe | None = None
        self._pid: int | None = None
        self.started: Frame | None = None
        self.answer: Frame | None = None
        self.closed = False
        self._loop.add_reader(sock, self._read)

    async def ask(
        self,
        kind: FrameKind,
        recipe: Recipe,
        header: Mapping[str, Any],
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
    ) -> bool:
        """Send a request; False if it cannot have arrived because the runner is gone.

        The outcome is returned by `wait_started` and `wait_answer`.
        """
        # The runner knows the last recipe only if its request was answered.
        known = self.answer is not None and self.answer.kind is FrameKind.ENDED
        wanted = encode_recipe(recipe, self._recipe if known else None)
        frame = encode_frame(kind, {**header, "recipe": wanted}, recipe.filter + stdin)
        self.started = self.answer = None
        self._recipe = recipe
        self._on_output = on_output
        try:
            await self._send(frame)
        except OSError:
            self.close()
            return False
        except BaseException:
            # A partial request may have been sent; the runner must not wait for the rest.
            self.close()
            raise
        return True

    async def _send(self, frame: bytes) -> None:
        try:
            sent = self._sock.send(frame)
        except (BlockingIOError, InterruptedError):
            sent = 0
        # Nearly always the whole frame is sent at once, without the event loop.
        if sent < len(frame):
            await self._loop.sock_sendall(self._sock, frame[sent:])

    async def wait_hello(self) -> bool:
        """Wait until the runner is ready; False if there is none."""
        try:
            with anyio.move_on_after(_HELLO_S):
                while self._pid is None and not self.closed:
                    await self._wait()
        finally:
            if self._pid is None:
                self.close()
        return not self.closed

    async def wait_answer(self) -> Frame | None:
        """Wait for the final answer; None if the runner is gone."""
        while self.answer is None and not self.closed:
            await self._wait()
        return self.answer

    async def wait_started(self) -> Frame | None:
        """Wait for the first answer: that the program runs, or why it does not."""
        while self.started is None and self.answer is None and not self.closed:
            await self._wait()
        return self.started or self.answer

    async def wait_closed(self) -> None:
        """Wait until the runner is gone."""
        while not self.closed:
            await self._wait()

    def end(self) -> None:
        """Ask the runner to end the program."""
        # So small that it is written at once, unless the runner is gone.
        with suppress(OSError):
            self._sock.send(encode_frame(FrameKind.END, {}))

    def leave(self) -> None:
        """Close the sending side: the runner ends what is not kept, and exits."""
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_WR)

    def close(self) -> None:
        """Close without waiting."""
        if self.closed:
            return
        self.closed = True
        if not self._loop.is_closed():
            self._loop.remove_reader(self._sock)
        self._sock.close()
        self._news.set()
        self._forget(self)

    def abandon(self) -> None:
        """Close the connection to a runner that does not answer; the supervisor ends its program."""
        if self._pid is not None and not self.closed:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(self._pid, signal.SIGKILL)
        self.close()

    async def _wait(self) -> None:
        self._news.clear()
        await self._news.wait()

    def _read(self) -> None:
        try:
            data = self._sock.recv(_CHUNK)
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            data = b""
        if not data:
            self.close()
            return
        for frame in self._unpacker.feed(data):
            self._on_frame(frame)

    def _on_frame(self, frame: Frame) -> None:
        if frame.kind is FrameKind.OUTPUT:
            if self._on_output is not None:
                # Scheduled, not called: if the listener fails, the following frames must still be
                # read.
                self._loop.call_soon(self._on_output, frame.header["stream"], _shown(frame))
            return
        if frame.kind is FrameKind.HELLO:
            self._pid = frame.header["pid"]
        elif frame.kind is FrameKind.STARTED:
            self.started = frame
        else:
            self.answer = frame
        self._news.set()


def start_problem(frame: Frame, program: str, cwd: str) -> ProblemRaised:
    """The problem of a program that could not be started."""
    name, text = frame.header["name"], frame.header["text"]
    if frame.header["errno"] == errno.ESTALE and name is not None:
        return ROOT_REPLACED.error(path=name)
    if name == cwd != program:
        return DIRECTORY_NOT_ENTERED.error(cwd=cwd, reason=text)
    return PROGRAM_NOT_STARTED.error(program=program, reason=text)


def _shown(frame: Frame) -> bytes:
    skipped = frame.header["skipped"]
    note = f"\n[{skipped} bytes left out of the live view]\n" if skipped else ""
    return frame.body + note.encode("ascii")
