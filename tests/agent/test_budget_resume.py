"""A task that goes on in another process goes on with the rest of its budget."""

import asyncio
import json
from contextlib import suppress

import pytest
from tests.agent.test_kills import Runs, step, warm_process
from tests.models.speaking import model_on
from tests.support.waiting import wait_until_async

import handrail
from handrail.agent.budget import BudgetMeter
from handrail.core.ports.agents import PricePerMillion
from handrail.core.ports.models import UsageReported
from handrail.core.problems import ProblemRaised
from handrail.testing import FakeProvider, ProviderFault, calls, says

PRICE = PricePerMillion(input=2.0, output=10.0)


def meter(parent=None, now=lambda: 0.0, **limits):
    return BudgetMeter(handrail.Budget(**limits), PRICE, now, parent)


def goes_on(earlier, **limits):
    """The meter of a process that goes on with the task of another one."""
    one = meter(**limits)
    one.restore(json.loads(json.dumps(earlier.spent())))
    return one


@pytest.mark.threat("A27")
@pytest.mark.parametrize(
    "limits", [{"tokens": 12_000}, {"usd": 0.06}, {"steps": 1}, {"calls": 1}], ids=str
)
def test_what_was_used_before_counts(limits):
    first = meter(**limits)
    first.allow_step(1_000, 4_000)
    assert first.charge_call() is None
    first.add_request(UsageReported(2_000, 5_000))

    second = goes_on(first, **limits)

    if "calls" in limits:
        assert second.charge_call() is not None
    else:
        with pytest.raises(ProblemRaised, match=next(iter(limits))):
            second.allow_step(5_000, 4_000)
    assert second.usage.requests == 0
    assert second.total.requests == 1


@pytest.mark.threat("A27")
def test_a_request_in_flight_when_the_process_ended_stays_reserved():
    first = meter(tokens=10_000)
    assert first.allow_step(1_000, 4_000) == 4_000

    second = goes_on(first, tokens=10_000)
    assert second.allow_step(1_000, 8_000) == 4_000
    third = goes_on(second, tokens=10_000)

    with pytest.raises(ProblemRaised, match="tokens"):
        third.allow_step(1_000, 8_000)


def test_the_time_of_earlier_processes_counts():
    first = meter(minutes=2)
    first.started = -90.0

    assert goes_on(first, minutes=2).seconds_left == 30.0


def test_what_a_subagent_uses_is_kept_for_the_task_above_it():
    kept = []
    parent = meter(tokens=10_000)
    parent.on_change = lambda: kept.append(parent.spent())
    child = meter(parent)

    child.allow_step(100, 400)
    child.add_request(UsageReported(100, 200))

    assert kept[-1]["usage"]["input_tokens"] == 100
    assert kept[-1]["usage"]["output_tokens"] == 200
    assert kept[-1]["steps"] == 1
    assert kept[-1]["own_steps"] == 0


@pytest.mark.threat("A27")
@pytest.mark.parametrize("limit", ["--budget=steps=4", "--max-steps=4"])
async def test_a_run_that_is_killed_again_and_again_sends_no_more_requests(tmp_path, limit):
    async with warm_process() as process:
        runs = Runs(process, tmp_path / "w")
        async with FakeProvider([step(number) for number in range(40)]) as provider:
            runs.configure("anthropic", provider)
            words, ends = ("--session", "s", "write the lines"), []
            # Each run comes a step or two farther before it is killed; the last one ends by itself.
            for passage in (130, 160, 190, 0):
                code, _, text = await runs.run(limit, *words, kill_at=passage)
                ends.append(code)
                if code != -9:
                    break
                if provider.requests:
                    words = ("--resume", "s")
            sent = len(provider.requests)

    assert ends[0] == -9
    assert ends[-1] == 4, text
    assert 1 < sent <= 4


@pytest.mark.threat("A03")
async def test_a_request_that_the_user_stops_is_charged_by_estimate(tmp_path):
    async with FakeProvider([ProviderFault("hang", after=0), says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, store=":memory:", model=model) as rt:
            agent = rt.agent(budget=handrail.Budget(steps=2))
            asked = asyncio.Event()

            def listen(event):
                if event.type == "model_request":
                    asked.set()

            work = asyncio.ensure_future(agent.run("work", on_event=listen))
            await asyncio.wait_for(asked.wait(), 20)
            await wait_until_async(lambda: provider.requests)
            work.cancel()
            with suppress(asyncio.CancelledError):
                await work
            kept = (await agent.load()).state["spent"]
            result = await agent.resume()

    assert kept["usage"]["requests"] == 1
    assert kept["usage"]["estimated"]
    assert kept["in_flight"] == [0, 0.0]
    assert result.status == "done"


async def test_a_task_that_has_used_up_its_budget_goes_on_with_a_larger_one(tmp_path):
    tmp_path.joinpath("a.txt").write_text("one\n")
    async with FakeProvider([calls("read_file", path="a.txt"), says("done")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, store=":memory:", model=model) as rt:
            one = handrail.Budget(steps=1)
            first = await rt.agent(budget=one, session="s").run("work")
            same = await rt.agent(budget=one, session="s").resume()
            sent = len(provider.requests)
            more = await rt.agent(budget=handrail.Budget(steps=2), session="s").resume()

    assert (first.status, same.status, sent) == ("budget", "budget", 1)
    assert more.status == "done"


async def test_a_new_task_has_the_whole_budget(tmp_path):
    async with FakeProvider([says("one"), says("two")]) as provider:
        model = model_on(provider, "anthropic")
        async with handrail.open(tmp_path, store=":memory:", model=model) as rt:
            agent = rt.agent(budget=handrail.Budget(steps=1))
            statuses = [(await agent.run("work")).status, (await agent.run("more")).status]

    assert statuses == ["done", "done"]
