"""Ask the user to approve the plan, and leave plan mode."""

from __future__ import annotations

from pydantic import ConfigDict, Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint
from handrail.core.ports.plan_mode import LEAVE, PlanModeControl, PlannedPermission
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk
from handrail.tools._lib.tool_base import INTEGER, STRING, Builtin, object_schema
from handrail.tools.session.enter_plan_mode import MODE_CHANGE


class AllowedPrompt(Params):
    tool: str = Field(max_length=200, description="A tool that the plan needs.")
    prompt: str = Field(max_length=500, description='What for, such as "run the tests".')


class ExitPlanModeParams(Params):
    # Clients add further fields, such as where a plan is sent; they have no effect.
    model_config = ConfigDict(extra="allow")

    allowed_prompts: list[AllowedPrompt] = Field(
        default=[],
        max_length=50,
        description="What carrying out the plan will need; it is shown when the user is asked.",
    )
    plan: str = Field(
        "", max_length=200_000, description="The plan, from callers that write no plan file."
    )


class ExitPlanMode(Builtin[ExitPlanModeParams]):
    name = LEAVE
    summary = "Ask the user to agree to the plan, and leave plan mode if they do."
    params = ExitPlanModeParams
    effects = Effects.SESSION
    leads_to_calls = True
    traits = ToolTraits(hidden_by_default=True)
    group = Group.PLAN
    output_schema = object_schema(mode=STRING, plan=STRING, waiting=INTEGER)

    def __init__(self, planning: PlanModeControl | None) -> None:
        self._planning = planning

    def footprint(self, args: ExitPlanModeParams) -> Footprint:
        """An exclusive footprint: earlier calls run in the old mode, later calls in the new one."""
        del args
        return MODE_CHANGE

    def risk(self, args: ExitPlanModeParams) -> Risk:
        """Return the risk of leaving plan mode: more is allowed afterwards."""
        del args
        return Risk.MODERATE

    def render_call(self, args: ExitPlanModeParams) -> str:
        del args
        return "leave plan mode and carry out the plan"

    def preview(self, args: ExitPlanModeParams) -> str:
        """Return the plan, labelled as text of the model."""
        return self._mode.show(_announced(args), args.plan)

    async def preflight(self, args: ExitPlanModeParams, ctx: ToolContext) -> None:
        """Raise a problem if plan mode is off or there is no plan, before the user is asked."""
        del ctx
        self._mode.check(args.plan)

    async def run(self, args: ExitPlanModeParams, ctx: ToolContext) -> Output:
        """Leave plan mode; the user has approved."""
        del ctx
        exit_ = self._mode.leave(_announced(args), args.plan)
        text = [f"The user agreed to the plan. The mode is {exit_.mode} now; carry the plan out."]
        if exit_.waiting:
            text.append(
                f"Queued calls that wait for the user: {exit_.waiting}. Do not make them again."
            )
        return Output("\n".join(text), data=exit_._asdict())

    @property
    def _mode(self) -> PlanModeControl:
        if self._planning is None:
            raise ProblemRaised("unavailable", "there is no plan mode here")
        return self._planning


def _announced(args: ExitPlanModeParams) -> list[PlannedPermission]:
    return [PlannedPermission(prompt.tool, prompt.prompt) for prompt in args.allowed_prompts]
