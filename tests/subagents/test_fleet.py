"""Many agents in several processes on one tree: nothing is lost, and no limit is passed."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.agent_fleet import SHARED, STEPS, kind_of, line_of
from tests.support.waiting import running, wait_exit, wait_until

import handrail

PROGRAM = Path(__file__).parents[1] / "support" / "agent_fleet.py"


class Fleet:
    """Processes with agents on the tree at `root`."""

    def __init__(self, root, processes, agents, *, cancelled=0.0, limits=None):
        self.root, self.processes, self.agents = root, processes, agents
        self.cancelled = cancelled
        # Process → largest number of calls.
        self.limits = limits or {}
        (root / "shared").mkdir(parents=True)
        (root / "own").mkdir()
        for number in range(SHARED):
            (root / f"shared/{number}.txt").write_text("")

    def start(self, process, *, resume=False):
        given = {
            "root": str(self.root),
            "process": process,
            "agents": self.agents,
            "session": f"fleet-{process}",
            "resume": resume,
            "cancelled": self.cancelled,
            "calls": self.limits.get(process, 10_000),
        }
        words = [sys.executable, str(PROGRAM), json.dumps(given)]
        return subprocess.Popen(words, stdout=subprocess.PIPE, env=os.environ)

    def lines(self):
        """All lines of the shared files."""
        found = []
        for number in range(SHARED):
            found += (self.root / f"shared/{number}.txt").read_text().splitlines()
        return found

    def written(self, process):
        """How many files the agents of a process have written."""
        return len(list(self.root.glob(f"own/{process}-*")))


def outcome(process, timeout_s):
    output, _ = process.communicate(timeout=timeout_s)
    assert process.returncode == 0
    return json.loads(output.splitlines()[-1])


def check(fleet, outcomes):
    """Compare what the processes reported with what stands in the files."""
    lines = fleet.lines()
    assert len(lines) == len(set(lines)), "an update was made twice"
    for process, done in outcomes.items():
        assert len(done["agents"]) == fleet.agents
        assert "running" not in done["jobs"]
        for one in done["agents"]:
            number = int(one["task"].split()[1])
            own = {f"own/{process}-{number}-{step}.txt" for step in range(STEPS)}
            there = {path for path in own if (fleet.root / path).exists()}
            assert one["status"] != "running"
            assert "needs_approval" not in one["refused"]
            if kind_of(number) != "general":
                assert (one["changes"], there) == ([], set())
                continue
            # The report names what was written, and nothing else was.
            assert set(one["changes"]) & own == there
            if one["status"] == "done":
                assert one["text"] == f"agent {number} is done"
            mine = sorted(line for line in lines if line.startswith(f"{process}:{number}:"))
            if one["status"] == "done" and not one["refused"]:
                assert there == own
                made = [line_of(process, number, step) for step in range(STEPS)] if number else []
                assert mine == made
    known = {line.split(":")[0] for line in lines}
    assert known <= {str(one) for one in outcomes}


async def undo_first_agent(fleet, process, done):
    """Undo the agent that has files of its own only, exactly."""
    (first,) = [one for one in done["agents"] if one["task"].startswith("Agent 0 ")]
    before = {str(path): path.read_bytes() for path in fleet.root.rglob("*") if path.is_file()}
    mine = {path for path in before if f"/own/{process}-0-" in path}
    async with handrail.open(fleet.root, session=f"fleet-{process}") as rt:
        undone = await rt.undo(agent=first["id"])
        jobs = {one.state.value for one in await rt.jobs.list()}
    after = {str(path): path.read_bytes() for path in fleet.root.rglob("*") if path.is_file()}
    assert undone.ok, undone.text
    assert "running" not in jobs
    assert mine
    assert after == {path: data for path, data in before.items() if path not in mine}


@pytest.mark.feature("P11")
@pytest.mark.threat("A27", "A29")
async def test_twelve_agents_in_two_processes(tmp_path):
    limits = {"1": 34}
    fleet = Fleet(tmp_path / "work", 2, 6, limits=limits)
    with running(fleet.start("0")) as one, running(fleet.start("1")) as two:
        outcomes = {"0": outcome(one, 100), "1": outcome(two, 100)}

    check(fleet, outcomes)
    assert [one["status"] for one in outcomes["0"]["agents"]] == ["done"] * 6
    assert outcomes["1"]["calls"] <= limits["1"]
    # One of them really was refused a call by the limit.
    refused = [code for one in outcomes["1"]["agents"] for code in one["refused"]]
    assert "budget_exceeded" in refused
    await undo_first_agent(fleet, "0", outcomes["0"])


PROCESSES, AGENTS = 4, 25


@pytest.mark.torture
@pytest.mark.feature("P11")
@pytest.mark.threat("A27", "A29")
async def test_a_hundred_agents_with_kills_and_cancellations(tmp_path):
    root = tmp_path / "work"
    limits = {"3": 150}
    fleet = Fleet(root, PROCESSES, AGENTS, cancelled=0.1, limits=limits)
    for number in range(2_000):
        folder = root / f"tree/{number // 100}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"file {number}\n")
    with (
        running(fleet.start("1")) as one,
        running(fleet.start("2")) as two,
        running(fleet.start("3")) as three,
    ):
        for times in (1, 2):
            with running(fleet.start("0", resume=times > 1)) as killed:
                wait_until(lambda times=times: fleet.written("0") >= 15 * times, limit_s=300)
                killed.send_signal(signal.SIGKILL)
                wait_exit(killed)
        with running(fleet.start("0", resume=True)) as last:
            outcomes = {"0": outcome(last, 600)}
        for name, process in (("1", one), ("2", two), ("3", three)):
            outcomes[name] = outcome(process, 600)

    check(fleet, outcomes)
    states = [one["status"] for done in outcomes.values() for one in done["agents"]]
    assert len(states) == PROCESSES * AGENTS
    assert outcomes["3"]["calls"] <= limits["3"]
    tree = list(root.glob("tree/*/*"))
    assert len(tree) == 2_000
    await undo_first_agent(fleet, "1", outcomes["1"])
    print({state: states.count(state) for state in set(states)}, len(fleet.lines()))
