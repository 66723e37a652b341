"""A process with subagents at work is killed: resuming brings each of them back, no effect happens twice."""

import json
import os
import signal
import subprocess
import sys

import pytest
from tests.subagents.conftest import call, calls
from tests.support.waiting import running, wait_exit, wait_until

import handrail

PROGRAM = """
import asyncio, pathlib, sys, handrail

async def main():
    root, script, session = sys.argv[1:]
    async with handrail.open(
        root, model=f"script:{script}", mode="accept-edits", session=session,
        config={"agents": {"at_once": 3}},
    ) as rt:
        agents = rt.agent_services.subagents.value
        task = asyncio.ensure_future(
            rt.agent(allowed=["write_file", "subagent"], session=session).run("Start")
        )
        while not task.done():
            # Those that are at work or wait for a place are in the store.
            stored = [one for one in agents._known.values() if one.work is not None]
            pathlib.Path(f"{script}.started").write_text(str(len(stored)))
            await asyncio.sleep(0.02)

asyncio.run(main())
"""


def append(name):
    """A message that appends a line to a file of that name."""
    return call("write_file", path=f"{name}.txt", content=f"{name}\n", mode="append")


@pytest.mark.feature("P06")
@pytest.mark.parametrize("session", ["kept", "another"])
async def test_killed_subagents_come_back_with_their_state(scripted, tmp_path, session):
    """The runtime that resumes the conversation may have another session than the one before."""
    first = [
        append("main"),
        call("subagent", task="Early", agent="explore"),
        calls(
            ("subagent", {"task": "One", "agent": "general", "description": "a"}),
            ("subagent", {"task": "Two", "agent": "general", "description": "b"}),
            ("subagent", {"task": "Three", "agent": "general", "background": True}),
        ),
        {"agent": "explore"},
        {"text": "seen"},
    ]
    for name in ("a", "b", "c"):
        first += [{"agent": "general", "as": name}, append(name), {"fault": "hang"}, {"text": "x"}]
    script = tmp_path / "first.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in first))
    words = [sys.executable, "-c", PROGRAM, str(scripted.root), str(script), "kept"]
    with running(subprocess.Popen(words, env=os.environ)) as process:
        wait_until(lambda: {"a.txt", "b.txt", "c.txt"} < scripted.names())
        process.send_signal(signal.SIGKILL)
        wait_exit(process)

    second = [{"text": "all done"}]
    for name in ("a", "b", "c"):
        second += [{"agent": "general"}, {"text": f"again {name}"}]
    async with handrail.open(
        scripted.root, model=scripted.script(*second), mode="accept-edits", session=session
    ) as rt:
        result = await rt.agent(allowed=["write_file", "subagent"], session="kept").resume()
        agents = rt.agent_services.subagents.value
        for state in agents.states():
            await agents.result(state.id)
        states = agents.states()

    assert result.status == "done", str(result.problem)
    assert scripted.files() == {f"{name}.txt": f"{name}\n" for name in ("a", "b", "c", "main")}
    assert [one.status for one in states] == ["done"] * 4
    early, *others = states
    assert sorted(one.report.changes for one in others) == [("a.txt",), ("b.txt",), ("c.txt",)]
    assert [one.text.startswith("again") for one in others] == [True] * 3
    # The report covers what was done before the kill.
    assert {"main.txt", "a.txt", "b.txt"} <= set(result.report.changes)
    assert result.report.children[0].agent == early.id
    assert (result.report.children[0].status, early.text) == ("done", "seen")
    assert len({one.agent for one in result.report.children}) == len(result.report.children)


@pytest.mark.feature("P06")
async def test_an_agent_that_waited_for_its_first_step_starts_after_a_kill(scripted, tmp_path):
    asked = [{"task": f"Do {name}", "agent": "general", "description": name} for name in "abc"]
    waiting = {"task": "Look", "context": "The colour is blue."}
    first = [calls(*(("subagent", one) for one in asked), ("subagent", waiting))]
    for name in "abc":
        first += [{"agent": "general", "as": name}, append(name), {"fault": "hang"}, {"text": "x"}]
    script = tmp_path / "first.jsonl"
    script.write_text("\n".join(json.dumps(line) for line in first))
    words = [sys.executable, "-c", PROGRAM, str(scripted.root), str(script), "kept"]
    with running(subprocess.Popen(words, env=os.environ)) as process:
        wait_until(lambda: scripted.names() == {"a.txt", "b.txt", "c.txt"})
        wait_until(lambda: (tmp_path / "first.jsonl.started").read_text() == "4")
        process.send_signal(signal.SIGKILL)
        wait_exit(process)

    second = [{"text": "all done"}, {"agent": "explore"}, {"text": "seen"}]
    for _ in "abc":
        second += [{"agent": "general"}, {"text": "again"}]
    events = []
    async with handrail.open(
        scripted.root, model=scripted.script(*second), mode="accept-edits", session="kept"
    ) as rt:
        rt.subscribe(events.append)
        result = await rt.agent(allowed=["write_file", "subagent"], session="kept").resume()
        states = {one.agent: one for one in rt.agent_services.subagents.value.states()}

    started = [one.task for one in events if one.type == "agent_start"]
    assert result.status == "done", str(result.problem)
    assert (states["explore"].status, states["explore"].text) == ("done", "seen")
    assert any("The colour is blue." in task for task in started)
    assert scripted.files() == {f"{name}.txt": f"{name}\n" for name in "abc"}
