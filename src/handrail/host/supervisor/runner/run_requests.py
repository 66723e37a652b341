"""How a runner serves requests: one program for a call, or one background job."""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from handrail.core.ports.processes import Job, JobState
from handrail.host.processes.procfs import ProcessIdentity
from handrail.host.supervisor import job_records
from handrail.host.supervisor.job_output import JobOutputWriter
from handrail.host.supervisor.runner.capture import LiveOutput, OutputCapture, SpillTarget
from handrail.host.supervisor.runner.launch import OutputPipes, memory_file
from handrail.host.supervisor.runner.program import ExitReason, OutputSinks, ProgramExit
from handrail.host.supervisor.runner.runner_process import Runner
from handrail.host.supervisor.wire import Frame, FrameKind, decode_recipe

# A path is at most half as long.
_MAX_REPORT: Final = 8192


def run_foreground(runner: Runner, request: Frame) -> bool:
    """Run a program to its end; whether the runner can serve another request."""
    wanted = request.header
    hearing = _CallOutput(
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
            return True
        outcome = runner.watch(wanted["timeout_s"], hearing.each_turn)
    finally:
        sinks.close()
    header, body = hearing.result_frame(outcome)
    header["connections"] = program.connections()
    runner.channel.send(FrameKind.ENDED, header, body)
    return not outcome.survivors


class _CallOutput:
    """The output of a program and its reported directory."""

    def __init__(self, room: SpillTarget | None, live: LiveOutput | None) -> None:
        self._stdout = OutputCapture("stdout", room)
        self._stderr = OutputCapture("stderr", room)
        self._report = bytearray()
        self._live = live

    def outputs(self, sinks: OutputSinks, *, reports: bool) -> OutputPipes:
        """Pipes that lead here."""
        return OutputPipes(
            sinks.open(self._on_stdout),
            sinks.open(self._on_stderr),
            sinks.open(self._on_report) if reports else None,
        )

    def each_turn(self) -> float | None:
        """Send live output if due; returns when to call again."""
        if self._live is None:
            return None
        self._live.flush(time.monotonic())
        return self._live.due()

    def result_frame(self, outcome: ProgramExit) -> tuple[dict[str, Any], bytes]:
        """The end of a program as header and body of a frame."""
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

    def _on_stderr(self, data: memoryview) -> None:
        self._stderr.take(data)
        if self._live is not None:
            self._live.take("stderr", data)

    def _on_report(self, data: memoryview) -> None:
        # One byte more than allowed, so that an oversized report is recognised.
        self._report += data[: _MAX_REPORT + 1 - len(self._report)]


def _directory(report: bytearray) -> str | None:
    """The reported directory: one absolute path as `pwd` prints it, or None."""
    path = bytes(report).removesuffix(b"\n")
    if len(report) > _MAX_REPORT or not path.startswith(b"/") or b"\n" in path or b"\0" in path:
        return None
    return os.fsdecode(path)


_STATES: Final = {
    ExitReason.ENDED: JobState.EXITED,
    ExitReason.TIMED_OUT: JobState.TIMED_OUT,
    ExitReason.CANCELLED: JobState.KILLED,
}


def run_background(runner: Runner, request: Frame) -> None:
    """Run a job to its end. The runner ends with the job, so that its pid identifies the job."""
    wanted = request.header
    place = Path(wanted["place"])
    runner.is_job = True
    runner.keeps = wanted["job"]["kept"]
    segments = JobOutputWriter(place)
    sinks = runner.sinks()
    writing = sinks.open(segments.take)
    # One pipe for both streams keeps their order.
    outputs = OutputPipes(writing, os.dup(writing))
    program = runner.start(decode_recipe(wanted["recipe"], request.body, runner.recipe), outputs)
    if program is None:
        return
    record = _record(wanted["job"], program.pid)
    try:
        job_records.write_record(place, record)
        runner.channel.send(FrameKind.STARTED, {"pid": program.pid})
    except OSError as error:
        program.cancel()
        runner.channel.send(
            FrameKind.FAILED, {"errno": error.errno, "text": error.strerror, "name": str(place)}
        )
    outcome = runner.watch(wanted["timeout_s"])
    sinks.close()
    segments.close()
    job = record.job._replace(
        state=_STATES[outcome.why], exit_code=outcome.exit_code, ended_at=time.time(), pid=None
    )
    # If the final record cannot be written, readers see the job as lost.
    with suppress(OSError):
        job_records.write_record(place, record._replace(job=job))
    runner.channel.send(FrameKind.ENDED, {"survivors": outcome.survivors})


def _record(fields: dict[str, str | bool], pid: int) -> job_records.JobRecord:
    job = Job(**fields, started_at=time.time(), state=JobState.RUNNING, pid=pid)  # type: ignore[arg-type]
    runner = ProcessIdentity.of(os.getpid())
    program = ProcessIdentity.of(pid)
    if runner is None:
        raise RuntimeError("this process is not in /proc")
    # A job that has already ended gets an identity that no process has.
    return job_records.JobRecord(job, program or runner._replace(pid=pid, start=-1), runner)
