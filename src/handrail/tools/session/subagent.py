"""Let another agent work on a part of the task."""

from __future__ import annotations

from hashlib import sha256

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, writing
from handrail.core.lazy import Lazy
from handrail.core.ports.subagents import DEFAULT_TYPE, SubagentRequest, Subagents
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.agent_text import describe_agent
from handrail.tools._lib.tool_base import INTEGER, STRING, Builtin, object_schema

_KEY_CHARS = 16


class SubagentParams(Params):
    task: str = Field(
        min_length=1, max_length=100_000, description="What to do. The agent knows nothing else."
    )
    agent: str = Field(
        DEFAULT_TYPE,
        max_length=64,
        description="explore, review and plan only read; test runs the tests; general may change "
        "files; shell runs commands; or one of the user's.",
    )
    context: str | None = Field(None, max_length=100_000, description="What it should know.")
    description: str | None = Field(None, max_length=200, description="The task in a few words.")
    model: str | None = Field(None, max_length=200, description="One of the user's models.")
    resume: str | None = Field(None, max_length=100, description="Id of an agent to go on with.")
    background: bool = Field(False, description="Return at once; read its output by its id.")
    max_steps: int | None = Field(None, ge=1, le=1_000, description="Most model responses.")
    tools: list[str] | None = Field(None, max_length=100, description="Only these of its tools.")
    refuse_similar: bool = Field(False, description="Also refuse a task like an earlier one.")


class SubagentTool(Builtin[SubagentParams]):
    name = "subagent"
    summary = "Let another agent do a part of the task."
    params = SubagentParams
    # Every call of the agent is cleared separately.
    always_safe = True
    effects = Effects.SESSION
    leads_to_calls = True
    traits = ToolTraits(hidden_by_default=True, takes_pattern=False)
    group = Group.SUBTASK
    # The service limits how long a call waits.
    timeout_s = None
    output_schema = object_schema(
        agent_id=STRING,
        agent=STRING,
        status=STRING,
        chain={"type": "array", "items": STRING},
        depth=INTEGER,
        report={"type": "object"},
        usage={"type": "object"},
    )

    def __init__(self, subagents: Lazy[Subagents] | None) -> None:
        self._subagents = subagents

    @property
    def sensitive(self) -> bool:
        """False: starting an agent needs no approval; its calls may."""
        return False

    def enabled(self, session: Session) -> bool:
        del session
        return self._subagents is not None

    def footprint(self, args: SubagentParams) -> Footprint:
        """Return a footprint of one agent; calls with the same task wait for each other."""
        identity = f"{args.agent}\n{args.task}\n{args.context}"
        key = args.resume or sha256(identity.encode("utf-8", "replace")).hexdigest()[:_KEY_CHARS]
        return writing(f"agent:{key}")

    async def run(self, args: SubagentParams, ctx: ToolContext) -> Output:
        """Return the agent's answer and the report of its work; see `Subagents.run`."""
        if self._subagents is None:
            raise ProblemRaised("unavailable", "agents cannot be started here")
        request = SubagentRequest(
            args.task,
            args.agent,
            args.context,
            args.description,
            args.model,
            args.resume,
            args.background,
            args.max_steps,
            None if args.tools is None else tuple(args.tools),
            args.refuse_similar,
        )
        state = await self._subagents.value.run(request, ctx.call)
        if args.background and state.running:
            text = f"Background agent started: {state.id}"
        else:
            text = describe_agent(state)
        return Output(text, data=state.to_dict(), problem=state.problem)
