"""A runner runs one program in the background; its record and its output are files.

The record is written before anybody hears of the job, and last when nothing of it is left.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.processes import Job, JobState
from handrail.host.processes.procfs import ProcessIdentity
from handrail.host.supervisor import job_records
from handrail.host.supervisor.job_output import JobOutputWriter
from handrail.host.supervisor.runner.launch import OutputPipes
from handrail.host.supervisor.runner.program import ExitReason
from handrail.host.supervisor.runner.runner_process import Runner
from handrail.host.supervisor.wire import Frame, FrameKind, decode_recipe

_STATES: Final = {
    ExitReason.ENDED: JobState.EXITED,
    ExitReason.TIMED_OUT: JobState.TIMED_OUT,
    ExitReason.CANCELLED: JobState.KILLED,
}


def run_background(runner: Runner, request: Frame) -> None:
    """Run a job to its end; the runner ends with it, so that its number means this job."""
    wanted = request.header
    place = Path(wanted["place"])
    runner.is_job = True
    runner.keeps = wanted["job"]["kept"]
    segments = JobOutputWriter(place)
    sinks = runner.sinks()
    writing = sinks.open(segments.take)
    # One pipe for both streams: their order is the order of arrival.
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
    # Without a last word the job is lost to readers, but it is over all the same.
    with suppress(OSError):
        job_records.write_record(place, record._replace(job=job))
    runner.channel.send(FrameKind.ENDED, {"survivors": outcome.survivors})


def _record(fields: dict[str, str | bool], pid: int) -> job_records.JobRecord:
    job = Job(**fields, started_at=time.time(), state=JobState.RUNNING, pid=pid)  # type: ignore[arg-type]
    runner = ProcessIdentity.of(os.getpid())
    program = ProcessIdentity.of(pid)
    if runner is None:
        raise RuntimeError("this process is not in /proc")
    # One that has already ended is no less a job.
    return job_records.JobRecord(job, program or runner._replace(pid=pid, start=-1), runner)
