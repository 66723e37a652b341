"""The tool that goes into plan mode, on its own; the stories are in tests/spec/test_plan_mode.py."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Risk
from handrail.tools.session.enter_plan_mode import EnterPlanMode, EnterPlanModeParams


class Planning:
    active = False

    def enter(self):
        self.active = True
        return "/state/plan.md"


@pytest.mark.feature("E48")
async def test_it_says_where_the_plan_goes_and_that_it_was_on_already():
    tool = EnterPlanMode(Planning())

    first = await tool.run(EnterPlanModeParams(), None)
    again = await tool.run(EnterPlanModeParams(), None)

    assert first.data == again.data == {"plan_file": "/state/plan.md"}
    assert "/state/plan.md" in first.text
    assert "already" not in first.text
    assert "already" in again.text


def test_it_is_harmless_and_runs_alone():
    tool, args = EnterPlanMode(Planning()), EnterPlanModeParams()

    assert tool.risk(args) is Risk.SAFE
    assert tool.footprint(args).alone
    assert not tool.only_reads


async def test_without_a_plan_mode_it_says_so():
    with pytest.raises(ProblemRaised) as caught:
        await EnterPlanMode(None).run(EnterPlanModeParams(), None)

    assert caught.value.problem.code == "unavailable"
