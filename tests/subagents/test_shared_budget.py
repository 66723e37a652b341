"""Subagents spend the budget of the task that started them, and never more."""

import pytest
from tests.subagents.conftest import call, calls, main_agent

from handrail import Budget
from handrail.agent.budget import BudgetMeter
from handrail.core.ports.models import UsageReported
from handrail.core.problems import ProblemRaised


@pytest.mark.threat("A27")
async def test_calls_and_requests_of_subagents_count_for_the_whole_task(scripted):
    lines = [
        calls(*(("subagent", {"task": f"Look {n}"}) for n in range(3))),
        {"text": "end"},
    ]
    for _ in range(3):
        lines += [{"agent": "explore"}, *(call("grep", pattern="x") for _ in range(4))]
    async with scripted.open(*lines) as rt:
        result = await main_agent(rt, budget=Budget(calls=7)).run("Look")
        states = rt.agent_services.subagents.value.states()

    assert result.usage.calls == 7
    assert sum(one.usage.calls for one in states) == 4
    refused = [one.code for child in result.report.children for one in child.refused]
    # The first call beyond the limit ends a subagent; one of them may have had all four.
    assert set(refused) == {"budget_exceeded"}
    assert len(refused) in (2, 3)
    assert result.usage.requests == 2 + sum(one.usage.requests for one in states)


def test_requests_in_flight_are_reserved_against_the_budget_of_the_parent():
    parent = BudgetMeter(Budget(tokens=10_000), None, lambda: 0.0)
    one = BudgetMeter(Budget(), None, lambda: 0.0, parent)
    two = BudgetMeter(Budget(), None, lambda: 0.0, parent)

    assert one.allow_request(1_000, 5_000) == 5_000
    assert two.allow_request(1_000, 5_000) == 3_000
    with pytest.raises(ProblemRaised) as raised:
        parent.allow_request(100, 1_000)
    one.add_request(UsageReported(1_000, 500))
    assert parent.usage.tokens == 1_500
    assert parent.allow_request(100, 10_000) == 10_000 - 1_500 - 4_000 - 100
    assert raised.value.problem.code == "budget_exceeded"
