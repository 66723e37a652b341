"""Background jobs, for the program that uses the runtime."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from handrail.engine import messages

if TYPE_CHECKING:
    from handrail.core.ports.processes import Job, JobOutput, Processes


class BackgroundJobs:
    """All jobs of the workspace; tools decide what a model may see of them."""

    def __init__(self, processes: Callable[[], Processes] | None) -> None:
        self._given = processes

    async def list(self) -> Sequence[Job]:
        """Return every job, oldest first, also of other sessions and of crashed runtimes."""
        return () if self._given is None else await self._given().jobs()

    async def output(
        self, job_id: str, *, offset: int = 0, wait_s: float = 0.0, limit: int = 1 << 20
    ) -> JobOutput:
        """Return what a job printed from `offset` on; waits up to `wait_s` for it to end."""
        return await self._processes.output(job_id, offset, wait_s, limit)

    async def kill(self, job_id: str) -> Job:
        """End a job and all that it started; raises `not_found`, or `conflict` if it has ended."""
        return await self._processes.kill(job_id)

    async def revoke(self, call_id: str, session: str | None = None) -> Sequence[Job]:
        """End the running jobs that a call has started, in one session or (None) in any."""
        from handrail.core.ports.processes import JobState

        running = [
            job
            for job in await self.list()
            if job.call_id == call_id
            and job.state is JobState.RUNNING
            and session in (None, job.session)
        ]
        return [await self.kill(job.id) for job in running]

    @property
    def _processes(self) -> Processes:
        if self._given is None:
            raise messages.COMMANDS_UNAVAILABLE.error()
        return self._given()
