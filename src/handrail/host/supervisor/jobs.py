"""The background jobs of a workspace: those of this runtime by their runners, others by records."""

from __future__ import annotations

import os
import shutil
import signal
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import anyio

from handrail.core.ports.processes import Job, JobOutput, JobRequest, JobState, Launch
from handrail.host.messages import JOB_OVER, NO_JOB_INPUT, NO_SUCH_JOB
from handrail.host.processes.procfs import ProcessIdentity
from handrail.host.sandbox.recipe import Recipe
from handrail.host.supervisor import job_records
from handrail.host.supervisor.runner.job_input import INPUT_NAME
from handrail.host.supervisor.runner.runner_process import CLOSE_INPUT, END_JOB
from handrail.host.supervisor.runner_connection import RunnerConnection, RunnerPool, start_problem
from handrail.host.supervisor.start import wait_exit
from handrail.host.supervisor.wire import FrameKind

# Longer than a runner needs to end any process tree.
_ENDING_S: Final = 15.0
# How long a job that does not read its input may delay a writer.
_WRITING_S: Final = 3.0
_RETRY_S: Final = 0.02
_WRITE: Final = os.O_WRONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


class SupervisedJobs:
    """The jobs of one workspace. `directory` returns where they are recorded."""

    def __init__(self, runners: RunnerPool, directory: Callable[[], Path]) -> None:
        self._runners = runners
        self._directory = directory
        self._own: dict[str, RunnerConnection] = {}

    async def start(self, launch: Launch, recipe: Recipe, request: JobRequest) -> Job:
        """Start a job. Raises `unavailable`."""
        number, place = job_records.claim_job_id(self._directory())
        fields = {"id": number, **request._asdict()}
        fields["kept"] = fields.pop("keep")
        header = {
            "timeout_s": launch.timeout_s,
            "place": str(place),
            "input": launch.input,
            "job": fields,
        }
        try:
            self._own[number] = await self._ask(recipe, header, launch)
        except BaseException:
            shutil.rmtree(place, ignore_errors=True)
            raise
        return self._record(number).job

    async def _ask(
        self, recipe: Recipe, header: Mapping[str, Any], launch: Launch
    ) -> RunnerConnection:
        connection = await self._runners.ask(FrameKind.JOB, recipe, header)
        try:
            first = await connection.wait_started()
        except BaseException:
            # Even if the job is to be kept: its id was never returned to the caller.
            connection.end()
            connection.close()
            raise
        if first is None:
            raise self._runners.lost()
        if first.kind is FrameKind.FAILED:
            raise start_problem(first, launch.argv[0], launch.cwd)
        return connection

    def all(self) -> list[Job]:
        """All jobs, oldest first."""
        return [record.job for record in job_records.read_all_records(self._directory())]

    async def output(self, number: str, offset: int, wait_s: float, limit: int) -> JobOutput:
        """Wait at most `wait_s` for the end of a job, then read its output."""
        record = self._record(number)
        if record.job.state is JobState.RUNNING and wait_s > 0:
            with anyio.move_on_after(wait_s):
                await self._wait_ended(number)
            record = self._record(number)
        part = job_records.read_output(self._directory() / number, offset, limit)
        return JobOutput(record.job, part.data, part.next_offset, part.missing)

    async def write(self, number: str, data: bytes, *, eof: bool) -> int:
        """Send text to a job, as much as it accepts within `_WRITING_S`. Raises `not_found`, or
        `conflict` if the job has ended or accepts no input.
        """
        record = self._record(number)
        if record.job.state is not JobState.RUNNING:
            raise JOB_OVER.error(number=number, state=record.job.state.value)
        written = 0
        try:
            handle = os.open(self._directory() / number / INPUT_NAME, _WRITE)
        except OSError as error:
            raise NO_JOB_INPUT.error(number=number) from error
        try:
            with anyio.move_on_after(_WRITING_S):
                while written < len(data):
                    try:
                        written += os.write(handle, data[written:])
                    except BlockingIOError:
                        await anyio.sleep(_RETRY_S)
        except BrokenPipeError as error:
            raise NO_JOB_INPUT.error(number=number) from error
        finally:
            os.close(handle)
        if eof and written == len(data):
            _signal(record.runner, CLOSE_INPUT)
        return written

    async def kill(self, number: str) -> Job:
        """End a job. Raises `not_found`, or `conflict` if it has ended."""
        record = self._record(number)
        if record.job.state is not JobState.RUNNING:
            raise JOB_OVER.error(number=number, state=record.job.state.value)
        if number in self._own:
            self._own[number].end()
        elif not _signal(record.runner, END_JOB):
            self._end_orphan(number, record)
        with anyio.move_on_after(_ENDING_S):
            await self._wait_ended(number)
        return self._record(number).job

    @property
    def kept(self) -> bool:
        """Return whether a job of this runtime continues after the runtime ends."""
        if not self._own:
            return False
        return any(
            job.kept and job.state is JobState.RUNNING and job.id in self._own for job in self.all()
        )

    async def _wait_ended(self, number: str) -> None:
        if number in self._own:
            await self._own[number].wait_answer()
        record = self._record(number)
        if record.job.state is not JobState.RUNNING:
            return
        # The job of another runtime, or its runner was killed. A runner ends with its job, but a
        # killed one closes its connection before the kernel ends the program.
        await wait_exit(record.runner.pid, still=lambda: record.runner.alive)
        await wait_exit(record.program.pid, still=lambda: record.program.alive)

    def _end_orphan(self, number: str, record: job_records.JobRecord) -> None:
        """End a job whose runner and supervisor were killed, by its process group."""
        if record.program.alive:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(record.program.pid, signal.SIGKILL)
            job = record.job._replace(state=JobState.KILLED, pid=None)
            job_records.write_record(self._directory() / number, record._replace(job=job))

    def _record(self, number: str) -> job_records.JobRecord:
        record = job_records.read_record(self._directory(), number)
        if record is None:
            known = ", ".join(job.id for job in self.all())
            hint = f"jobs: {known}" if known else "no job was started yet"
            raise NO_SUCH_JOB.error(number=number, hint=hint)
        return record


def _signal(process: ProcessIdentity, number: int) -> bool:
    """Send a signal to exactly this process; return False if it has ended."""
    try:
        handle = os.pidfd_open(process.pid)
    except OSError:
        return False
    try:
        # Checked while the pidfd is open, so the pid cannot be reused.
        if not process.alive:
            return False
        signal.pidfd_send_signal(handle, number)
    except ProcessLookupError:
        return False
    finally:
        os.close(handle)
    return True
