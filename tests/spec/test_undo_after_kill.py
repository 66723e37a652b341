"""After SIGKILL: what commands and background jobs are seen to have changed can be taken back,
and whoever opens the workspace next is told.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.waiting import running, wait_until

import handrail

pytestmark = pytest.mark.needs_sandbox

PROGRAM = Path(sys.executable).with_name("handrail")
SCRIPT = """
import asyncio, sys
import handrail

async def main(root, store, calls, keep):
    opening = handrail.open(root, store=store, mode="sandboxed", session="s")
    if keep:
        opening.keep_jobs()
    async with opening as rt:
        for one in eval(calls):
            result = await rt.call(*one[:2], id=one[2])
            print(result.text, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:5]))
"""
# What its text names is looked at alone: no copy of anything else is made.
NAMES = (
    "echo '# two' >> b.py; sed -i s/1/2/ a.py; rm gone.py; touch made.txt; mkfifo gate; cat gate"
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def killed(workspace, tmp_path):
    """Make calls in a process of their own; kill it once a file is there, or has this text."""

    def run(seen, *calls, keep=""):
        words = [workspace.root, tmp_path / "s.db", repr(calls), keep]
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", SCRIPT, *words],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
        )
        with running(process):
            wait_until(lambda: _shows(workspace.root, seen) or process.poll() is not None)
            assert process.poll() is None, "it ended by itself"
            if calls[0][1].get("background"):
                assert process.stdout.readline(), "the call that started the job has ended"
            process.send_signal(signal.SIGKILL)

    return run


def _shows(root, seen):
    name, _, text = seen.partition(":")
    path = root / name
    return text in path.read_text() if text else path.exists()


@pytest.fixture
def reopened(workspace, tmp_path):
    return lambda **more: handrail.open(
        workspace.root, store=tmp_path / "s.db", **{"mode": "sandboxed", **more}
    )


@pytest.fixture
def program(workspace, tmp_path):
    """The command line, in a process of its own."""

    def run(*words):
        return subprocess.run(
            [PROGRAM, "-w", workspace.root, "--store", tmp_path / "s.db", *words],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


def named_files(workspace):
    workspace.write("a.py", "one = 1\n")
    workspace.write("b.py", "# one\n")
    workspace.write("gone.py", "gone\n")
    workspace.write("person.py", "1\n")


async def test_a_killed_command_that_names_its_writes_is_undone_by_call(
    workspace, killed, reopened
):
    named_files(workspace)
    killed("gate", ("run_command", {"command": NAMES}, "c"))
    workspace.write("person.py", "2\n")

    async with reopened() as rt:
        found = rt.recovered[0]
        undone = await rt.undo("c")
        redone = await rt.redo()

    assert (found.call_id, found.status) == ("c", "unknown")
    assert set(found.paths) == {"a.py", "b.py", "gone.py", "made.txt"}
    assert undone.ok, undone.text
    assert set(undone.data["paths"]) == {"a.py", "b.py", "gone.py", "made.txt"}
    assert redone.ok, redone.text
    assert workspace.read("a.py") == b"one = 2\n"
    assert workspace.read("person.py") == b"2\n"


async def test_a_killed_command_that_names_its_writes_is_undone_file_by_file(
    workspace, killed, reopened
):
    named_files(workspace)
    write = {"path": "b.py", "content": "# one\n"}
    killed("gate", ("write_file", write, "older"), ("run_command", {"command": NAMES}, "c"))

    async with reopened() as rt:
        undone = [await rt.undo(path=path) for path in ("b.py", "gone.py", "made.txt")]

    assert [one.data["calls"][0]["call_id"] for one in undone] == ["c"] * 3
    assert workspace.read("b.py") == b"# one\n"
    assert workspace.read("gone.py") == b"gone\n"
    assert not (workspace.root / "made.txt").exists()
    assert workspace.read("a.py") == b"one = 2\n"


def test_a_killed_command_that_names_its_writes_is_shown_with_its_diff(workspace, killed, program):
    named_files(workspace)
    killed("gate", ("run_command", {"command": NAMES}, "c"))

    program("recover")
    shown = program("show", "c")

    assert "-one = 1\n+one = 2" in shown.stdout


async def test_what_a_killed_command_wrote_long_after_it_opened_the_file_is_its_doing(
    workspace, killed, reopened
):
    """Notes are written down while a program idles, and then it writes without another word."""
    workspace.write("log.txt", "old\n")
    workspace.write("job.py", LATE)
    killed("log.txt:new", ("run_command", {"command": "python3 job.py"}, "c"))

    async with reopened() as rt:
        undone = await rt.undo("c")

    assert undone.ok, undone.text
    assert workspace.read("log.txt") == b"old\n"


# What a program opens is noted at once, and on disk when it has said nothing for half a second.
LATE = """
import time
log = open('log.txt', 'a')
time.sleep(1)
log.write('new')
log.flush()
time.sleep(60)
"""
WRITES = "import os\nopen('a.py', 'w').write('2')\nos.remove('gone.py')\nos.mkfifo('gate')\n"


def background(command):
    return ("run_command", {"command": command, "background": True}, "c")


async def test_what_a_job_changed_before_the_kill_is_recorded_by_the_next_opening(
    workspace, killed, reopened
):
    named_files(workspace)
    workspace.write("job.py", f"{WRITES}open('gate').read()\n")
    killed("gate", background("python3 job.py"))
    workspace.write("person.py", "2\n")

    async with reopened() as rt:
        found = list(rt.recovered)
        (kept,) = await rt.store.calls(call_id="job:1", limit=2)
        record = await rt.store.find_completed(kept.session, "job:1")
        undone = await rt.undo("job:1")
    async with reopened() as rt:
        later = list(rt.recovered)

    assert [(one.call_id, one.tool, one.status) for one in found] == [("job:1", "job", "unknown")]
    assert {"a.py", "gone.py"} <= set(found[0].paths)
    assert record.completed["meta"]["recovered"] is True
    assert undone.ok, undone.text
    assert workspace.read("a.py") == b"one = 1\n"
    assert workspace.read("gone.py") == b"gone\n"
    assert workspace.read("person.py") == b"2\n"
    assert later == []


async def test_a_killed_job_that_names_its_writes_is_undone(workspace, killed, reopened):
    named_files(workspace)
    killed("gate", background(NAMES))

    async with reopened() as rt:
        undone = await rt.undo("job:1")

    assert undone.ok, undone.text
    assert workspace.read("a.py") == b"one = 1\n"
    assert not (workspace.root / "made.txt").exists()


async def test_a_job_that_was_over_before_the_kill_leaves_later_changes_alone(
    workspace, killed, reopened
):
    named_files(workspace)
    job = background("sed -i s/1/2/ a.py b.py")
    wait = ("job_output", {"job": "1"}, "w")
    killed("seen", job, wait, ("write_file", {"path": "seen", "content": ""}, "x"))
    workspace.write("b.py", "by a person\n")

    async with reopened() as rt:
        undone = await rt.undo("job:1")

    assert undone.data["paths"] == ["a.py"], undone.text
    assert workspace.read("b.py") == b"by a person\n"


async def test_a_job_that_goes_on_after_the_kill_is_recorded_as_far_as_it_came(
    workspace, killed, reopened
):
    named_files(workspace)
    idle, late = "import time; time.sleep(1)\n", "open('b.py', 'w').write('late')\n"
    begun = "os.mkfifo('begun'); open('gate').read()\n"
    workspace.write("job.py", f"{WRITES}{idle}{begun}{late}")
    killed("begun", background("python3 job.py"), keep="keep")

    async with reopened(session="s") as rt:
        found = rt.recovered[0]
        undone = await rt.undo("job:1")
        workspace.write("gate", "")
        await rt.call("job_output", {"job": "1"})

    assert "still runs" in found.text
    assert undone.ok, undone.text
    assert "not followed any more" in undone.text
    assert workspace.read("a.py") == b"one = 1\n"
    assert workspace.read("b.py") == b"late"


async def test_a_killed_job_whose_changes_cannot_be_told_is_named(
    workspace, killed, reopened, tmp_path
):
    named_files(workspace)
    workspace.write("job.py", f"{WRITES}open('gate').read()\n")
    killed("gate", background("python3 job.py"))
    for place in tmp_path.rglob("manifest-*"):
        place.unlink()

    async with reopened() as rt:
        found = rt.recovered[0]
        undone = await rt.undo("job:1")

    assert found.call_id == "job:1"
    assert "changed is not known" in found.text
    assert "not on record" in undone.problem.message


@pytest.mark.parametrize("words", [["call", "read_file", "path=a.py"], ["undo", "--dry-run"]])
def test_the_first_command_after_a_kill_says_what_was_found_beside_its_answer(
    workspace, killed, program, words
):
    named_files(workspace)
    killed("gate", ("run_command", {"command": NAMES}, "c"))

    first, second = program(*words), program(*words)

    assert first.stdout
    assert first.stderr.startswith("recovered: run_command (c): it")
    assert "`handrail undo --call c`" in first.stderr
    assert first.stderr.count("\n") == 1
    assert second.stderr == ""


def test_recover_lists_what_another_command_found_before_it(workspace, killed, program):
    named_files(workspace)
    killed("gate", ("run_command", {"command": NAMES}, "c"))
    program("call", "read_file", "path=a.py")

    told = program("recover")
    as_json = program("recover", "--json")
    undone = program("undo", "--call", "c")
    after = program("recover")

    assert told.stdout.startswith("nothing to recover\nrecovered earlier")
    assert "running when Handrail ended" in told.stdout
    assert "`handrail undo --call c`" in told.stdout
    found = json.loads(as_json.stdout)
    assert (found["call_id"], found["earlier"]) == ("c", True)
    assert undone.returncode == 0, undone.stderr
    assert workspace.read("a.py") == b"one = 1\n"
    assert "c  run_command  unknown" in after.stdout
    assert "handrail undo" not in after.stdout


def test_recover_names_a_job_whose_runtime_was_killed(workspace, killed, program):
    named_files(workspace)
    killed("gate", background(NAMES))

    told = program("recover")

    assert "job:1  job  unknown: " in told.stdout
    assert "`handrail undo --call job:1`" in told.stdout
    assert told.stderr == ""
