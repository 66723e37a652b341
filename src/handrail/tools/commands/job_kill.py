"""End a background job."""

from __future__ import annotations

from pydantic import Field

from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, writing
from handrail.core.results import Output
from handrail.core.tool import Group, Params
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.commands.jobs import JobTool, job_data


class JobKillParams(Params):
    job: str = Field(description="The number of the job.")


class JobKill(JobTool[JobKillParams]):
    name = "job_kill"
    summary = "End a background job and everything it started."
    params = JobKillParams
    effects = Effects.SESSION
    traits = ToolTraits(takes_pattern=False)
    group = Group.EXEC

    def footprint(self, args: JobKillParams) -> Footprint:
        """It ends one job."""
        return writing(f"job:{args.job}")

    def risk(self, args: JobKillParams) -> Risk:
        """What it ends was started here; nothing else can be named."""
        del args
        return Risk.SAFE

    async def run(self, args: JobKillParams, ctx: ToolContext) -> Output:
        """That it is gone; `not_found`, `conflict` if it was over already."""
        await self.own(args.job, ctx)
        job = await self._processes.kill(args.job)
        return Output(f"Background job ended: {job.id}", data=job_data(job))
