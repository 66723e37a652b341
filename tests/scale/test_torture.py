"""Fleets at full length: thousands of workspaces, kills at random moments, a repository of 100,000
files. Run by `make torture`; FLEET_TASKS changes the number of workspaces.
"""

import asyncio
import json
import os
import random
import resource
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest
from tests.scale.test_fleet import children, is_alive, results
from tests.scale.test_sources import Repository, files
from tests.support.waiting import running, wait_exit, wait_until

from handrail.scale import Fleet, FleetOptions, LocalExecutor
from handrail.scale.sources.git_files import GitCache
from handrail.scale.sources.prepare_workspace import prepare_workspace
from handrail.scale.sources.tree_writer import TreeLimits

pytestmark = [pytest.mark.torture, pytest.mark.timeout(1800)]
TASKS = int(os.environ.get("FLEET_TASKS", "2000"))
AGENTS = 8
LIMIT_S = 1500


def cpu_s():
    """The CPU time of this process and of those that it has waited for."""
    return sum(
        used.ru_utime + used.ru_stime
        for used in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    )


def memory_mb(pids):
    found = []
    for pid in pids:
        try:
            with open(f"/proc/{pid}/statm") as file:
                found.append(int(file.read().split()[1]) * resource.getpagesize() >> 20)
        except OSError:
            continue
    return max(found, default=0)


def worker_cpu_s(pids):
    """The CPU time of running processes so far."""
    found = 0.0
    for pid in pids:
        with open(f"/proc/{pid}/stat") as file:
            fields = file.read().rpartition(")")[2].split()
        found += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return found


def measure(tasks, count, processes, name, **more):
    """Run so many tasks; returns seconds, CPU seconds and the memory of the largest worker, early
    and at the end.
    """
    path = tasks.file((tasks.task(f"t{n}", **more) for n in range(count)), f"{name}.jsonl")
    executor = LocalExecutor(processes, AGENTS)
    fleet = Fleet(path, executor, options=FleetOptions(mode="accept-edits", keep="nothing"))
    memory = []

    def on_result(_):
        memory.append(memory_mb(executor.pids))

    began, cpu = time.monotonic(), cpu_s()
    report = asyncio.run(asyncio.wait_for(fleet.run(on_result), LIMIT_S))
    took = time.monotonic() - began, cpu_s() - cpu
    assert report.counts.passed == count
    return *took, memory[count // 4], memory[-1]


def alone_cpu_s(tasks, count):
    """The CPU time of a task in one process that does nothing else."""
    run = tasks.runner(keep="nothing")

    async def work(first, last):
        for start in range(first, last, AGENTS):
            numbers = range(start, min(start + AGENTS, last))
            done = [run(tasks.task(f"a{n}"), number=n) for n in numbers]
            assert all(one["passed"] for one in await asyncio.gather(*done))

    asyncio.run(work(1, 1 + AGENTS))
    cpu = time.process_time()
    asyncio.run(work(100, 100 + count))
    return (time.process_time() - cpu) / count


def test_many_workspaces_use_the_cores_and_bounded_memory(tasks, capsys):
    cores = len(os.sched_getaffinity(0))
    own = alone_cpu_s(tasks, min(TASKS // 4, 200))
    half_s, half_cpu, _, _ = measure(tasks, TASKS // 2, cores, "half")
    full_s, full_cpu, early, late = measure(tasks, TASKS, cores, "full")
    cpu_share = own * TASKS / full_cpu
    core_share = own * TASKS / cores / full_s
    with capsys.disabled():
        print(
            f"\n{TASKS} workspaces, {cores} cores: {full_s:.1f} s, {full_cpu:.1f} s CPU;"
            f" a task alone {own * 1000:.1f} ms CPU;"
            f" of the ideal {cpu_share:.0%} by CPU, {core_share:.0%} by the clock;"
            f" 2N/N {full_s / half_s:.2f} by the clock, {full_cpu / half_cpu:.2f} by CPU;"
            f" largest worker {early} MB at a quarter, {late} MB at the end"
        )

    assert cpu_share >= 0.8
    assert full_cpu / half_cpu <= 2.2
    assert late <= early * 1.3 + 20
    if os.getloadavg()[0] < cores * 1.5:
        # Others on the machine decide about the clock.
        assert core_share >= 0.8
        assert full_s / half_s <= 2.2


def test_a_fleet_killed_ten_times_runs_every_task_once(tasks, capsys):
    steps = 4
    script = [
        {
            "calls": [
                {
                    "name": "write_file",
                    "arguments": {"path": "log.txt", "content": f"{step}\n", "mode": "append"},
                }
            ]
        }
        for step in range(steps)
    ]
    model = tasks.script("append.jsonl", [*script, {"text": "end"}])
    count = min(TASKS, 200)
    path = tasks.file(tasks.task(f"t{n}", model=model, collect="files") for n in range(count))
    state = tasks.root / "tasks.jsonl.fleet"
    command = [sys.executable, "-m", "handrail", "fleet", "run", str(path), "--json"]
    command += ["--mode", "accept-edits", "--processes", "2", "--agents", "4"]
    chosen = random.Random(int(os.environ.get("FLEET_SEED", "7")))

    for turn in range(10):
        with running(subprocess.Popen(command, stdout=subprocess.PIPE)) as fleet:
            for _ in range(chosen.randrange(1, count // 20)):
                fleet.stdout.readline()
            time.sleep(chosen.random() / 5)
            workers = children(fleet.pid)
            if turn % 2 and workers:
                # The worker first: its tasks are lost, then the fleet.
                os.kill(chosen.choice(workers), signal.SIGKILL)
                time.sleep(chosen.random() / 2)
            fleet.kill()
            wait_exit(fleet)
        wait_until(lambda left=workers: not any(is_alive(pid) for pid in left))
    done = subprocess.run(command, check=False, capture_output=True, timeout=LIMIT_S)

    found, lines = results(state)
    assert done.returncode == 0
    assert (lines, len(found)) == (count, count)
    repeated, missing, unknown = 0, 0, 0
    for one in found.values():
        counts = Counter(Path(one["files"], "log.txt").read_text().split())
        repeated += sum(number > 1 for number in counts.values())
        gone = steps - len(counts)
        missing += gone
        named = len({*one["unknown_calls"], *one["not_run_calls"]})
        unknown += named
        # What was not done is named.
        assert gone <= named
    with capsys.disabled():
        print(
            f"\n{count} tasks, 10 kills: {repeated} repeated, {missing} not done, {unknown} named"
        )
    assert repeated == 0


def test_a_greedy_tenant_in_processes_leaves_the_other_its_part(tasks, capsys):
    count = min(TASKS // 4, 120)
    mine = [tasks.task(f"m{n}", tenant="modest") for n in range(count)]
    heavy = [{"calls": [{"name": "list_files", "arguments": {}}]}] * 12
    model = tasks.script("heavy.jsonl", [*heavy, {"text": "end"}])
    greedy = [tasks.task(f"g{n}", tenant="greedy", model=model) for n in range(count * 3)]

    def rate(given, name):
        """Tasks of the modest tenant per second of CPU time of the workers, from its first end to
        its last: what others do on the machine does not count.
        """
        executor = LocalExecutor(2, AGENTS)
        fleet = Fleet(
            tasks.file(given, f"{name}.jsonl"),
            executor,
            options=FleetOptions(mode="accept-edits", keep="nothing"),
        )
        ends = []

        def on_result(result):
            if result["tenant"] == "modest":
                ends.append(worker_cpu_s(executor.pids))
                if len(ends) == count:
                    fleet.drain()

        asyncio.run(asyncio.wait_for(fleet.run(on_result), LIMIT_S))
        return (count - 1) / (ends[-1] - ends[0])

    alone = rate(mine, "alone")
    beside = rate([*greedy, *mine], "beside")
    with capsys.disabled():
        print(
            f"\nmodest tenant: {alone:.1f} tasks per CPU second alone, {beside:.1f} beside a greedy"
            f" one: {beside / alone:.0%}"
        )

    assert beside / alone >= 0.4


def test_a_repository_of_100000_files_is_written_and_runs_nothing(tmp_path, capsys):
    path = tmp_path / "hostile"
    path.mkdir()
    repository = Repository(path)
    count, ran = 100_000, tmp_path / "ran"
    commands = ["blob\nmark :1\ndata 2\nx\n"]
    commands.append("commit refs/heads/big\nauthor x <x@y> 0 +0000\ncommitter x <x@y> 0 +0000\n")
    commands.append("data 1\nx\n")
    commands += [f"M 100644 :1 d{n % 300}/f{n}\n" for n in range(count)]
    attributes = "* filter=evil\n"
    commands.append(f"M 100644 inline .gitattributes\ndata {len(attributes)}\n{attributes}")
    repository.git("fast-import", "--quiet", feed="".join(commands).encode())
    repository.git("config", "filter.evil.smudge", f"touch {ran}")
    commit = repository.git("rev-parse", "refs/heads/big")
    limits = TreeLimits(1 << 30, 200_000)
    from handrail.scale.tasks import SourceSpec

    began, cpu = time.monotonic(), cpu_s()
    made = prepare_workspace(
        SourceSpec("git", path.as_uri(), commit),
        tmp_path / "made",
        limits,
        GitCache(tmp_path / "git", limits),
    )
    with capsys.disabled():
        print(f"\n{count} files: {time.monotonic() - began:.1f} s, {cpu_s() - cpu:.1f} s CPU")

    assert len(files(made)) == count + 1
    assert not ran.exists()
    assert json.dumps(sorted(os.listdir(tmp_path))) == '["git", "hostile", "made"]'
