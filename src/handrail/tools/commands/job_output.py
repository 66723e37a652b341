"""Show the output of a background job."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.outputs import OUTPUT_OF
from handrail.core.ports.processes import JobState
from handrail.core.ports.subagents import Subagents
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.agent_text import describe_agent
from handrail.tools._lib.job_text import JobTool, describe_job
from handrail.tools._lib.matching.pattern import matching_lines
from handrail.tools._lib.running_commands import WaitSeconds
from handrail.tools._lib.tool_base import BOOLEAN, INTEGER, INTEGER_OR_NULL, STRING, object_schema

_MAX_BYTES: Final = 24_000


class JobOutputParams(Params):
    job: str = Field(description="The number of the job, or the id of an agent.")
    block: bool = Field(True, description="Wait for the job to end.")
    timeout_s: WaitSeconds = Field(30, description="The longest wait, in seconds.")
    offset: int | None = Field(
        None, ge=0, description="Byte to start at; by default after what was shown last."
    )
    filter: str | None = Field(
        None, max_length=1_000, description="Show only lines that match this regular expression."
    )


class JobOutputTool(JobTool[JobOutputParams]):
    name = "job_output"
    summary = "Show what a background job has printed."
    polls = True
    params = JobOutputParams
    effects = Effects.SESSION
    traits = ToolTraits(takes_pattern=False)
    group = Group.EXEC
    idempotent = True
    timeout_s = None
    output_schema = object_schema(
        retrieval_status=STRING,
        next_offset=INTEGER,
        task=object_schema(
            id=STRING, status=STRING, output=STRING, is_completed=BOOLEAN, exit_code=INTEGER_OR_NULL
        ),
    )

    @property
    def only_reads(self) -> bool:
        """True for all arguments."""
        return True

    def footprint(self, args: JobOutputParams) -> Footprint:
        """Return a footprint that reads one job."""
        return reading(f"job:{args.job}")

    async def run(self, args: JobOutputParams, ctx: ToolContext) -> Output:
        """Return the output since the last read, and whether the job has ended; raises `not_found`."""
        if (agents := self.agents_with(args.job)) is not None:
            return await _agent_output(agents, args, ctx)
        offsets = ctx.session.values.setdefault("job_offsets", {})
        offset = offsets.get(args.job, 0) if args.offset is None else args.offset
        wait_s = args.timeout_s if args.block else 0.0
        await self.own(args.job, ctx)
        chunk = await self._processes.output(args.job, offset, wait_s, _MAX_BYTES)
        over = chunk.job.state is not JobState.RUNNING
        if over and not chunk.data and args.offset is None:
            # Read again after its end: show the end of its output.
            offset = max(0, chunk.next_offset - _MAX_BYTES)
            chunk = await self._processes.output(args.job, offset, 0.0, _MAX_BYTES)
        offsets[args.job] = chunk.next_offset
        job, text = chunk.job, chunk.data.decode("utf-8", "replace")
        if args.filter is not None:
            text = matching_lines(text, args.filter, "filter")
        waited = "timeout" if args.block else "not_ready"
        status = "success" if over else waited
        lines = [f"[handrail: job {describe_job(job)}]"]
        if chunk.missing:
            lines.append(f"[handrail: {chunk.missing:,} bytes before this are no longer kept]")
        lines.append(text.removesuffix("\n") or "[handrail: nothing new was printed]")
        task = {
            "id": job.id,
            "status": job.state.value,
            "output": text,
            "is_completed": over,
            "exit_code": job.exit_code,
        }
        data = {"retrieval_status": status, "next_offset": chunk.next_offset, "task": task}
        return Output("\n".join(lines), data=data, meta={OUTPUT_OF: job.call_id, **job.to_meta()})


async def _agent_output(agents: Subagents, args: JobOutputParams, ctx: ToolContext) -> Output:
    """Return the answer and the report of a subagent."""
    wait_s = args.timeout_s if args.block else 0.0
    state = await agents.output(args.job, ctx.call, wait_s)
    text = describe_agent(state)
    if args.filter is not None:
        text = matching_lines(text, args.filter, "filter")
    waited = "timeout" if args.block else "not_ready"
    task = {
        "id": state.id,
        "status": state.status,
        "output": text,
        "is_completed": not state.running,
        "exit_code": None,
    }
    status = waited if state.running else "success"
    data = {"retrieval_status": status, "next_offset": 0, "task": task}
    return Output(text, data=data)
