"""A fleet with its record in a PostgreSQL database: many workers on one chain, continued after kills."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.scale.test_fleet import children, is_alive, results, run
from tests.support.waiting import running, wait_exit, wait_until

from handrail.cli.main import main
from handrail.host.state.directories import state_home
from handrail.scale import Fleet, FleetOptions, LocalExecutor

pytestmark = pytest.mark.needs_postgres
APPEND = {"path": "log.txt", "content": "once\n", "mode": "append"}


def test_a_killed_fleet_continues_from_the_database(tasks, postgres, capsys):
    store = postgres.new_store()
    steps = [{"calls": [{"name": "write_file", "arguments": APPEND}]}]
    model = tasks.script("slow.jsonl", [*steps, {"text": "end", "delay_s": 0.3}])
    path = tasks.file(tasks.task(f"t{n}", model=model, collect="files") for n in range(10))
    command = [sys.executable, "-m", "handrail", "--store", store, "fleet", "run", str(path)]
    command += ["--mode", "accept-edits", "--json", "--agents", "2", "--processes", "2"]

    with running(subprocess.Popen(command, stdout=subprocess.PIPE)) as fleet:
        assert json.loads(fleet.stdout.readline())["passed"]
        workers = children(fleet.pid)
        os.kill(workers[0], signal.SIGKILL)
        fleet.stdout.readline()
        fleet.kill()
        wait_exit(fleet)
    wait_until(lambda: not any(is_alive(pid) for pid in workers))
    options = FleetOptions(mode="accept-edits", store=store)
    report = run(Fleet(path, LocalExecutor(2, 4), options=options))

    state = tasks.root / "tasks.jsonl.fleet"
    found, lines = results(state)
    assert (report.complete, report.counts.passed, lines) == (True, 10, 10)
    for one in found.values():
        log = Path(one["files"], "log.txt")
        # Done once; a call that was cut off, or that did not begin, is named instead.
        named = one["unknown_calls"] or one["not_run_calls"]
        written = log.read_text() if log.exists() else ""
        assert written == "once\n" or (not written and named)
    assert main(["--store", store, "verify"]) == 0
    capsys.readouterr()
    session = found["t0"]["session"]
    assert main(["--store", store, "--session", session, "--json", "log"]) == 0
    assert "write_file" in capsys.readouterr().out


def test_what_lies_beside_the_database_goes_with_its_task(tasks, postgres):
    store = postgres.new_store()
    before = set(state_home().glob("*"))

    kept = asyncio.run(tasks.runner(store=store)(tasks.task("a")))
    gone = asyncio.run(tasks.runner(store=store, keep="nothing")(tasks.task("b"), number=2))

    assert (kept["status"], gone["status"]) == ("done", "done")
    assert [path.suffix for path in (tasks.place() / "record").iterdir()] == [".d"]
    assert not (tasks.place(2) / "record").exists()
    # Nothing of a workspace that is gone stays in the user's state.
    assert set(state_home().glob("workspace-*")) <= before
