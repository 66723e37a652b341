"""A meter counts the usage of a task, and of the agents below it, against its budget."""

import pytest

from handrail.agent.budget import (
    MIN_OUTPUT_TOKENS,
    Budget,
    BudgetMeter,
    current_meter,
    request_cost,
)
from handrail.core.agent_results import Usage
from handrail.core.ports.agents import PricePerMillion
from handrail.core.ports.models import UsageReported
from handrail.core.problems import ProblemRaised

PRICE = PricePerMillion(input=1.0, output=2.0)


class Clock:
    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def meter(price=PRICE, *, clock=None, parent=None, **limits):
    return BudgetMeter(Budget(**limits), price, clock or Clock(), parent)


def exceeds(action, *arguments):
    with pytest.raises(ProblemRaised) as raised:
        action(*arguments)
    assert raised.value.problem.code == "budget_exceeded"
    return raised.value.problem.message


@pytest.mark.parametrize(
    ("price", "used", "cost"),
    [
        (PRICE, UsageReported(1_000_000, 1_000_000), 3.0),
        (PRICE, UsageReported(1_000_000, 0, cache_read=400_000, cache_write=100_000), 1.0),
        (
            PricePerMillion(1.0, 2.0, 0.1, 1.25),
            UsageReported(1_000_000, 0, 400_000, 100_000),
            0.665,
        ),
        (PricePerMillion(1.0, 2.0, 0.0, 0.0), UsageReported(500_000, 0, 500_000, 0), 0.0),
        (PRICE, UsageReported(0, 0, cache_read=1_000_000), 1.0),
    ],
)
def test_what_a_request_costs(price, used, cost):
    assert request_cost(price, used) == pytest.approx(cost)


def test_a_budget_of_money_needs_a_price_here_and_above():
    assert meter(None, tokens=10)
    for parent in (None, meter(usd=1.0)):
        with pytest.raises(ProblemRaised) as raised:
            meter(None, parent=parent, **({} if parent else {"usd": 1.0}))
        assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("tokens", "asked", "room"),
    [
        (None, 5_000, 5_000),
        (10_000, 5_000, 5_000),
        (4_000, 5_000, 3_900),
        (100 + MIN_OUTPUT_TOKENS, 5_000, MIN_OUTPUT_TOKENS),
        (105, 5, 5),
    ],
)
def test_an_answer_may_be_as_long_as_the_rest(tokens, asked, room):
    assert meter(tokens=tokens).allow_request(100, asked) == room


@pytest.mark.parametrize(("tokens", "asked"), [(99 + MIN_OUTPUT_TOKENS, 5_000), (104, 5), (0, 5)])
def test_a_request_that_does_not_fit_is_refused(tokens, asked):
    assert "tokens" in exceeds(meter(tokens=tokens).allow_request, 100, asked)


def test_a_request_in_flight_reserves_its_largest_cost():
    above = meter(tokens=10_000, usd=1.0)
    first, second = meter(parent=above), meter(parent=above)
    assert first.allow_request(1_000, 4_000) == 4_000
    assert first.reserved == (5_000, pytest.approx(0.009))

    assert second.allow_request(1_000, 9_000) == 4_000
    assert above.in_flight() == (10_000, pytest.approx(0.018))
    first.add_request(UsageReported(1_000, 10))
    assert first.reserved == (0, 0.0)
    assert above.in_flight()[0] == 5_000
    assert above.total.tokens == 1_010
    assert above.total.usd == pytest.approx(0.00102)
    second.end()
    assert above.in_flight() == (0, 0.0)


def test_money_limits_the_answer_too():
    assert meter(usd=0.01).allow_request(2_000, 90_000) == 4_000
    free = PricePerMillion(1.0, 0.0)
    assert meter(free, usd=0.01).allow_request(10_000, 500) == 500
    assert "usd" in exceeds(meter(free, usd=0.01).allow_request, 10_001, 500)


def test_steps_are_counted_here_and_above():
    above = meter(steps=3)
    below = meter(parent=above, steps=2)
    assert below.allow_step(1, 10) == 10
    below.allow_step(1, 10)
    assert "steps" in exceeds(below.allow_step, 1, 10)
    assert (above.steps, below.steps, below.own_steps, above.own_steps) == (2, 2, 2, 0)
    above.allow_step(1, 10)
    exceeds(above.allow_step, 1, 10)
    below.end()
    assert (below.steps, below.own_steps) == (2, 0)


def test_a_step_that_does_not_fit_is_not_counted():
    made = meter(tokens=10)
    exceeds(made.allow_step, 100, 100)

    assert (made.steps, made.own_steps) == (0, 0)


def test_an_answer_that_grows_too_long_is_stopped():
    made = meter(tokens=1_000)
    made.allow_request(100, 500)
    made.check_answer(100, 900)
    assert "tokens" in exceeds(made.check_answer, 100, 901)
    assert made.reserved[0] == 600


def test_calls_are_counted_until_none_is_left():
    above = meter(calls=3)
    below = meter(parent=above, calls=2)
    assert below.charge_call() is None
    assert below.charge_call() is None
    refused = below.charge_call()
    assert (refused.code, below.refused_call) == ("budget_exceeded", refused)
    assert (below.total.calls, above.total.calls) == (2, 2)
    below.return_call()
    assert (below.total.calls, above.total.calls) == (1, 1)
    assert below.charge_call() is None
    assert above.charge_call() is None
    assert above.charge_call() is not None


def test_time_is_the_shortest_of_all_limits():
    clock = Clock()
    above = meter(clock=clock, minutes=2)
    below = meter(clock=clock, parent=above, minutes=1)
    assert (meter().seconds_left, above.seconds_left, below.seconds_left) == (None, 120, 60)
    clock.now += 50
    assert below.seconds_left == 10
    below.allow_request(1, 10)
    clock.now += 20
    assert below.seconds_left == 0
    assert "minutes" in exceeds(below.allow_request, 1, 10)
    above.allow_request(1, 10)
    assert below.out_of_time().problem.code == "budget_exceeded"


@pytest.mark.parametrize(
    ("limits", "used", "kind"),
    [
        ({"tokens": 10}, UsageReported(5, 5), None),
        ({"tokens": 10}, UsageReported(5, 6), "tokens"),
        ({"usd": 3.0}, UsageReported(1_000_000, 1_000_000), None),
        ({"usd": 2.9}, UsageReported(1_000_000, 1_000_000), "usd"),
        ({}, UsageReported(10**9, 10**9), None),
    ],
)
def test_a_bill_beyond_the_limit_is_named(limits, used, kind):
    above = meter(**limits)
    below = meter(parent=above)
    below.add_request(used)

    assert below.overdrawn() == above.overdrawn() == kind


def test_a_warning_comes_once_at_80_per_cent():
    clock = Clock()
    made = meter(clock=clock, tokens=100, calls=5, steps=10, minutes=1, usd=1.0)
    made.add_request(UsageReported(79, 0))
    for _ in range(3):
        made.charge_call()
    clock.now += 47.9
    assert made.warnings() == []

    made.add_request(UsageReported(1, 0))
    made.charge_call()
    clock.now += 0.2
    warned = {kind: limit for kind, _, limit in made.warnings()}
    assert warned == {"tokens": 100.0, "minutes": 1.0, "calls": 5.0}
    assert made.warnings() == []


def test_what_was_spent_is_restored_in_another_process():
    clock = Clock()
    first = meter(clock=clock, tokens=1_000)
    first.allow_step(100, 200)
    first.add_request(UsageReported(100, 50))
    clock.now += 30
    first.allow_request(100, 200)
    spent = first.spent()
    assert spent["seconds"] == 30
    assert spent["in_flight"] == [300, pytest.approx(0.0005)]

    second = meter(clock=Clock(), tokens=1_000, minutes=1)
    second.restore(None)
    second.restore(spent)
    assert second.total.tokens == 150
    assert second.usage == Usage(usd=0.0)
    assert (second.steps, second.own_steps, second.seconds_left) == (1, 1, 30)
    # What was in flight may have been billed.
    assert second.allow_request(100, 900) == 1_000 - 150 - 300 - 100
    second.end()
    assert second.spent()["in_flight"] == [300, pytest.approx(0.0005)]


def test_changes_are_kept_here_and_above():
    kept = []
    above = meter()
    below = meter(parent=above)
    above.on_change = lambda: kept.append("above")
    below.on_change = lambda: kept.append("below")
    below.allow_step(1, 10)
    below.add_request(UsageReported(1, 1))

    assert kept == ["below", "above"] * 2


def test_a_meter_is_current_while_it_is_active():
    made = meter()
    before = current_meter.get()
    with made.active() as active:
        assert active is made is current_meter.get()
        made.allow_request(1, 10)
    assert current_meter.get() is before
    assert made.reserved == (0, 0.0)


def test_another_model_has_its_own_price():
    made = meter()
    made.add_request(UsageReported(1_000_000, 0), PricePerMillion(5.0, 5.0))

    assert made.total.usd == pytest.approx(5.0)
    unpriced = meter(None)
    unpriced.add_request(UsageReported(1, 1))
    assert unpriced.total.usd is None
