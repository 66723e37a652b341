"""List the background jobs."""

from __future__ import annotations

from typing import Final

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.job_text import JobTool, describe_job, job_data

_MOST: Final = 100


class JobListParams(Params):
    pass


class JobList(JobTool[JobListParams]):
    name = "job_list"
    summary = "List the background jobs."
    polls = True
    params = JobListParams
    effects = Effects.SESSION
    traits = ToolTraits(takes_pattern=False, hidden_by_default=True)
    group = Group.EXEC
    idempotent = True

    @property
    def only_reads(self) -> bool:
        """True for all arguments."""
        return True

    def footprint(self, args: JobListParams) -> Footprint:
        """Return a footprint that reads all jobs."""
        del args
        return reading("session:jobs")

    async def run(self, args: JobListParams, ctx: ToolContext) -> Output:
        """Return each job with its state, the newest last."""
        del args
        jobs = [job for job in await self._processes.jobs() if job.session == ctx.session.id]
        del jobs[:-_MOST]
        text = "\n".join(describe_job(job) for job in jobs) or "there are no background jobs"
        return Output(text, data=[job_data(job) for job in jobs])
