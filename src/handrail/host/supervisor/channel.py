"""Programs that the runtime exchanges messages with: pipes to a program that a runner starts and
ends.

The runtime holds its ends of the pipes itself, so nothing is copied in between, and a program whose
output is not read waits. The runner reads stderr, so a program never waits for that.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

import anyio

from handrail.core.ports.processes import CapturedStream, Connection, Launch, ProcessResult, Stream
from handrail.host.messages import CHANNEL_CLOSED, FRAME_TOO_LARGE
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner_connection import RunnerConnection, RunnerPool, start_problem
from handrail.host.supervisor.wire import FrameKind, WireFrame

# Longer than a runner needs to end any process tree; a runner that takes longer is abandoned.
ENDING_S: Final = 15.0
_CHUNK: Final = 1 << 18
_STDERR_BYTES: Final = 64 << 10


async def open_channel(
    runners: RunnerPool,
    launch: Launch,
    recipe: Recipe,
    forget: Callable[[SupervisedChannel], None],
) -> SupervisedChannel:
    """Start a program for messages; `forget` is called once it is closed. Raises `unavailable`."""
    stdin, sending = os.pipe2(os.O_CLOEXEC)
    receiving, stdout = os.pipe2(os.O_CLOEXEC)
    channel = SupervisedChannel(runners, PipeEnd(sending), PipeEnd(receiving), forget)
    try:
        await channel.start(launch, recipe, (stdin, stdout))
    except BaseException:
        channel.abort()
        raise
    finally:
        os.close(stdin)
        os.close(stdout)
    return channel


class PipeEnd:
    """The runtime's end of a pipe: it never blocks the event loop, and closing it wakes the task
    that waits for it.
    """

    def __init__(self, handle: int) -> None:
        os.set_blocking(handle, False)
        with suppress(OSError):
            # The user's quota of pipe memory may be used up; the default size works too.
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, _CHUNK)
        self._handle = handle
        self._loop = asyncio.get_running_loop()
        self._ready = asyncio.Event()
        # Whether the last output was available without waiting.
        self._behind = False

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._handle < 0

    async def read(self) -> bytes:
        """Wait for output; b"" at its end."""
        if self._behind:
            # A program that never stops writing would leave no time for other tasks.
            await asyncio.sleep(0)
        self._behind = True
        while not self.closed:
            try:
                return os.read(self._handle, _CHUNK)
            except BlockingIOError:
                self._behind = False
                await self._wait(self._loop.add_reader, self._loop.remove_reader)
        return b""

    async def write(self, data: memoryview) -> int:
        """Wait until some of the data can be written; return its size, 0 if the program reads no
        more.
        """
        while not self.closed:
            try:
                return os.write(self._handle, data)
            except BlockingIOError:
                await self._wait(self._loop.add_writer, self._loop.remove_writer)
            except BrokenPipeError:
                return 0
        return 0

    def close(self) -> None:
        """Close the pipe and wake the task that waits for it."""
        if self.closed:
            return
        handle, self._handle = self._handle, -1
        if not self._loop.is_closed():
            self._loop.remove_reader(handle)
            self._loop.remove_writer(handle)
        os.close(handle)
        self._ready.set()

    async def _wait(
        self, add: Callable[[int, Callable[[], None]], None], remove: Callable[[int], object]
    ) -> None:
        handle = self._handle
        self._ready.clear()
        add(handle, self._ready.set)
        try:
            await self._ready.wait()
        finally:
            # The number of a closed descriptor may already belong to another file.
            if handle == self._handle:
                remove(handle)


class SupervisedChannel:
    """Implements `core.ports.processes.ProcessChannel`."""

    def __init__(
        self,
        runners: RunnerPool,
        stdin: PipeEnd,
        stdout: PipeEnd,
        forget: Callable[[SupervisedChannel], None],
    ) -> None:
        self._runners = runners
        self._stdin = stdin
        self._stdout = stdout
        self._forget = forget
        self._connection: RunnerConnection | None = None
        self._turn = anyio.Lock(fast_acquire=True)
        self._buffer = bytearray()
        self._stderr = bytearray()
        self._pid = -1
        self._released = False

    async def start(self, launch: Launch, recipe: Recipe, handles: tuple[int, int]) -> None:
        """Start the program with these ends of the pipes."""
        header = {"timeout_s": launch.timeout_s, "memory_mb": launch.memory_mb}
        connection = await self._runners.ask(
            FrameKind.OPEN, recipe, header, on_output=self._on_stderr, handles=handles
        )
        self._connection = connection
        first = await connection.wait_started()
        if first is None:
            raise self._runners.lost()
        if first.kind is FrameKind.FAILED:
            self._release()
            raise start_problem(first, launch.argv[0], launch.cwd)
        self._pid = first.header["pid"]

    @property
    def pid(self) -> int:
        """The pid of the program's first process."""
        return self._pid

    @property
    def stderr(self) -> bytes:
        """The end of what the program wrote to stderr."""
        return bytes(self._stderr)

    async def send(self, data: bytes) -> None:
        """Write all of the data. Raises `unavailable`."""
        async with self._turn:
            left = memoryview(data)
            try:
                while left:
                    written = await self._stdin.write(left)
                    if not written:
                        raise CHANNEL_CLOSED.error(details=self._stderr_text())
                    left = left[written:]
            finally:
                if 0 < len(left) < len(data):
                    # A partly written message: the program would read the next message as the rest
                    # of this one.
                    self._stdin.close()

    def send_eof(self) -> None:
        """Close the program's stdin."""
        self._stdin.close()

    async def receive_until(self, separator: bytes, limit: int) -> bytes:
        """Read up to and including the separator. Raises `too_large`."""
        searched = 0
        while True:
            at = self._buffer.find(separator, max(searched - len(separator) + 1, 0), limit)
            if at >= 0:
                return self._take_buffered(at + len(separator))
            searched = len(self._buffer)
            if searched >= limit:
                raise FRAME_TOO_LARGE.error(limit=limit)
            if not await self._fill_buffer():
                return b""

    async def receive_exactly(self, size: int) -> bytes:
        """Read this many bytes."""
        while len(self._buffer) < size:
            if not await self._fill_buffer():
                return b""
        return self._take_buffered(size)

    async def wait_ended(self) -> ProcessResult:
        """Wait for the end of the program. Raises `unavailable`."""
        if self._connection is None:
            raise self._runners.lost()
        answer = await self._connection.wait_answer()
        if answer is None:
            raise self._runners.lost()
        return decode_result(answer)

    async def close(self) -> None:
        """End the program and wait until it has ended."""
        self.close_handles()
        connection = self._connection
        if connection is None or self._released:
            return
        with anyio.CancelScope(shield=True):
            if connection.answer is None and not connection.closed:
                connection.end()
                with anyio.move_on_after(ENDING_S):
                    await connection.wait_answer()
            if connection.answer is None:
                connection.abandon()
        self._release()

    def close_handles(self) -> None:
        """Close both pipes; tasks that send or receive see the end of the stream."""
        self._stdin.close()
        self._stdout.close()

    def abort(self) -> None:
        """Abandon a program whose start failed or was cancelled: its runner ends it."""
        self.close_handles()
        if self._connection is not None and not self._released:
            self._connection.end()
            self._connection.close()
        self._release()

    def _release(self) -> None:
        if self._released:
            return
        self._released = True
        if self._connection is not None:
            self._runners.give_back(self._connection)
        self._forget(self)

    async def _fill_buffer(self) -> bool:
        data = await self._stdout.read()
        self._buffer += data
        return bool(data)

    def _take_buffered(self, size: int) -> bytes:
        data = bytes(self._buffer[:size])
        del self._buffer[:size]
        return data

    def _on_stderr(self, stream: Stream, data: bytes) -> None:
        del stream
        self._stderr += data
        del self._stderr[:-_STDERR_BYTES]

    def _stderr_text(self) -> str:
        lines = self.stderr.decode("utf-8", "replace").strip().splitlines()
        return f"; its last error output: {lines[-1][:300]}" if lines else ""


def decode_result(frame: WireFrame) -> ProcessResult:
    """Return the end of a program as its runner reported it."""
    header = frame.header
    return ProcessResult(
        exit_code=header["exit_code"],
        stdout=_captured(header["stdout"], frame.body[: header["split"]]),
        stderr=_captured(header["stderr"], frame.body[header["split"] :]),
        duration_s=header["duration_s"],
        timed_out=header["timed_out"],
        cancelled=header["cancelled"],
        ended_children=header["ended_children"],
        survivors=tuple(header["survivors"]),
        directory=header["directory"],
        connections=tuple(Connection(*one) for one in header["connections"]),
    )


def _captured(header: Mapping[str, Any], body: bytes) -> CapturedStream:
    return CapturedStream(
        head=body[: header["head"]],
        tail=body[header["head"] :],
        total=header["total"],
        saved=header["saved"],
        dropped=header["dropped"],
    )
