"""Serves requests in a runner: one program for a call, or one background job, and their output."""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.core.ports.processes import Connection, Job, JobState
from handrail.host.processes.procfs import ProcessIdentity
from handrail.host.supervisor import job_records
from handrail.host.supervisor.job_records import JobOutputWriter
from handrail.host.supervisor.runner.job_input import JobInput
from handrail.host.supervisor.runner.launch import OutputPipes, memory_file
from handrail.host.supervisor.runner.program import (
    ExitReason,
    OutputSinks,
    ProgramExit,
    RunningProgram,
)
from handrail.host.supervisor.runner.runner_process import Runner
from handrail.host.supervisor.wire import FrameKind, WireFrame, decode_recipe

# A result shows at most 30,000 characters of up to four bytes, a third of them from the end.
HEAD_BYTES: Final = 128 * 1024
TAIL_BYTES: Final = 64 * 1024
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Live output: at most this much per stream, at most this often.
_LIVE_BYTES: Final = 64 * 1024
_LIVE_EVERY_S: Final = 0.05

# A path is at most half as long as this.
_MAX_REPORT: Final = 8192


def run_foreground(runner: Runner, request: WireFrame) -> None:
    """Run a program to its end."""
    wanted = request.header
    hearing = _ProgramOutput(
        SpillTarget(*wanted["spill"]) if wanted["spill"] is not None else None,
        LiveOutput(runner.channel.offer) if wanted["live"] else None,
    )
    sinks = runner.sinks()
    try:
        outputs = hearing.outputs(sinks, reports=wanted["reports"])
        split = len(request.body) - wanted["stdin"]
        if wanted["stdin"]:
            outputs = outputs._replace(stdin=memory_file(request.body[split:]))
        recipe = decode_recipe(wanted["recipe"], request.body[:split], runner.recipe)
        program = runner.start(recipe, outputs)
        if program is None:
            return
        outcome = runner.watch(wanted["timeout_s"], hearing.each_turn)
    finally:
        sinks.close()
    header, body = hearing.result_frame(outcome)
    header["connections"] = program.connections()
    runner.leaves = bool(outcome.survivors)
    runner.answer(FrameKind.ENDED, header, body)


def run_channel(runner: Runner, request: WireFrame) -> None:
    """Run a program whose stdin and stdout the runtime holds. Only stderr is read here."""
    stdin, stdout = runner.channel.take_handles()
    memory_mb = request.header["memory_mb"]
    if memory_mb:
        # The runner serves no other request, because the limit cannot be lifted again.
        runner.leaves = True
        _limit_data(memory_mb << 20)
    hearing = _ProgramOutput(None, LiveOutput(runner.channel.offer))
    sinks = runner.sinks()
    try:
        outputs = OutputPipes(stdout, sinks.open(hearing.on_stderr), None, stdin)
        recipe = decode_recipe(request.header["recipe"], request.body, runner.recipe)
        program = runner.start(recipe, outputs)
        if program is None:
            return
        runner.channel.send(FrameKind.STARTED, {"pid": program.pid})
        outcome = runner.watch(request.header["timeout_s"], hearing.each_turn)
    finally:
        sinks.close()
    header, body = hearing.result_frame(outcome)
    header["connections"] = program.connections()
    runner.leaves = runner.leaves or bool(outcome.survivors)
    runner.answer(FrameKind.ENDED, header, body)


def _limit_data(size: int) -> None:
    """Limit the data segment of this process and of everything that it starts."""
    # The limit does not concern the address space, of which some language runtimes reserve far more
    # than they use.
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    size = size if hard == resource.RLIM_INFINITY else min(size, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (size, size))


class _ProgramOutput:
    """The output of a program and its reported directory."""

    def __init__(self, room: SpillTarget | None, live: LiveOutput | None) -> None:
        self._stdout = OutputCapture("stdout", room)
        self._stderr = OutputCapture("stderr", room)
        self._report = bytearray()
        self._live = live

    def outputs(self, sinks: OutputSinks, *, reports: bool) -> OutputPipes:
        """Return pipes whose output is collected here."""
        return OutputPipes(
            sinks.open(self._on_stdout),
            sinks.open(self.on_stderr),
            sinks.open(self._on_report) if reports else None,
        )

    def each_turn(self) -> float | None:
        """Send live output if an update is due; return when to call again."""
        if self._live is None:
            return None
        self._live.flush(time.monotonic())
        return self._live.due()

    def result_frame(self, outcome: ProgramExit) -> tuple[dict[str, Any], bytes]:
        """Return the end of a program as header and body of a frame."""
        if self._live is not None:
            self._live.flush(float("inf"))
        stdout, out_body = self._stdout.close()
        stderr, err_body = self._stderr.close()
        header = {
            "exit_code": outcome.exit_code,
            "duration_s": outcome.duration_s,
            "timed_out": outcome.why is ExitReason.TIMED_OUT,
            "cancelled": outcome.why is ExitReason.CANCELLED,
            "ended_children": outcome.ended_children,
            "survivors": outcome.survivors,
            "directory": _directory(self._report),
            "stdout": stdout,
            "stderr": stderr,
            "split": len(out_body),
        }
        return header, out_body + err_body

    def _on_stdout(self, data: memoryview) -> None:
        self._stdout.take(data)
        if self._live is not None:
            self._live.take("stdout", data)

    def on_stderr(self, data: memoryview) -> None:
        """Add what the program wrote to stderr."""
        self._stderr.take(data)
        if self._live is not None:
            self._live.take("stderr", data)

    def _on_report(self, data: memoryview) -> None:
        # One byte more than allowed, so that an oversized report is recognised.
        self._report += data[: _MAX_REPORT + 1 - len(self._report)]


def _directory(report: bytearray) -> str | None:
    """Return the reported directory: one absolute path as `pwd` prints it, or None."""
    path = bytes(report).removesuffix(b"\n")
    if len(report) > _MAX_REPORT or not path.startswith(b"/") or b"\n" in path or b"\0" in path:
        return None
    return os.fsdecode(path)


# How often the connections of a running job are written.
_CONNECTIONS_S: Final = 1.0
_STATES: Final = {
    ExitReason.ENDED: JobState.EXITED,
    ExitReason.TIMED_OUT: JobState.TIMED_OUT,
    ExitReason.CANCELLED: JobState.KILLED,
}


def run_background(runner: Runner, request: WireFrame) -> None:
    """Run a job to its end. The runner ends with it, so the runner's pid identifies the job."""
    wanted = request.header
    place = Path(wanted["place"])
    runner.is_job = True
    runner.keeps = wanted["job"]["kept"]
    segments = JobOutputWriter(place)
    sinks = runner.sinks()
    entry = None
    if wanted["input"] == "none":
        writing = sinks.open(segments.take)
        # One pipe for both streams keeps their order.
        outputs = OutputPipes(writing, os.dup(writing))
    else:
        entry = JobInput(place, runner.loop, terminal=wanted["input"] == "terminal")
        outputs = entry.outputs(sinks, segments.take)
        runner.on_input_closed = entry.close
    recipe = decode_recipe(wanted["recipe"], request.body, runner.recipe)
    program = runner.start(recipe, outputs)
    if program is None:
        return
    record = _record(wanted["job"], program.pid)
    try:
        job_records.write_record(place, record)
        runner.channel.send(FrameKind.STARTED, {"pid": program.pid})
    except OSError as error:
        program.cancel()
        runner.answer(
            FrameKind.FAILED, {"errno": error.errno, "text": error.strerror, "name": str(place)}
        )
    writer = _ConnectionWriter(place, record, program) if recipe.hosts else None
    steps = [one.each_turn for one in (writer, entry) if one is not None]
    outcome = runner.watch(wanted["timeout_s"], lambda: _earliest(step() for step in steps))
    sinks.close()
    if entry is not None:
        entry.release()
    segments.close()
    job = record.job._replace(
        state=_STATES[outcome.why],
        exit_code=outcome.exit_code,
        ended_at=time.time(),
        pid=None,
        connections=_connections(program),
    )
    # If the final record cannot be written, readers see the job as lost.
    with suppress(OSError):
        job_records.write_record(place, record._replace(job=job))
    runner.answer(FrameKind.ENDED, {"survivors": outcome.survivors})


def _earliest(times: Iterable[float | None]) -> float | None:
    return min((one for one in times if one is not None), default=None)


class _ConnectionWriter:
    """Writes the connections of a running job to its record, soon after they were asked for."""

    def __init__(self, place: Path, record: job_records.JobRecord, program: RunningProgram) -> None:
        self._place = place
        self._record = record
        self._program = program
        self._written = 0
        self._due = time.monotonic() + _CONNECTIONS_S

    def each_turn(self) -> float:
        """Write new connections if an update is due; return when to call again."""
        if time.monotonic() >= self._due:
            self._due = time.monotonic() + _CONNECTIONS_S
            found = _connections(self._program)
            if len(found) > self._written:
                self._written = len(found)
                job = self._record.job._replace(connections=found)
                with suppress(OSError):
                    job_records.write_record(self._place, self._record._replace(job=job))
        return self._due


def _connections(program: RunningProgram) -> tuple[Connection, ...]:
    return tuple(Connection(*one) for one in program.connections())


def _record(fields: dict[str, str | bool], pid: int) -> job_records.JobRecord:
    job = Job(**fields, started_at=time.time(), state=JobState.RUNNING, pid=pid)  # type: ignore[arg-type]
    runner = ProcessIdentity.of(os.getpid())
    program = ProcessIdentity.of(pid)
    if runner is None:
        raise RuntimeError("this process is not in /proc")
    # A job that has already ended gets an identity that no process has.
    return job_records.JobRecord(job, program or runner._replace(pid=pid, start=-1), runner)


class SpillTarget(NamedTuple):
    """The directory for the full text of a long stream, and its size limit."""

    directory: str
    max_bytes: int


class OutputCapture:
    """One stream of one program."""

    def __init__(self, name: str, room: SpillTarget | None) -> None:
        self._name = name
        self._room = room
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._file = -1
        self._saved: str | None = None
        self._saved_bytes = 0

    def take(self, data: memoryview) -> None:
        """Append output."""
        free = HEAD_BYTES - len(self._head)
        self._total += len(data)
        if free > 0:
            self._head += data[:free]
            data = data[free:]
        if not data:
            return
        if self._total > HEAD_BYTES + TAIL_BYTES:
            self._spill(data)
        if len(data) >= TAIL_BYTES:
            self._tail[:] = data[-TAIL_BYTES:]
            return
        self._tail += data
        # Not on every call, because cutting the front copies the rest.
        if len(self._tail) > 4 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def close(self) -> tuple[dict[str, Any], bytes]:
        """Return the fields of `Captured` as a header, and head and tail as one body."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        tail = self._tail[-TAIL_BYTES:]
        kept = max(self._saved_bytes, len(self._head)) + len(tail)
        header = {
            "head": len(self._head),
            "total": self._total,
            "saved": self._saved,
            "dropped": max(self._total - kept, 0),
        }
        return header, bytes(self._head + tail)

    def _spill(self, data: memoryview) -> None:
        if self._room is None:
            return
        if self._saved is None and not self._open(self._room.directory):
            self._room = None
            return
        self._write(data)

    def _open(self, directory: str) -> bool:
        path = Path(directory, f"{os.urandom(4).hex()}-{self._name}.txt")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, _CREATE, 0o600)
        except OSError:
            return False
        self._saved = str(path)
        # Until now head and tail contained everything.
        self._write(memoryview(self._head))
        self._write(memoryview(self._tail))
        return True

    def _write(self, data: memoryview) -> None:
        if self._file < 0 or self._room is None:
            return
        data = data[: self._room.max_bytes - self._saved_bytes]
        with suppress(OSError):
            while data:
                written = os.write(self._file, data)
                self._saved_bytes += written
                data = data[written:]
            return
        # The disk is full: the file keeps what was written, without a gap.
        os.close(self._file)
        self._file = -1


class LiveOutput:
    """Output for a live view: a few updates per second, the rest is skipped."""

    def __init__(self, send: Callable[[str, bytes, int], bool]) -> None:
        self._send = send
        self._waiting: dict[str, bytearray] = {}
        self._skipped: dict[str, int] = {}
        self._next = 0.0

    def take(self, stream: str, data: memoryview) -> None:
        """Buffer output for the next update, up to the limit."""
        waiting = self._waiting.setdefault(stream, bytearray())
        free = _LIVE_BYTES - len(waiting)
        if free > 0:
            waiting += data[:free]
        if len(data) > free:
            self._skipped[stream] = self._skipped.get(stream, 0) + len(data) - max(free, 0)

    def due(self) -> float | None:
        """Return when `flush` should be called next; None if nothing is buffered."""
        return self._next if self._waiting else None

    def flush(self, now: float) -> None:
        """Send the buffered output if an update is due."""
        if now < self._next or not self._waiting:
            return
        self._next = now + _LIVE_EVERY_S
        for stream, data in self._waiting.items():
            skipped = self._skipped.pop(stream, 0)
            if not self._send(stream, bytes(data), skipped):
                self._skipped[stream] = skipped + len(data)
        self._waiting.clear()
