"""The runtime's end of the socket to one runner, read by the event loop."""

from __future__ import annotations

import asyncio
import errno
import os
import shutil
import signal
import socket
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio

from handrail.core.ports.processes import OnOutput
from handrail.core.problems import ProblemRaised
from handrail.host.files.root_identity import RootHandle
from handrail.host.messages import (
    DIRECTORY_NOT_ENTERED,
    LOCK_NOT_CREATED,
    PROGRAM_NOT_STARTED,
    ROOT_REPLACED,
    RUNNER_LOST,
    RUNTIME_CLOSED,
)
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.killed_runtimes import runtime_lock_path
from handrail.host.supervisor.start import Supervisor
from handrail.host.supervisor.wire import (
    FrameDecoder,
    FrameKind,
    WireFrame,
    encode_frame,
    encode_recipe,
)

_MAX_IDLE: Final = 4
_LEAVING_S: Final = 10.0

_CHUNK: Final = 1 << 16
# Time to start and fork an interpreter on a very busy machine.
_HELLO_S: Final = 30.0


class RunnerConnection:
    """A connection to a runner, which serves one request at a time. `answer` is the last answer."""

    def __init__(self, sock: socket.socket, forget: Callable[[RunnerConnection], None]) -> None:
        self._sock = sock
        self._forget = forget
        self._loop = asyncio.get_running_loop()
        self._unpacker = FrameDecoder()
        self._on_output: OnOutput | None = None
        self._output_due = False
        self._news = asyncio.Event()
        self._recipe: Recipe | None = None
        self._pid: int | None = None
        self.started: WireFrame | None = None
        self.answer: WireFrame | None = None
        self.closed = False
        self._loop.add_reader(sock, self._read)

    async def ask(
        self,
        kind: FrameKind,
        recipe: Recipe,
        header: Mapping[str, Any],
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
        handles: Sequence[int] = (),
    ) -> bool:
        """Send a request with copies of `handles`; return False if the runner has ended, so that
        the request cannot have arrived.

        The outcome is returned by `wait_started` and `wait_answer`.
        """
        # The runner knows the last recipe only if its request was answered.
        known = self.answer is not None and self.answer.kind is FrameKind.ENDED
        wanted = encode_recipe(recipe, self._recipe if known else None)
        frame = encode_frame(kind, {**header, "recipe": wanted}, recipe.filter + stdin)
        self.started = self.answer = None
        self._output_due = False
        self._recipe = recipe
        self._on_output = on_output
        try:
            await self._send(frame, handles)
        except OSError:
            self.close()
            return False
        except BaseException:
            # Part of the request may have been sent; the runner must not wait for the rest.
            self.close()
            raise
        return True

    async def _send(self, frame: bytes, handles: Sequence[int]) -> None:
        if handles:
            # Handles get a frame of their own, because descriptors travel with the first byte that
            # the kernel accepts.
            socket.send_fds(self._sock, [encode_frame(FrameKind.HANDLES, {})], list(handles))
        try:
            sent = self._sock.send(frame)
        except (BlockingIOError, InterruptedError):
            sent = 0
        # Nearly always the whole frame is sent at once, without the event loop.
        if sent < len(frame):
            await self._loop.sock_sendall(self._sock, frame[sent:])

    async def wait_hello(self) -> bool:
        """Wait until the runner is ready; return False if there is none."""
        try:
            with anyio.move_on_after(_HELLO_S):
                while self._pid is None and not self.closed:
                    await self._wait()
        finally:
            if self._pid is None:
                self.close()
        return not self.closed

    async def wait_answer(self) -> WireFrame | None:
        """Wait for the final answer; return None if the runner has ended."""
        while self.answer is None and not self.closed:
            await self._wait()
        if self._output_due:
            # Output that arrived with the answer has not been passed to its listener yet.
            await asyncio.sleep(0)
        return self.answer

    async def wait_started(self) -> WireFrame | None:
        """Wait for the first answer: that the program runs, or why it does not."""
        while self.started is None and self.answer is None and not self.closed:
            await self._wait()
        return self.started or self.answer

    async def wait_closed(self) -> None:
        """Wait until the runner has ended."""
        while not self.closed:
            await self._wait()

    def end(self) -> None:
        """Ask the runner to end the program."""
        # The frame is so small that it is written at once, unless the runner has ended.
        with suppress(OSError):
            self._sock.send(encode_frame(FrameKind.END, {}))

    def leave(self) -> None:
        """Close the sending side: the runner ends everything that is not kept, and exits."""
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

    def _on_frame(self, frame: WireFrame) -> None:
        if frame.kind is FrameKind.OUTPUT:
            if self._on_output is not None:
                # Scheduled instead of called: if the listener fails, the following frames must
                # still be read.
                self._output_due = True
                self._loop.call_soon(self._on_output, frame.header["stream"], _shown(frame))
            return
        if frame.kind is FrameKind.HELLO:
            self._pid = frame.header["pid"]
        elif frame.kind is FrameKind.STARTED:
            self.started = frame
        else:
            self.answer = frame
        self._news.set()


def start_problem(frame: WireFrame, program: str, cwd: str) -> ProblemRaised:
    """The problem of a program that could not be started."""
    name, text = frame.header["name"], frame.header["text"]
    if frame.header["errno"] == errno.ESTALE and name is not None:
        return ROOT_REPLACED.error(path=name)
    if name == cwd != program:
        return DIRECTORY_NOT_ENTERED.error(cwd=cwd, reason=text)
    return PROGRAM_NOT_STARTED.error(program=program, reason=text)


def _shown(frame: WireFrame) -> bytes:
    skipped = frame.header["skipped"]
    note = f"\n[{skipped} bytes left out of the live view]\n" if skipped else ""
    return frame.body + note.encode("ascii")


class RunnerPool:
    """A supervisor, started when first needed, and connections to the runners that it forked."""

    def __init__(
        self,
        *,
        memory_mb: int,
        needs_scratch: bool,
        directory: Path | None,
        roots: Sequence[RootHandle] = (),
    ) -> None:
        self._roots = tuple(roots)
        self._memory_mb = memory_mb
        self._needs_scratch = needs_scratch
        self._directory = directory
        self._supervisor: Supervisor | None = None
        self._connections: set[RunnerConnection] = set()
        self._idle: list[RunnerConnection] = []
        self._scratch: str | None = None
        self._closed = False

    def scratch(self) -> str:
        """Return a private directory that is removed when the runtime ends, in whatever way."""
        if self._scratch is None:
            self._scratch = tempfile.mkdtemp(prefix="handrail-")
        return self._scratch

    def start(self) -> Supervisor:
        """Return the supervisor; start it if there is none. Raises `unavailable`."""
        if self._closed:
            raise RUNTIME_CLOSED.error()
        if self._supervisor is None:
            scratch = self.scratch() if self._needs_scratch else ""
            self._supervisor = Supervisor(
                memory_mb=self._memory_mb,
                scratch=scratch,
                sign=self._lock_path(),
                roots=self._roots,
            )
        return self._supervisor

    async def ask(
        self,
        kind: FrameKind,
        recipe: Recipe,
        header: Mapping[str, Any],
        stdin: bytes = b"",
        on_output: OnOutput | None = None,
        handles: Sequence[int] = (),
    ) -> RunnerConnection:
        """Send a request to an idle runner or a new one. Raises `unavailable`."""
        while True:
            connection = self._idle.pop() if self._idle else await self._new()
            if await connection.ask(kind, recipe, header, stdin, on_output, handles):
                return connection

    def give_back(self, connection: RunnerConnection) -> None:
        """Keep a runner that has answered for the next request, or close the connection."""
        answer = connection.answer
        stays = answer is not None and not answer.header["leaves"] and not connection.closed
        if stays and not self._closed and len(self._idle) < _MAX_IDLE:
            self._idle.append(connection)
        else:
            connection.close()

    def lost(self) -> ProblemRaised:
        """Return the problem of a runner that ended without an answer."""
        words = "" if self._supervisor is None else self._supervisor.last_words()
        return RUNNER_LOST.error(details=f"; its last output: {words}" if words else "")

    async def aclose(self, *, kept: bool) -> None:
        """End all programs except kept jobs, then the helper processes."""
        self._closed = True
        with anyio.CancelScope(shield=True):
            connections = list(self._connections)
            for connection in connections:
                connection.leave()
            with anyio.move_on_after(_LEAVING_S):
                for connection in connections:
                    await connection.wait_closed()
            for connection in connections:
                connection.abandon()
            if self._supervisor is not None:
                supervisor, self._supervisor = self._supervisor, None
                await supervisor.aclose(wait=not kept)
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)

    async def _new(self) -> RunnerConnection:
        # Try again with a new supervisor if the first one was killed meanwhile.
        for _ in range(2):
            supervisor = self.start()
            connection = RunnerConnection(supervisor.runner(), self._forget)
            self._connections.add(connection)
            if await connection.wait_hello():
                return connection
            problem = self.lost()
            if self._supervisor is supervisor:
                self._supervisor = None
                supervisor.discard()
        raise problem

    def _lock_path(self) -> str:
        if self._directory is None:
            return ""
        try:
            return str(runtime_lock_path(self._directory))
        except OSError as error:
            raise LOCK_NOT_CREATED.error(path=error.filename, reason=error.strerror) from error

    def _forget(self, connection: RunnerConnection) -> None:
        self._connections.discard(connection)
        if connection in self._idle:
            self._idle.remove(connection)
