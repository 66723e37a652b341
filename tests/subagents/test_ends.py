"""How subagents end: by a defect, and with what they have started."""

import asyncio
import json

import anyio
import pytest
from tests.subagents.conftest import call, calls, main_agent
from tests.support.waiting import wait_until_async

from handrail.agent.agent import Agent
from handrail.core.ports.processes import JobState
from handrail.subagents.places import WorkingPlace


@pytest.mark.parametrize("background", [True, False])
async def test_an_agent_that_fails_by_a_defect_has_ended_and_says_so(
    scripted, monkeypatch, background
):
    async def fail(self, *arguments, **options):
        raise OSError("secret")

    async with scripted.open({"text": "x"}, {"agent": "general"}, {"text": "never"}) as rt:
        agents = rt.agent_services.subagents.value
        monkeypatch.setattr(Agent, "run", fail)
        asked = {"task": "Go", "agent": "general", "background": background}
        started = await rt.call("subagent", asked)
        (state,) = agents.states()
        ended = await rt.call("job_output", {"job": state.id, "timeout_s": 10})
        (state,) = agents.states()
        agents._known[state.id].work.exception()

    assert started.ok is background
    assert (state.status, state.problem.code) == ("failed", "internal")
    assert "OSError" in state.problem.message
    assert "secret" not in ended.text
    assert "failed" in ended.text


@pytest.mark.threat("A29")
async def test_a_killed_agent_takes_the_jobs_of_its_unfinished_step_with_it(scripted):
    lines = [
        {"text": "x"},
        {"agent": "general"},
        calls(
            ("run_command", {"command": "sleep 177", "background": True}),
            ("subagent", {"task": "Wait"}),
        ),
        {"agent": "explore"},
        {"fault": "hang"},
        {"text": "never"},
    ]
    async with scripted.open(*lines, mode="bypass") as rt:
        other = await rt.call("run_command", {"command": "sleep 178", "background": True})
        asked = {"task": "Go", "agent": "general", "background": True}
        started = await rt.call("subagent", asked)
        agents = rt.agent_services.subagents.value
        await wait_until_async(lambda: len(agents.states()) == 2)
        with anyio.fail_after(20):
            while len(await rt.jobs.list()) < 2:
                await anyio.sleep(0.02)
        before = [job.state for job in await rt.jobs.list()]
        ended = await rt.call("job_kill", {"job": started.data["agent_id"]})
        after = [job.state for job in await rt.jobs.list()]
        await rt.jobs.kill(other.data["job"])

    assert ended.ok
    assert before == [JobState.RUNNING, JobState.RUNNING]
    assert after == [JobState.RUNNING, JobState.KILLED]


async def test_killing_an_agent_does_not_wait_for_a_place_that_another_has(scripted, monkeypatch):
    lines = [
        {"text": "x"},
        {"agent": "general"},
        call("subagent", task="Deep"),
        {"text": "end"},
        {"agent": "explore"},
        {"text": "never"},
        {"agent": "review"},
        {"fault": "hang"},
        {"text": "never"},
    ]
    async with scripted.open(*lines, mode="bypass") as rt:
        agents = rt.agent_services.subagents.value
        monkeypatch.setattr(agents, "_places", asyncio.Semaphore(1))
        asked = {"task": "Go", "agent": "general", "background": True}
        started = await rt.call("subagent", asked)
        await rt.call("subagent", {"task": "Other", "agent": "review", "background": True})
        await wait_until_async(lambda: len(agents.states()) == 3)
        with anyio.fail_after(15):
            ended = await rt.call("job_kill", {"job": started.data["agent_id"]})
        running = [one.agent for one in agents.states() if agents._known[one.id].running]

    assert ended.ok
    assert running == ["review"]


async def test_parallel_waits_lend_a_place_once():
    free = asyncio.Semaphore(2)
    place, both, seen = WorkingPlace(free), asyncio.Event(), []

    async def wait(until):
        async with place.lent():
            await until.wait()

    async with place.occupied():
        first = asyncio.Event()
        waits = [asyncio.ensure_future(wait(first)), asyncio.ensure_future(wait(both))]
        await asyncio.sleep(0)
        seen.append(free._value)
        first.set()
        await waits[0]
        seen.append(free._value)
        both.set()
        await waits[1]
        seen.append(free._value)

    assert seen == [2, 2, 1]
    assert free._value == 2


async def test_a_cancelled_wait_does_not_take_the_place_back():
    free = asyncio.Semaphore(1)
    place = WorkingPlace(free)

    async def wait():
        async with place.lent():
            await asyncio.Event().wait()

    async with place.occupied():
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        # Another works in the place that is lent.
        async with WorkingPlace(free).occupied():
            waiting.cancel()
            await asyncio.wait([waiting], timeout=5)

    assert waiting.cancelled()
    assert free._value == 1


async def test_an_agent_whose_wait_was_cancelled_works_only_in_a_place_of_its_own():
    free = asyncio.Semaphore(1)
    place, order = WorkingPlace(free), []

    async def wait():
        async with place.lent():
            await asyncio.Event().wait()

    async def go_on():
        await place.regain()
        order.append("goes on")

    async with place.occupied():
        waiting = asyncio.ensure_future(wait())
        await asyncio.sleep(0)
        async with WorkingPlace(free).occupied():
            waiting.cancel()
            await asyncio.wait([waiting], timeout=5)
            going = asyncio.ensure_future(go_on())
            await asyncio.sleep(0)
            order.append("the other ends")
        await asyncio.wait_for(going, 5)
        inside = free._value

    assert order == ["the other ends", "goes on"]
    assert (inside, free._value) == (0, 1)


async def test_no_more_agents_work_than_may_after_a_cancelled_wait(scripted):
    lines = [
        call("subagent", task="One", agent="general"),
        {"text": "end"},
        {"agent": "general"},
        call("subagent", task="Look"),
        {"text": "went on"},
        {"agent": "explore"},
        {"fault": "hang"},
        {"agent": "review"},
        {"text": "slow", "delay_s": 0.5},
    ]
    ended, began = [], asyncio.Event()

    def listen(event):
        if event.type == "agent_end":
            ended.append(event.agent.partition("-")[0])
        if event.type == "agent_start" and event.agent_type == "explore":
            began.set()

    config = {"agents": {"at_once": 1}}
    async with scripted.open(*lines, config=config) as rt:
        rt.subscribe(listen)
        task = asyncio.ensure_future(main_agent(rt).run("Go"))
        await asyncio.wait_for(began.wait(), 20)
        agents = rt.agent_services.subagents.value
        other = asyncio.ensure_future(rt.call("subagent", {"task": "Two", "agent": "review"}))
        await wait_until_async(lambda: agents._places._waiters)
        (looking,) = [one for one in agents.states() if one.agent == "explore"]
        # The agent that waits is not ended: its call is.
        assert await rt.cancel(looking.call_id)
        result = await asyncio.wait_for(task, 30)
        await asyncio.wait_for(other, 30)

    assert result.status == "done", str(result.problem)
    assert ended == ["review", "general", "main"]


async def test_an_agent_that_is_cancelled_again_while_it_ends_is_kept_as_ended(scripted):
    """Or else a resumed task would go on with it."""
    lines = [
        call("subagent", task="Work", agent="general", background=True),
        {"text": "started"},
        {"agent": "general"},
        call("write_file", path="a.txt", content="x"),
        call("subagent", task="Look", agent="explore"),
        {"agent": "explore"},
        {"fault": "hang"},
    ]
    async with scripted.open(*lines) as rt:
        await main_agent(rt).run("Go")
        agents = rt.agent_services.subagents.value
        with anyio.fail_after(30):
            while len(agents.states()) < 2:
                await anyio.sleep(0.02)
        general = next(one for one in agents._known.values() if one.background)
        with anyio.fail_after(30):
            while not general.work.done():
                general.work.cancel()
                await asyncio.sleep(0)
        kept = await rt.store.load_state(rt.session.id)
        report = (await agents.current(general.id)).report

    stored = [json.loads(value) for key, value in kept.items() if key.startswith("agent:")]
    assert [one["status"] for one in stored] == ["aborted", "aborted"]
    assert report.changes == ("a.txt",)
    assert report.children[0].status == "aborted"
