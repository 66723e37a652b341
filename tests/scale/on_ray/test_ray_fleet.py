"""Fleets on a Ray cluster of several nodes, in a network namespace without any other machine: killed
actors and nodes lose no recorded call and repeat none.
"""

import json
import os
import subprocess
import sys

import pytest
from tests.support.machine import ROOT

pytestmark = pytest.mark.needs_root
# Ends everything inside with the program that was started.
NAMESPACE = ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc"]


def run_scenario(tmp_path, nodes, count, *parts, limit_s):
    program = [sys.executable, "-m", "tests.scale.on_ray.scenario", str(tmp_path)]
    done = subprocess.run(
        [*NAMESPACE, *program, str(nodes), str(count), *parts],
        cwd=ROOT,
        capture_output=True,
        check=False,
        timeout=limit_s,
        text=True,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-8000:]
    return json.loads(done.stdout.splitlines()[-1])


def assert_every_task_once(found, nodes, count):
    assert found["complete"]
    assert found["results"] == sorted(f"t{n}" for n in range(count))
    # Both kills met tasks that ran, and others went on with them.
    assert len(found["killed"]) == 2 and found["killed"][1] == f"n{nodes}"
    assert found["lost"] >= 2
    assert found["hosts"] == [f"n{number}" for number in range(1, nodes + 1)]
    assert found["problems"] == []
    assert found["repeated"] == 0
    assert found["unnamed"] == []


@pytest.mark.timeout(900)
def test_a_killed_actor_and_a_killed_node_lose_and_repeat_nothing(tmp_path):
    found = run_scenario(tmp_path, 2, 18, "kills", limit_s=880)

    assert_every_task_once(found["kills"], 2, 18)


@pytest.mark.torture
@pytest.mark.timeout(1800)
def test_three_nodes_kills_the_command_line_and_the_cost_of_a_call(tmp_path, capsys):
    found = run_scenario(tmp_path, 3, 90, "cost", "command", "kills", limit_s=1700)

    kills, cost = found["kills"], found["cost"]
    with capsys.disabled():
        print(
            f"\n3 nodes ready in {found['start_s']:.1f} s; 90 tasks with an actor and a node killed:"
            f" {kills['seconds']:.1f} s, {kills['lost']} continued elsewhere,"
            f" {kills['repeated']} calls repeated, {kills['missing']} not done,"
            f" {kills['named']} named; an order and its answer: {cost['local']:.2f} ms local,"
            f" {cost['ray']:.2f} ms on Ray"
        )
    assert_every_task_once(kills, 3, 90)
    code, drained = found["command"]["drained"]
    assert (code, drained["running"]) == (130, 0)
    assert 0 < drained["ended"] < 24
    assert found["command"]["last"][0] == 0
    assert found["command"]["results"] == sorted(f"c{n}" for n in range(24))
    if os.getloadavg()[0] < 2 * len(os.sched_getaffinity(0)):
        # Others on the machine decide about the clock.
        assert cost["ray"] - cost["local"] <= 2
