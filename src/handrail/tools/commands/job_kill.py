"""End a background job."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, writing
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.job_text import JobTool, job_data


class JobKillParams(Params):
    job: str = Field(description="The number of the job, or the id of an agent.")


class JobKill(JobTool[JobKillParams]):
    name = "job_kill"
    summary = "End a background job and everything it started."
    params = JobKillParams
    # Only jobs of this session can be named.
    always_safe = True
    effects = Effects.SESSION
    traits = ToolTraits(takes_pattern=False)
    group = Group.EXEC

    def footprint(self, args: JobKillParams) -> Footprint:
        """Return a footprint that writes one job."""
        return writing(f"job:{args.job}")

    async def run(self, args: JobKillParams, ctx: ToolContext) -> Output:
        """End the job; raises `not_found`, or `conflict` if it had ended before."""
        if (agents := self.agents_with(args.job)) is not None:
            state = await agents.cancel(args.job, ctx.call)
            return Output(f"Background agent ended: {state.id}", data=state.to_dict())
        await self.own(args.job, ctx)
        job = await self._processes.kill(args.job)
        text = f"Background job ended: {job.id}"
        return Output(text, data=job_data(job), meta=job.to_meta())
