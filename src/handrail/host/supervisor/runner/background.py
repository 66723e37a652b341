"""A keeper runs one program in the background; its record and its output are files.

The record is written before anybody hears of the job, and last when nothing of it is left.
"""

from __future__ import annotations

import os
import time
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.processes import Job, JobState
from handrail.host.processes.procfs import Identity
from handrail.host.supervisor import job_records
from handrail.host.supervisor.job_output import Segments
from handrail.host.supervisor.runner.base import Keeper
from handrail.host.supervisor.runner.launch import Outputs
from handrail.host.supervisor.runner.program import Why
from handrail.host.supervisor.wire import Frame, Kind, recipe_of

_STATES: Final = {
    Why.ENDED: JobState.EXITED,
    Why.TIMED_OUT: JobState.TIMED_OUT,
    Why.CANCELLED: JobState.KILLED,
}


def run_job(keeper: Keeper, request: Frame) -> None:
    """Run a job to its end; the keeper ends with it, so that its number means this job."""
    wanted = request.header
    place = Path(wanted["place"])
    keeper.is_job = True
    keeper.keeps = wanted["job"]["kept"]
    segments = Segments(place)
    ears = keeper.ears()
    writing = ears.open(segments.take)
    # One pipe for both streams: their order is the order of arrival.
    outputs = Outputs(writing, os.dup(writing))
    program = keeper.start(recipe_of(wanted["recipe"], request.body, keeper.recipe), outputs)
    if program is None:
        return
    record = _record(wanted["job"], program.pid)
    try:
        job_records.write(place, record)
        keeper.channel.send(Kind.STARTED, {"pid": program.pid})
    except OSError as error:
        program.cancel()
        keeper.channel.send(
            Kind.FAILED, {"errno": error.errno, "text": error.strerror, "name": str(place)}
        )
    fate = keeper.watch(wanted["timeout_s"])
    ears.close()
    segments.close()
    job = record.job._replace(
        state=_STATES[fate.why], exit_code=fate.exit_code, ended_at=time.time(), pid=None
    )
    # Without a last word the job is lost to readers, but it is over all the same.
    with suppress(OSError):
        job_records.write(place, record._replace(job=job))
    keeper.channel.send(Kind.ENDED, {"survivors": fate.survivors})


def _record(fields: dict[str, str | bool], pid: int) -> job_records.Record:
    job = Job(**fields, started_at=time.time(), state=JobState.RUNNING, pid=pid)  # type: ignore[arg-type]
    keeper = Identity.of(os.getpid())
    program = Identity.of(pid)
    if keeper is None:
        raise RuntimeError("this process is not in /proc")
    # One that has already ended is no less a job.
    return job_records.Record(job, program or keeper._replace(pid=pid, start=-1), keeper)
