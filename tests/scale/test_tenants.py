"""Tenants of a fleet: their limits, what is reserved for a task, and whose turn it is."""

import pytest

from handrail.agent.budget import Budget
from handrail.core.problems import ProblemRaised
from handrail.scale.journal import WaitingTask
from handrail.scale.placement import WorkerPlacement
from handrail.scale.tenants import TenantLimits, TenantQueues, TenantState


def task(number, tenant="a"):
    return WaitingTask(number, f"t{number}", tenant, "", "{}", number, 0)


@pytest.mark.parametrize(
    ("text", "name", "limits"),
    [
        ("a:agents=4", "a", TenantLimits(agents=4)),
        ("a:agents=1, processes=2", "a", TenantLimits(agents=1, processes=2)),
        ("*:tokens=2m,usd=1.5", "*", TenantLimits(tokens=2_000_000, usd=1.5)),
    ],
)
def test_limits_are_read(text, name, limits):
    assert TenantLimits.parse(text) == (name, limits)


@pytest.mark.parametrize(
    "text",
    ["a", ":agents=1", "a:", "a:x=1", "a:agents", "a:agents=0", "a:agents=1,agents=2", "a:usd=x"],
)
def test_limits_that_cannot_be_read_are_a_problem(text):
    with pytest.raises(ProblemRaised) as raised:
        TenantLimits.parse(text)

    assert raised.value.problem.field == "tenant"


@pytest.mark.parametrize(
    ("limits", "running", "used", "may"),
    [
        (TenantLimits(), 99, (10**9, 1e9), True),
        (TenantLimits(agents=2), 1, (0, 0), True),
        (TenantLimits(agents=2), 2, (0, 0), False),
        (TenantLimits(tokens=10), 0, (9, 0), True),
        (TenantLimits(tokens=10), 0, (10, 0), False),
        (TenantLimits(tokens=10), 1, (4, 0), True),
        (TenantLimits(tokens=10), 1, (5, 0), False),
        (TenantLimits(usd=1.0), 0, (0, 0.5), True),
        (TenantLimits(usd=1.0), 0, (0, 1.0 - 1e-9), False),
        (TenantLimits(usd=1.0), 0, (0, 1.0 - 1e-6), True),
        (TenantLimits(tokens=10, usd=1.0), 0, (0, 2.0), False),
    ],
)
def test_whether_one_more_agent_may_start(limits, running, used, may):
    state = TenantState("a", limits, *used)
    state.running = {at: (Budget(tokens=5), at) for at in range(running)}

    assert state.may_start() is may


def test_what_is_left_is_neither_used_nor_reserved():
    state = TenantState("a", TenantLimits(tokens=100, usd=10.0), 10, 1.0)
    state.running = {1: (Budget(tokens=20, usd=2.0), 3), 2: (Budget(), 3), 4: (Budget(), 5)}

    assert state.left() == (70, 7.0)
    assert state.workers == {3, 5}
    assert TenantState("a", TenantLimits(), 5, 5.0).left() == (None, None)


@pytest.mark.parametrize(
    ("limits", "running", "asked", "agents", "tokens", "usd"),
    [
        (TenantLimits(), 0, Budget(steps=3), 4, None, None),
        (TenantLimits(tokens=100), 0, Budget(), 4, 25, None),
        (TenantLimits(tokens=100), 2, Budget(), 4, 50, None),
        (TenantLimits(tokens=100), 5, Budget(), 4, 100, None),
        (TenantLimits(tokens=100, agents=2), 0, Budget(), 4, 50, None),
        (TenantLimits(tokens=3), 0, Budget(), 4, 1, None),
        (TenantLimits(tokens=100), 0, Budget(tokens=60), 4, 60, None),
        (TenantLimits(tokens=100), 0, Budget(tokens=160), 4, 100, None),
        (TenantLimits(usd=8.0), 0, Budget(), 4, None, 2.0),
        (TenantLimits(usd=8.0), 0, Budget(usd=5.0), 4, None, 5.0),
        (TenantLimits(usd=8.0), 0, Budget(usd=50.0), 4, None, 8.0),
    ],
)
def test_a_task_gets_what_it_asks_for_or_its_share(limits, running, asked, agents, tokens, usd):
    state = TenantState("a", limits)
    state.running = {at: (Budget(), at) for at in range(running)}

    budget = state.reserve(asked, agents)

    assert (budget.tokens, budget.usd, budget.steps) == (tokens, usd, asked.steps)


def queues(limits=None, **waiting):
    """Queues that load from lists of numbers; what was asked for is in `asked`."""
    asked = []

    def load(name, after, limit):
        asked.append((name, after))
        return [task(one, name) for one in waiting.get(name, []) if one > after][:limit]

    made = TenantQueues(limits or {}, load)
    for name in waiting:
        made.add_tenant(name, (0, 0.0))
    made.asked = asked
    return made


def test_the_tenant_with_the_fewest_running_tasks_is_first():
    made = queues(a=[1], b=[2], c=[3])
    made.states["a"].running[9] = (Budget(), 0)
    made.states["b"].started = 2

    assert [one.name for one in made.in_turn()] == ["c", "b", "a"]
    made.states["b"].started = 0
    assert [one.name for one in made.in_turn()] == ["b", "c", "a"]


def test_tenants_have_their_own_limits_or_those_of_every_other():
    made = queues({"a": TenantLimits(agents=1), "*": TenantLimits(agents=2)}, a=[1], b=[2])

    assert made.states["a"].limits.agents == 1
    assert made.states["b"].limits.agents == 2
    assert queues(a=[1]).states["a"].limits == TenantLimits()


def test_tasks_are_loaded_when_the_queue_is_empty_and_only_once():
    made = queues(a=[3, 7], b=[])

    assert [one.name for one in made.in_turn()] == ["a"]
    assert made.states["a"].loaded == 7
    made.in_turn()
    assert made.asked == [("a", 0), ("b", 0)]
    made.states["a"].queue.clear()
    assert made.in_turn() == []
    assert made.asked[-1] == ("a", 7)
    assert made.in_turn() == []
    assert len(made.asked) == 3
    made.put_back(task(3))
    assert [one.number for one in made.in_turn()[0].queue] == [3]


def test_a_task_that_is_put_back_is_the_next_one():
    made = queues(a=[1, 2])
    made.in_turn()
    made.put_back(task(9))

    assert [one.number for one in made.states["a"].queue] == [9, 1, 2]


def test_a_tenant_at_its_limit_is_left_out():
    made = queues({"a": TenantLimits(agents=1)}, a=[1])
    made.states["a"].running[1] = (Budget(), 0)

    assert made.in_turn() == []
    made.states["a"].running.clear()
    assert [one.name for one in made.in_turn()] == ["a"]


def test_a_worker_of_the_same_tenant_is_preferred():
    placement = WorkerPlacement(2, 2)
    placement.add(0, 1, "", "a")
    assert placement.choose("", "b") == 1
    placement.add(1, 2, "", "b")

    assert placement.choose("", "a") == 0
    assert placement.choose("", "b") == 1
    assert placement.choose("", "a", only=[1]) == 1
    assert placement.choose("", "a", only=[]) is None
    assert not placement.is_full()
    placement.add(0, 3, "", "a")
    assert placement.choose("", "a") == 1
    placement.add(1, 4, "", "b")
    assert placement.is_full()
    assert placement.choose("", "a") is None
    placement.remove(4)
    placement.remove(4)
    assert not placement.is_full()
    assert placement.choose("", "a") == 1


def test_tasks_of_one_workspace_run_one_after_the_other_in_one_worker():
    placement = WorkerPlacement(3, 2)
    placement.add(2, 1, "/w", "a")

    assert placement.choose("/w", "a") is None
    assert placement.choose("/v", "b") == 0
    placement.remove(1)
    assert placement.choose("/w", "a") == 2
    placement.add(2, 3, "", "b")
    placement.add(2, 4, "", "b")
    assert placement.choose("/w", "a") == 0


def test_a_task_that_needs_a_worker_alone_has_one():
    placement = WorkerPlacement(2, 2)
    placement.add(0, 1, "", "a")

    assert placement.choose("", "a", alone=True) == 1
    placement.add(1, 2, "", "a", alone=True)
    assert placement.choose("", "b") == 0
    placement.add(0, 3, "", "a")
    assert placement.choose("", "b") is None
    placement.remove(2)
    assert placement.choose("", "b") == 1
    assert placement.choose("", "b", alone=True) == 1
