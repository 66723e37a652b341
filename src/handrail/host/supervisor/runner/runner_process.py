"""A runner: a process that supervises one program at a time for one runtime.

It is the subreaper of everything that the program starts, so no orphan escapes it. When the runtime
ends, the runner ends its program, unless that is a kept job.
"""

from __future__ import annotations

import errno
import os
import select
import signal
import socket
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, Final

from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner import launch, process_tree
from handrail.host.supervisor.runner.launch import RootHandles
from handrail.host.supervisor.runner.process_tree import EventLoop, SignalPipe
from handrail.host.supervisor.runner.program import CHUNK, OutputSinks, ProgramExit, RunningProgram
from handrail.host.supervisor.wire import FrameDecoder, FrameKind, WireFrame, encode_frame

_CHUNK: Final = 1 << 14
# The number of handles for a program to exchange messages with: its standard input and output.
_MAX_HANDLES: Final = 2
# A runtime that does not read for this long has hung or ended.
_PATIENCE_MS: Final = 60_000


class RuntimeChannel:
    """The socket to the runtime. `closed` is true once the runtime has closed its end."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        self._connection = connection
        self._unpacker = FrameDecoder()
        self._unsent = bytearray()
        self._handles: list[int] = []
        self.closed = False

    def fileno(self) -> int:
        """The descriptor to poll."""
        return self._connection.fileno()

    def receive(self) -> list[WireFrame]:
        """Return the received frames; empty also if the runtime has closed its end."""
        try:
            data, handles, _, _ = socket.recv_fds(self._connection, _CHUNK, _MAX_HANDLES)
        except (BlockingIOError, InterruptedError):
            return []
        except OSError:
            data, handles = b"", []
        for handle in handles:
            # Received descriptors are inheritable; no other program may inherit these.
            os.set_inheritable(handle, False)
            self._handles.append(handle)
        if not data:
            self.closed = True
            return []
        frames = self._unpacker.feed(data)
        return [frame for frame in frames if frame.kind is not FrameKind.HANDLES]

    def take_handles(self) -> list[int]:
        """Return the descriptors that came with the last request; the caller closes them."""
        handles, self._handles = self._handles, []
        return handles

    def offer(self, stream: str, data: bytes, skipped: int) -> bool:
        """Send live output if that is possible without waiting; return whether it was sent."""
        self._push()
        if self._unsent or self.closed:
            return False
        self._unsent += encode_frame(FrameKind.OUTPUT, {"stream": stream, "skipped": skipped}, data)
        self._push()
        return True

    def send(self, kind: FrameKind, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send an answer and wait until it is written, unless the runtime has ended."""
        self._unsent += encode_frame(kind, header, body)
        self._push()
        if not self._unsent:
            return
        poll = select.poll()
        poll.register(self._connection, select.POLLOUT)
        while self._unsent and not self.closed:
            if not poll.poll(_PATIENCE_MS):
                self.close()
                return
            self._push()

    def close(self) -> None:
        """Shut the socket down. The descriptor stays open, so that its number is not reused."""
        self.closed = True
        with suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)

    def _push(self) -> None:
        try:
            while self._unsent and not self.closed:
                sent = self._connection.send(self._unsent)
                del self._unsent[:sent]
        except (BlockingIOError, InterruptedError):
            return
        except OSError:
            self.closed = True


# Sent to a job's runner to end the job, by any process.
END_JOB: Final = signal.SIGUSR1
# Sent to a job's runner to end the job's input.
CLOSE_INPUT: Final = signal.SIGUSR2


class Runner:
    """Waits for requests, and for events while a program runs."""

    def __init__(self, connection: socket.socket, runtime: int, root_handles: RootHandles) -> None:
        """`runtime` is a pidfd of the runtime; programs start from the `root_handles`."""
        process_tree.become_subreaper("handrail-runner")
        launch.reserve_handles()
        self.channel = RuntimeChannel(connection)
        # A job can be ended by a signal, and a kept job survives the runtime.
        self.is_job = False
        self.keeps = False
        # The runner serves no further request, which its next answer reports.
        self.leaves = False
        # The recipe of the last request; the next request contains only the differences.
        self.recipe: Recipe | None = None
        self._runtime = runtime
        self._root_handles = root_handles
        self._signals = SignalPipe(signal.SIGCHLD, END_JOB, CLOSE_INPUT)
        self.loop = EventLoop()
        # Called when the job's input is to end.
        self.on_input_closed: Callable[[], None] = lambda: None
        self._program: RunningProgram | None = None
        self._requests: list[WireFrame] = []
        # Shared by all programs: allocating it costs more than starting a small program.
        self._buffer = bytearray(CHUNK)
        self.loop.add(self.channel.fileno(), self._on_channel)
        self.loop.add(runtime, self._on_runtime_gone)
        self.loop.add(self._signals.handle, self._on_signals)
        self.channel.send(FrameKind.HELLO, {"pid": os.getpid()})

    def next_request(self) -> WireFrame | None:
        """Wait for the next request; return None if the runtime has ended."""
        while not self._requests:
            if self.channel.closed:
                return None
            self.loop.turn(None)
        return self._requests.pop(0)

    def answer(self, kind: FrameKind, header: Mapping[str, Any], body: bytes = b"") -> None:
        """Send the last frame about a request, which says whether another request can follow."""
        self.channel.send(kind, {**header, "leaves": self.leaves}, body)

    def sinks(self) -> OutputSinks:
        """New pipes for the output of a program."""
        return OutputSinks(self.loop, self._buffer)

    def start(self, recipe: Recipe, outputs: launch.OutputPipes) -> RunningProgram | None:
        """Start a program; on failure send the reason to the runtime. Closes the outputs."""
        begun = time.monotonic()
        self.recipe = recipe
        try:
            started = launch.start_program(recipe, outputs, self._root_handles)
        except (OSError, ValueError) as error:
            self.answer(FrameKind.FAILED, _reason(error))
            return None
        finally:
            for handle in outputs:
                if handle is not None:
                    os.close(handle)
        self._program = RunningProgram(started, self.loop, begun=begun, own_pids=recipe.own_pids)
        if self.channel.closed and not self.keeps:
            self._program.cancel()
        return self._program

    def watch(
        self, timeout_s: float | None, each_turn: Callable[[], float | None] = lambda: None
    ) -> ProgramExit:
        """Supervise the started program until all its processes have ended."""
        if self._program is None:
            raise RuntimeError("no program was started")
        try:
            return self._program.watch(timeout_s, each_turn)
        finally:
            self._program = None

    def _on_channel(self) -> None:
        for frame in self.channel.receive():
            if frame.kind is not FrameKind.END:
                self._requests.append(frame)
            elif self._program is not None:
                self._program.cancel()
            elif self._requests:
                # The request was cancelled before its program was started.
                self._requests.clear()
                for handle in self.channel.take_handles():
                    os.close(handle)
                self.answer(FrameKind.FAILED, _reason(OSError(errno.ECANCELED, "taken back")))
        if self.channel.closed:
            self._on_runtime_gone()

    def _on_runtime_gone(self) -> None:
        # Both descriptors would stay readable.
        self.loop.remove(self.channel.fileno())
        self.loop.remove(self._runtime)
        self.channel.close()
        if self._program is not None and not self.keeps:
            self._program.cancel()

    def _on_signals(self) -> None:
        received = self._signals.take()
        if CLOSE_INPUT in received:
            self.on_input_closed()
        if END_JOB in received and self.is_job and self._program is not None:
            self._program.cancel()


def _reason(error: OSError | ValueError) -> dict[str, str | int | None]:
    if isinstance(error, OSError):
        name = error.filename if isinstance(error.filename, str) else None
        return {"errno": error.errno, "text": error.strerror or str(error), "name": name}
    return {"errno": errno.EINVAL, "text": str(error), "name": None}
