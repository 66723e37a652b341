"""Enter plan mode: from then on the model reads, and its changes are queued."""

from __future__ import annotations

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.ports.plan_mode import ENTER, PlanModeControl
from handrail.core.problems import ProblemRaised
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.tool_base import STRING, Builtin, object_schema

MODE_CHANGE = Footprint((Touch("session:mode", Access.WRITE),), alone=True)


class EnterPlanModeParams(Params):
    pass


class EnterPlanMode(Builtin[EnterPlanModeParams]):
    name = ENTER
    summary = "Only look from now on, and write a plan for the user."
    params = EnterPlanModeParams
    # Plan mode only adds restrictions.
    always_safe = True
    effects = Effects.SESSION
    traits = ToolTraits(hidden_by_default=True)
    group = Group.PLAN
    output_schema = object_schema(plan_file=STRING)

    def __init__(self, planning: PlanModeControl | None) -> None:
        self._planning = planning

    def footprint(self, args: EnterPlanModeParams) -> Footprint:
        """An exclusive footprint: earlier calls run in the old mode, later calls in the new one."""
        del args
        return MODE_CHANGE

    async def run(self, args: EnterPlanModeParams, ctx: ToolContext) -> Output:
        """Return where to write the plan, and the rules of plan mode."""
        del args, ctx
        if self._planning is None:
            raise ProblemRaised("unavailable", "there is no plan mode here")
        already_active = self._planning.active
        path = self._planning.enter()
        text = [
            "You were in plan mode already." if already_active else "You are in plan mode.",
            "Reading, searching and commands that only look work. Every other call is queued for "
            "the user and not executed.",
            f"Write your plan to {path} (the one file you can write now), then ask to leave plan "
            "mode: the user reads the plan and decides.",
        ]
        return Output("\n".join(text), data={"plan_file": path})
