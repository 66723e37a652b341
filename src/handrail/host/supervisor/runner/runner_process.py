"""A runner: a process that watches over one program at a time, for one runtime.

It is the parent of last resort of whatever the program starts. When the runtime goes, it
ends its program, unless that is a job to be kept.
"""

from __future__ import annotations

import errno
import os
import signal
import socket
import time
from collections.abc import Callable
from typing import Final

from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor.runner import launch, process_tree
from handrail.host.supervisor.runner.channel import RuntimeChannel
from handrail.host.supervisor.runner.event_loop import EventLoop, SignalPipe
from handrail.host.supervisor.runner.program import CHUNK, OutputSinks, ProgramExit, RunningProgram
from handrail.host.supervisor.runner.root_handles import RootHandles
from handrail.host.supervisor.wire import Frame, FrameKind

# Sent to the runner of a job by whoever wants the job ended, from any process.
END_JOB: Final = signal.SIGUSR1


class Runner:
    """Waits for requests, and for all that can happen while a program runs."""

    def __init__(self, connection: socket.socket, runtime: int, root_handles: RootHandles) -> None:
        """`runtime` is a handle of the runtime's process, ready once that has ended; programs
        start from the `root_handles`.
        """
        process_tree.become_subreaper("handrail-keeper")
        launch.reserve_handles()
        self.channel = RuntimeChannel(connection)
        # A job can be ended by a signal, from anywhere; a kept one goes on when the runtime goes.
        self.is_job = False
        self.keeps = False
        # The last one, of which the next request only says what is different.
        self.recipe: Recipe | None = None
        self._runtime = runtime
        self._root_handles = root_handles
        self._signals = SignalPipe(signal.SIGCHLD, END_JOB)
        self._loop = EventLoop()
        self._program: RunningProgram | None = None
        self._requests: list[Frame] = []
        # One for all its programs: to make it anew costs more than to start some of them.
        self._buffer = bytearray(CHUNK)
        self._loop.add(self.channel.fileno(), self._on_channel)
        self._loop.add(runtime, self._on_runtime_gone)
        self._loop.add(self._signals.handle, self._on_signals)
        self.channel.send(FrameKind.HELLO, {"pid": os.getpid()})

    def next_request(self) -> Frame | None:
        """Wait for the next thing to do; None if the runtime has gone."""
        while not self._requests:
            if self.channel.closed:
                return None
            self._loop.turn(None)
        return self._requests.pop(0)

    def sinks(self) -> OutputSinks:
        """Pipes to be heard while a program runs."""
        return OutputSinks(self._loop, self._buffer)

    def start(self, recipe: Recipe, outputs: launch.OutputPipes) -> RunningProgram | None:
        """Start a program; if that cannot be done the runtime is told. Closes the outputs."""
        begun = time.monotonic()
        self.recipe = recipe
        try:
            started = launch.start_program(recipe, outputs, self._root_handles)
        except (OSError, ValueError) as error:
            self.channel.send(FrameKind.FAILED, _reason(error))
            return None
        finally:
            for handle in outputs:
                if handle is not None:
                    os.close(handle)
        self._program = RunningProgram(started, self._loop, begun=begun, own_pids=recipe.own_pids)
        if self.channel.closed and not self.keeps:
            self._program.cancel()
        return self._program

    def watch(
        self, timeout_s: float | None, each_turn: Callable[[], float | None] = lambda: None
    ) -> ProgramExit:
        """Stay with the program that was started, until nothing of it is left."""
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
                # Taken back before it was begun. What is over already has been answered.
                self._requests.clear()
                self.channel.send(FrameKind.FAILED, _reason(OSError(errno.ECANCELED, "taken back")))
        if self.channel.closed:
            self._on_runtime_gone()

    def _on_runtime_gone(self) -> None:
        # Both stay ready for ever; nobody waits for them again.
        self._loop.remove(self.channel.fileno())
        self._loop.remove(self._runtime)
        self.channel.close()
        if self._program is not None and not self.keeps:
            self._program.cancel()

    def _on_signals(self) -> None:
        if END_JOB in self._signals.take() and self.is_job and self._program is not None:
            self._program.cancel()


def _reason(error: OSError | ValueError) -> dict[str, str | int | None]:
    if isinstance(error, OSError):
        name = error.filename if isinstance(error.filename, str) else None
        return {"errno": error.errno, "text": error.strerror or str(error), "name": name}
    return {"errno": errno.EINVAL, "text": str(error), "name": None}
