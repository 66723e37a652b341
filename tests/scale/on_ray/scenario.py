"""Fleets on a Ray cluster, as a program of its own in a network namespace: prints what happened as
one JSON object. Arguments: a directory, the number of nodes and of tasks, and the parts to run.
"""

import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

from tests.scale.conftest import Tasks
from tests.scale.on_ray.cluster import RayCluster, bring_up_loopback
from tests.support.waiting import running, wait_exit

from handrail.scale import Fleet, FleetOptions, LocalExecutor, RayExecutor
from handrail.scale.executor import TaskEnded
from handrail.scale.state import FleetState

STEPS = 4
LIMIT_S = 300
ROUNDS = 300


def main():
    directory, nodes, count = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    parts = sys.argv[4:]
    bring_up_loopback()
    began = time.monotonic()
    cluster = RayCluster(nodes)
    try:
        found = {"start_s": time.monotonic() - began}
        tasks = Tasks(directory)
        if "cost" in parts:
            found["cost"] = asyncio.run(measure_cost(tasks))
        if "command" in parts:
            found["command"] = run_command(tasks)
        if "kills" in parts:
            found["kills"] = run_with_kills(tasks, cluster, f"n{nodes}", count)
    finally:
        cluster.close()
    print(json.dumps(found))


def append_script(tasks):
    steps = [
        {
            "calls": [
                {
                    "name": "write_file",
                    "arguments": {"path": "log.txt", "content": f"{step}\n", "mode": "append"},
                }
            ],
            "delay_s": 0.15,
        }
        for step in range(STEPS)
    ]
    return tasks.script("append.jsonl", [*steps, {"text": "end"}])


def run_with_kills(tasks, cluster, last_node, count):
    """An actor is killed, then a node with its actors, while their tasks run."""
    model = append_script(tasks)
    given = [tasks.task(f"t{n}", model=model, collect="files") for n in range(count)]
    path = tasks.file(given, "kills.jsonl")
    fleet = Fleet(path, RayExecutor(4, 4), options=FleetOptions(mode="accept-edits"))
    killed, ended, lines = [], [], []

    def on_result(result):
        ended.append(result["id"])
        # An actor may need longer to start than the others to end their first tasks, so each kill
        # waits for one that lives. First not one of the node that is killed afterwards.
        living = workers(fleet.state)
        others = [(host, pid) for host, pid in living if host != last_node]
        if len(ended) >= count // 6 and others and not killed:
            os.kill(others[0][1], signal.SIGKILL)
            killed.append(others[0][0])
        lives = len(living) > len(others)
        if len(ended) >= count // 3 and killed and lives and last_node not in killed:
            cluster.kill_node(last_node)
            killed.append(last_node)

    began = time.monotonic()
    report = asyncio.run(asyncio.wait_for(fleet.run(on_result), LIMIT_S))
    took = time.monotonic() - began
    repeated, missing, named, unnamed = 0, 0, 0, []
    for line in fleet.state.results.read_text().splitlines():
        one = json.loads(line)
        lines.append(one)
        done = Counter(Path(one["files"], "log.txt").read_text().split())
        repeated += sum(number > 1 for number in done.values())
        known = {*one["unknown_calls"], *one["not_run_calls"]}
        missing, named = missing + STEPS - len(done), named + len(known)
        if STEPS - len(done) > len(known):
            unnamed.append(one["id"])
    return {
        "complete": report.complete,
        "killed": killed,
        "results": sorted(one["id"] for one in lines),
        "lost": sum(one["lost_workers"] for one in lines),
        "hosts": sorted({host for host, _ in workers(fleet.state, dead=True)}),
        "problems": [one["problem"] for one in lines if one["problem"]],
        "repeated": repeated,
        "missing": missing,
        "named": named,
        "unnamed": unnamed,
        "seconds": took,
    }


def workers(state, *, dead=False):
    """The machine and the process of each worker that lives."""
    found = []
    for path in state.presences.iterdir():
        host, _, pid, started = path.read_text().split("/")
        try:
            alive = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[19] == started
        except OSError:
            alive = False
        if alive or dead:
            found.append((host, int(pid)))
    return sorted(found)


def run_command(tasks):
    """The command line: drained by a signal, killed, and continued by the other executor."""
    slow = tasks.script("slow.jsonl", [{"text": "end", "delay_s": 0.4}])
    path = tasks.file((tasks.task(f"c{n}", model=slow) for n in range(24)), "command.jsonl")
    command = [sys.executable, "-m", "handrail", "fleet", "run", str(path), "--json"]
    on_ray = [*command, "--executor", "ray", "--processes", "2", "--agents", "2"]

    def cut(ends):
        with running(subprocess.Popen(on_ray, stdout=subprocess.PIPE)) as fleet:
            first = json.loads(fleet.stdout.readline())
            os.kill(fleet.pid, ends)
            rest = fleet.stdout.read().splitlines()
            code = wait_exit(fleet)
        return first, rest, code

    _, drained, code = cut(signal.SIGTERM)
    cut(signal.SIGKILL)
    last = subprocess.run(command, stdout=subprocess.PIPE, check=False, timeout=LIMIT_S)
    state = FleetState(Path(f"{path}.fleet"))
    ids = [json.loads(line)["id"] for line in state.results.read_text().splitlines()]
    return {
        "drained": [code, json.loads(drained[-1])["tasks"]],
        "last": [last.returncode, json.loads(last.stdout.splitlines()[-1])["tasks"]],
        "results": sorted(ids),
    }


async def measure_cost(tasks):
    """Milliseconds of an order and its answer, for a task that has ended before: the median."""
    return {
        name: await round_trips(tasks, name, executor)
        for name, executor in (("local", LocalExecutor(1, 1)), ("ray", RayExecutor(1, 1)))
    }


async def round_trips(tasks, name, executor):
    state = FleetState(tasks.root / f"cost-{name}")
    text = json.dumps(tasks.task(name))
    order = {"number": 1, "text": text, "line": 1, "budget": {}, "lost": 0, "settle": False}
    settings = {"state": str(state.directory), "token": "t", "disk_bytes": 1 << 30}
    settings |= {"entries": 1000, "keep": "records", "mode": "accept-edits"}
    took = []
    with state.locked() as lock:
        await executor.start(state, lock, {**settings, "lock": lock})
        for _ in range(ROUNDS):
            began = time.perf_counter()
            await executor.submit(0, order)
            event = await asyncio.wait_for(executor.next_event(), LIMIT_S)
            took.append(1000 * (time.perf_counter() - began))
            assert isinstance(event, TaskEnded), event
        await executor.aclose()
    return statistics.median(took)


if __name__ == "__main__":
    main()
