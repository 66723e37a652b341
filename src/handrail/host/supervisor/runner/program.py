"""One program from its start until all its processes have ended: output, deadline, termination.

A program ends with its first process; remaining processes are killed. The runner continues only
when it has no child left, or reports the survivors.
"""

from __future__ import annotations

import errno
import fcntl
import os
import signal
import time
from collections.abc import Callable
from enum import Enum
from typing import Final, NamedTuple

from handrail.host.supervisor.runner import process_tree
from handrail.host.supervisor.runner.launch import StartedProgram
from handrail.host.supervisor.runner.process_tree import EventLoop

Sink = Callable[[memoryview], None]

# How long a process tree may clean up after SIGTERM, and how long killing is attempted.
GRACE_S: Final = 0.5
_KILLING_S: Final = 5.0
_ROUND_S: Final = 0.02
# The bytes read at once, and the pipe size for programs with much output. This is the kernel's
# default maximum, so that neither end has to wake the other often.
CHUNK: Final = 1 << 20
_PIPE_BYTES: Final = 1 << 16
# How long output gathers in an enlarged pipe between two reads. Without this pause, a fast writer
# wakes the runner for each few kilobytes.
_GATHER_S: Final = 0.00005
# The most that can be left in the pipes of a program that has ended.
_REST_BYTES: Final = 4 << 20


class ExitReason(Enum):
    """Why a program ended."""

    ENDED = "ended"
    TIMED_OUT = "timed_out"
    CANCELLED = "cancelled"


class ProgramExit(NamedTuple):
    """How a program ended; see `Ended`."""

    why: ExitReason
    exit_code: int
    duration_s: float
    ended_children: int
    survivors: tuple[int, ...]


class RunningProgram:
    """A started program, on the runner's loop."""

    def __init__(
        self, started: StartedProgram, loop: EventLoop, *, begun: float, own_pids: bool
    ) -> None:
        self._started = started
        self._loop = loop
        self._own_pids = own_pids
        self._begun = begun
        self._cancelled = False
        self._exit_code: int | None = None
        self._ended_at: float | None = None

    @property
    def pid(self) -> int:
        """The pid of the first process."""
        return self._started.process.pid

    def connections(self) -> list[tuple[str, int, str]]:
        """The connections that the program asked its proxy for, as JSON values."""
        return [(one.host, one.port, one.refused) for one in self._started.connections()]

    def cancel(self) -> None:
        """End the program in the next turn of the loop."""
        self._cancelled = True

    def watch(self, timeout_s: float | None, each_turn: Callable[[], float | None]) -> ProgramExit:
        """Supervise the program to its end; `each_turn` returns when it must be called again."""
        deadline = None if timeout_s is None else self._begun + timeout_s
        try:
            gone = self._reap()
            while self._exit_code is None and not self._cancelled:
                if deadline is not None and time.monotonic() >= deadline:
                    break
                self._loop.turn(_earlier(deadline, each_turn()))
                gone = self._reap()
            why = self._exit_reason()
            if self._own_pids and self._exit_code is not None and not gone:
                # The kernel ends the rest of the pid namespace by itself.
                gone = self._wait_until_gone(time.monotonic() + GRACE_S, each_turn)
            ended_children = 0 if gone else self._end(each_turn)
            return self._outcome(why, ended_children)
        finally:
            self._started.release()

    def _exit_reason(self) -> ExitReason:
        if self._exit_code is not None:
            return ExitReason.ENDED
        return ExitReason.CANCELLED if self._cancelled else ExitReason.TIMED_OUT

    def _end(self, each_turn: Callable[[], float | None]) -> int:
        """End all remaining processes; return their number without the first process."""
        others = {member.pid for member in process_tree.members(at_most=process_tree.MANY)} - {
            self.pid
        }
        gone = False
        if len(others) + 1 < process_tree.MANY:
            # The end of a pid namespace's first process kills the others at once, so the others get
            # SIGTERM first.
            process_tree.ask_to_end(omit={self.pid} if self._own_pids and others else ())
            gone = self._wait_until_gone(time.monotonic() + GRACE_S, each_turn)
        limit = time.monotonic() + _KILLING_S
        while not gone and time.monotonic() < limit:
            process_tree.kill(limit)
            gone = self._wait_until_gone(time.monotonic() + _ROUND_S, each_turn)
        return len(others)

    def _wait_until_gone(self, until: float, each_turn: Callable[[], float | None]) -> bool:
        while not (gone := self._reap()) and time.monotonic() < until:
            self._loop.turn(_earlier(until, each_turn()))
        return gone

    def _outcome(self, why: ExitReason, ended_children: int) -> ProgramExit:
        survivors = () if self._reap() else tuple(member.pid for member in process_tree.members())
        ended_at = self._ended_at or time.monotonic()
        # A process that cannot be killed was at least sent this signal.
        code = -signal.SIGKILL if self._exit_code is None else self._exit_code
        return ProgramExit(why, code, ended_at - self._begun, ended_children, survivors)

    def _reap(self) -> bool:
        return process_tree.reap(self._record_exit)

    def _record_exit(self, pid: int, exit_code: int) -> None:
        if pid == self.pid:
            self._exit_code = exit_code
            self._ended_at = time.monotonic()
            self._started.process.returncode = exit_code


class OutputSinks:
    """The reading ends of a program's pipes."""

    def __init__(self, loop: EventLoop, buffer: bytearray) -> None:
        self._loop = loop
        self._sinks: dict[int, Sink] = {}
        # Descriptors that are not enlarged (again), and pipes that were.
        self._settled: set[int] = set()
        self._enlarged: set[int] = set()
        self._buffer = buffer
        self._view = memoryview(buffer)

    def open(self, sink: Sink) -> int:
        """Create a pipe; return the writing descriptor, which the caller closes."""
        reading, writing = os.pipe2(os.O_CLOEXEC)
        os.set_blocking(reading, False)
        self._sinks[reading] = sink
        self._loop.add(reading, lambda: self._on_ready(reading))
        return writing

    def adopt(self, handle: int, sink: Sink) -> None:
        """Read a descriptor that the caller opened, and close it at the end."""
        os.set_blocking(handle, False)
        self._sinks[handle] = sink
        self._settled.add(handle)
        self._loop.add(handle, lambda: self._on_ready(handle))

    def close(self) -> None:
        """Read what is left in the pipes, and close them."""
        for handle in list(self._sinks):
            rest = _REST_BYTES
            while rest > 0 and (heard := self._read_once(handle)):
                rest -= heard
            self._close_pipe(handle)

    def _on_ready(self, handle: int) -> None:
        if self._read_once(handle) and handle in self._enlarged:
            time.sleep(_GATHER_S)

    def _read_once(self, handle: int) -> int:
        """Read once; return the number of bytes."""
        if handle not in self._sinks:
            return 0
        try:
            count = os.readv(handle, [self._buffer])
        except BlockingIOError:
            return 0
        except OSError as error:
            # No program has this terminal open any more.
            if error.errno != errno.EIO:
                raise
            count = 0
        if not count:
            self._close_pipe(handle)
            return 0
        if count >= _PIPE_BYTES and handle not in self._settled:
            self._enlarge_pipe(handle)
        self._sinks[handle](self._view[:count])
        return count

    def _enlarge_pipe(self, handle: int) -> None:
        """Enlarge the pipe of a program with much output, which saves turns of the loop."""
        self._settled.add(handle)
        try:
            fcntl.fcntl(handle, fcntl.F_SETPIPE_SZ, CHUNK)
            self._enlarged.add(handle)
        except OSError as error:
            # The user's quota of pipe memory is used up; the old size works too.
            if error.errno != errno.EPERM:
                raise

    def _close_pipe(self, handle: int) -> None:
        if self._sinks.pop(handle, None) is not None:
            self._settled.discard(handle)
            self._enlarged.discard(handle)
            self._loop.remove(handle)
            os.close(handle)


def _earlier(one: float | None, other: float | None) -> float | None:
    if one is None or other is None:
        return other if one is None else one
    return min(one, other)
