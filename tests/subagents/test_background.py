"""Subagents in the background: their ids, their ends, waits and cancellation."""

import asyncio

import anyio
import pytest
from tests.subagents.conftest import call, calls, main_agent
from tests.support.waiting import wait_until_async


@pytest.mark.feature("P05", "P13", "E53")
async def test_a_background_agent_is_announced_when_it_has_ended_and_read_by_its_id(scripted):
    lines = [
        call("subagent", task="Look", background=True),
        {"expect": r"^Background agent started: explore-[0-9a-f]{8}$"},
        # Time for the subagent to end.
        {"calls": [{"name": "grep", "arguments": {"pattern": "x"}}], "delay_s": 0.3},
        {"text": "done"},
        {"agent": "explore"},
        {"text": "found"},
    ]
    async with scripted.open(*lines) as rt:
        agent = main_agent(rt)
        result = await agent.run("Look")
        (state,) = rt.agent_services.subagents.value.states()
        told = [one.text for one in agent.messages if one.role == "user"]
        again = await rt.call("TaskOutput", {"task_id": state.id}, agent="main")

    assert result.status == "done"
    assert len(told) == 2
    assert told[1].startswith("[handrail:")
    assert state.id in told[1]
    assert "found" not in told[1]
    # Only the conversation that started an agent may use it.
    assert again.problem.code == "denied"
    assert [one.answer for one in result.report.children] == ["found"]


async def test_job_output_waits_for_an_agent_and_shows_its_answer(scripted):
    lines = [{"text": "x"}, {"agent": "explore"}, {"text": "found", "delay_s": 0.2}]
    async with scripted.open(*lines) as rt:
        started = await rt.call("subagent", {"task": "Look", "background": True})
        id = started.data["agent_id"]
        early = await rt.call("job_output", {"job": id, "block": False})
        late = await rt.call("job_output", {"job": id, "timeout_s": 10})
        missing = await rt.call("job_output", {"job": "explore-00000000"})

    assert (early.data["retrieval_status"], early.data["task"]["status"]) == (
        "not_ready",
        "running",
    )
    assert (late.data["retrieval_status"], late.data["task"]["is_completed"]) == ("success", True)
    assert "> found" in late.text
    assert missing.problem.code in ("not_found", "unavailable")


async def test_job_kill_ends_an_agent_and_all_below_it(scripted):
    lines = [
        {"text": "x"},
        {"agent": "general"},
        call("write_file", path="a.txt", content="x\n"),
        calls(
            ("subagent", {"task": "Wait", "background": True}),
            ("subagent", {"task": "Wait too", "agent": "review"}),
        ),
        {"agent": "explore"},
        {"fault": "hang"},
        {"text": "never"},
        {"agent": "review"},
        {"fault": "hang"},
        {"text": "never"},
    ]
    async with scripted.open(*lines) as rt:
        asked = {"task": "Start", "agent": "general", "background": True}
        started = await rt.call("subagent", asked)
        agents = rt.agent_services.subagents.value
        await wait_until_async(lambda: len(agents.states()) == 3)
        ended = await rt.call("job_kill", {"job": started.data["agent_id"]})
        states = agents.states()
        twice = await rt.call("job_kill", {"job": started.data["agent_id"]})

    assert ended.ok
    assert [one.status for one in states] == ["aborted"] * 3
    assert [one.depth for one in states] == [1, 2, 2]
    assert states[0].report.changes == ("a.txt",)
    assert twice.problem.code == "conflict"


async def test_a_cancelled_task_ends_its_subagents(scripted):
    lines = [
        call("subagent", task="Wait"),
        {"agent": "explore"},
        {"fault": "hang"},
        {"text": "never"},
    ]
    async with scripted.open(*lines) as rt:
        work = asyncio.ensure_future(main_agent(rt).run("Wait"))
        agents = rt.agent_services.subagents
        await wait_until_async(lambda: agents.built is not None and agents.value.states())
        work.cancel()
        await asyncio.wait([work])
        (state,) = agents.value.states()

    assert work.cancelled()
    assert state.status == "aborted"


async def test_a_subagent_that_is_cancelled_before_it_starts_does_not_run(scripted):
    async with scripted.open({"text": "x"}, {"agent": "explore"}, {"text": "never"}) as rt:
        agents = rt.agent_services.subagents.value
        work = asyncio.ensure_future(rt.call("subagent", {"task": "Wait"}))
        # It is known before its record is on disk.
        with anyio.fail_after(10):
            while not agents.states():
                await anyio.sleep(0)
        work.cancel()
        await asyncio.wait([work])
        (state,) = agents.states()

    assert state.status == "aborted"


async def test_a_runtime_that_is_closed_ends_its_subagents(scripted):
    lines = [{"text": "x"}, {"agent": "explore"}, {"fault": "hang"}, {"text": "never"}]
    async with scripted.open(*lines) as rt:
        await rt.call("subagent", {"task": "Wait", "background": True})
        agents = rt.agent_services.subagents.value

    assert [one.status for one in agents.states()] == ["aborted"]


@pytest.mark.feature("P08", "R-09")
async def test_a_wait_is_bounded_and_leaves_the_agent_running(scripted, monkeypatch):
    lines = [{"text": "x"}, {"agent": "explore"}, {"text": "late", "delay_s": 0.4}]
    async with scripted.open(*lines) as rt:
        agents = rt.agent_services.subagents.value
        monkeypatch.setattr(agents, "_limits", type(agents._limits)(wait_s=0.05))
        first = await rt.call("subagent", {"task": "Slow"})
        second = await rt.call("job_output", {"job": first.data["agent_id"], "timeout_s": 10})

    assert (first.ok, first.data["status"]) == (True, "running")
    assert "> late" in second.text


@pytest.mark.feature("P06")
async def test_an_agent_goes_on_with_its_conversation(scripted):
    lines = [
        {"text": "x"},
        {"agent": "explore"},
        {"text": "first"},
        {"agent": "explore"},
        {"text": "second"},
    ]
    async with scripted.open(*lines) as rt:
        first = await rt.call("subagent", {"task": "One"})
        id = first.data["agent_id"]
        second = await rt.call("subagent", {"task": "Two", "resume": id})
        unknown = await rt.call("subagent", {"task": "Two", "resume": "explore-0"})
        (state,) = rt.agent_services.subagents.value.states()

    assert second.data["agent_id"] == id
    assert "> second" in second.text
    assert state.usage.requests == 2
    assert unknown.problem.code == "not_found"


async def test_no_more_agents_work_at_once_than_the_limit_and_all_end(scripted):
    working, most = set(), []

    def watch(event):
        if event.type == "agent_start" and event.depth:
            working.add(event.agent)
            most.append(len(working))
        if event.type == "agent_end":
            working.discard(event.agent)

    lines = [
        calls(*(("subagent", {"task": f"Task {n}", "agent": "general"}) for n in range(8))),
        {"text": "end"},
    ]
    for _ in range(8):
        lines += [{"agent": "general"}, call("subagent", task="Deeper"), {"text": "up"}]
        lines += [{"agent": "explore"}, {"text": "down", "delay_s": 0.02}]
    async with scripted.open(*lines) as rt:
        rt.subscribe(watch)
        result = await main_agent(rt).run("All")

    assert result.status == "done"
    assert len(result.report.children) == 8
    assert all(one.children[0].answer == "down" for one in result.report.children)
    # Six at work, and eight that wait for one of them.
    assert max(most) <= 14


@pytest.mark.threat("A22")
@pytest.mark.feature("P05")
async def test_a_rewind_ends_the_subagents_of_the_cut_turns(scripted):
    lines = [
        call("subagent", task="Keep on", agent="review", background=True),
        {"text": "first"},
        call("subagent", task="Write", agent="general", background=True),
        {"text": "second"},
        {"agent": "review"},
        {"fault": "hang"},
        {"agent": "general"},
        call("write_file", path="new.txt", content="x"),
        call("subagent", task="Look"),
        {"agent": "explore"},
        {"fault": "hang"},
    ]
    async with scripted.open(*lines) as rt:
        agent, agents = main_agent(rt), rt.agent_services.subagents.value
        await agent.run("Start one")
        kept = agent.turn
        await agent.run("Start another")
        with anyio.fail_after(20):
            while len(agents.states()) < 3 or not (scripted.root / "new.txt").exists():
                await anyio.sleep(0.02)
        await agent.rewind(kept)
        states = {one.agent: one.status for one in agents.states()}
        at_work = {one.agent for one in agents.states() if agents._known[one.id].running}
        told = await agents.announcements("main", agent.session, set())
        files = scripted.files()

    assert states == {"review": "running", "general": "aborted", "explore": "aborted"}
    assert at_work == {"review"}
    assert files == {}
    # The conversation that they belonged to is gone.
    assert told == []


@pytest.mark.threat("A29")
async def test_a_hook_in_the_background_ends_with_the_subagent_it_runs_for(scripted):
    """The hook of the main agent's call goes on; that of the subagent's call is ended."""
    slow = {"name": "slow", "command": "sleep 60", "async": True, "matcher": "read_file"}
    scripted.write("a.txt", "a")
    lines = [
        call("read_file", path="a.txt"),
        call("subagent", task="Read"),
        {"text": "end"},
        {"agent": "explore"},
        call("read_file", path="a.txt"),
        {"text": "read"},
    ]
    config = {"hooks": {"post_tool_use": [slow]}}
    async with scripted.open(*lines, config=config) as rt:
        result = await main_agent(rt).run("Go")
        left = [one for one in asyncio.all_tasks() if one.get_name() == "slow"]

    assert result.status == "done", str(result.problem)
    assert len(left) == 1
