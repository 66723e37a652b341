"""The tool that asks to leave plan mode, on its own; stories in tests/spec/test_plan_mode.py."""

import pytest
from pydantic import ValidationError

from handrail.core.ports.plan_mode import PlanModeExit, PlannedPermission
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.tools.session.exit_plan_mode import ExitPlanMode, ExitPlanModeParams


class Planning:
    def __init__(self, waiting=0):
        self.waiting = waiting
        self.heard = []

    def check(self, given=""):
        self.heard.append("check")

    def show(self, announced, given=""):
        self.heard.append(announced)
        return "the plan"

    def leave(self, announced, given=""):
        self.heard.append(announced)
        return PlanModeExit("default", "do it", self.waiting)


PROMPTS = [{"tool": "Bash", "prompt": "run the tests"}]


@pytest.mark.feature("E49")
async def test_it_shows_the_plan_with_what_it_will_need_and_hands_that_on():
    planning = Planning(waiting=2)
    tool = ExitPlanMode(planning)
    args = ExitPlanModeParams.model_validate({"allowed_prompts": PROMPTS})

    await tool.preflight(args, None)
    shown = tool.preview(args)
    left = await tool.run(args, None)

    announced = [PlannedPermission("Bash", "run the tests")]
    assert planning.heard == ["check", announced, announced]
    assert shown == "the plan"
    assert left.data == {"mode": "default", "plan": "do it", "waiting": 2}
    assert "wait for the user: 2." in left.text


@pytest.mark.parametrize("extra", [{"tool": "Bash", "prompt": "x", "y": 1}, {"tool": "Bash"}])
def test_prompts_have_exactly_two_fields(extra):
    with pytest.raises(ValidationError):
        ExitPlanModeParams.model_validate({"allowed_prompts": [extra]})


def test_it_is_asked_about_and_runs_alone():
    tool, args = ExitPlanMode(Planning()), ExitPlanModeParams()

    assert tool.risk(args) is Risk.MODERATE
    assert tool.footprint(args).alone


async def test_without_a_plan_mode_it_says_so():
    with pytest.raises(ProblemRaised) as caught:
        await ExitPlanMode(None).preflight(ExitPlanModeParams(), None)

    assert caught.value.problem.code == "unavailable"
