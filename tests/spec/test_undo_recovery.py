"""After a crash: what ran is never run again, and the user learns where to look."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tests.support.waiting import running, wait_exit, wait_until

import handrail
from handrail.host.state.file_locks import FileLocks
from handrail.store.chain.verify import verify

PROGRAM = Path(sys.executable).with_name("handrail")
SCRIPT = """
import asyncio, sys
import handrail

async def main(root, store, command):
    async with handrail.open(root, store=store, mode="sandboxed", session="s") as rt:
        print("open", flush=True)
        await rt.call("run_command", {"command": command}, id="c")

asyncio.run(main(*sys.argv[1:4]))
"""
APPENDS = "printf 'x\\n' >> log.txt; mkfifo gate; cat gate"


def start(tmp_path, workspace, command):
    script = tmp_path / "script.py"
    script.write_text(SCRIPT)
    return subprocess.Popen(
        [sys.executable, "-P", script, workspace.root, tmp_path / "s.db", command],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdout=subprocess.PIPE,
    )


def kill_once(process, seen):
    """Kill it as soon as a file has appeared."""
    with running(process):
        wait_until(lambda: seen.exists() or process.poll() is not None)
        assert process.poll() is None, "it ended by itself"
        process.send_signal(signal.SIGKILL)
        wait_exit(process)


@pytest.mark.needs_sandbox
async def test_a_command_that_was_killed_is_unknown_and_never_run_again(workspace, tmp_path):
    workspace.write("log.txt", "")
    kill_once(start(tmp_path, workspace, APPENDS), workspace.root / "gate")
    settings = {"store": tmp_path / "s.db", "session": "s", "mode": "sandboxed"}

    async with handrail.open(workspace.root, **settings) as rt:
        found = list(rt.recovered)
        again = await rt.call("run_command", {"command": APPENDS}, id="c")
        other = await rt.call("run_command", {"command": "true"}, id="c")
    async with handrail.open(workspace.root, **settings) as rt:
        once_more = await rt.call("run_command", {"command": APPENDS}, id="c")
        nothing = list(rt.recovered)

    assert [(one.call_id, one.tool, one.status) for one in found] == [
        ("c", "run_command", "unknown")
    ]
    assert "log.txt" in found[0].paths
    assert "log.txt" in found[0].text
    assert "not run again" in found[0].text
    assert [again.status, once_more.status] == ["unknown", "unknown"]
    assert "log.txt" in again.problem.hint
    assert other.problem.code == "duplicate_id"
    assert workspace.read("log.txt") == b"x\n"
    assert nothing == []
    assert verify(tmp_path / "s.db").broken is None


@pytest.mark.needs_sandbox
async def test_what_a_killed_command_changed_can_be_taken_back(workspace, tmp_path):
    workspace.write("log.txt", "before\n")
    workspace.write("work.sh", APPENDS)
    kill_once(start(tmp_path, workspace, "bash work.sh"), workspace.root / "gate")

    async with handrail.open(workspace.root, store=tmp_path / "s.db", mode="sandboxed") as rt:
        undone = await rt.undo(path="log.txt")

    assert undone.ok, undone.text
    assert workspace.read("log.txt") == b"before\n"


@pytest.mark.needs_sandbox
def test_the_command_line_says_what_was_found_and_where_to_look(workspace, tmp_path):
    workspace.write("log.txt", "")
    kill_once(start(tmp_path, workspace, APPENDS), workspace.root / "gate")

    def recover(*words):
        return subprocess.run(
            [PROGRAM, "-w", workspace.root, "--store", tmp_path / "s.db", "recover", *words],
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout

    found = json.loads(recover("--json"))
    again = recover()

    assert (found["call_id"], found["status"], found["whole"]) == ("c", "unknown", True)
    assert "log.txt" in found["paths"]
    assert again.startswith("nothing to recover\nrecovered earlier")


@pytest.mark.needs_sandbox
async def test_another_workspace_of_the_same_store_is_left_alone(workspace, tmp_path):
    """A crash is repaired where it happened, not wherever the store is opened next."""
    workspace.write("log.txt", "")
    kill_once(start(tmp_path, workspace, APPENDS), workspace.root / "gate")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()

    async with handrail.open(elsewhere, store=tmp_path / "s.db") as rt:
        there = list(rt.recovered)
    async with handrail.open(workspace.root, store=tmp_path / "s.db") as rt:
        here = list(rt.recovered)

    assert there == []
    assert [one.call_id for one in here] == ["c"]


HOLDS = """
import asyncio, pathlib, sys
from handrail.host.state.file_locks import FileLocks

async def main():
    held = await FileLocks(pathlib.Path(sys.argv[1])).acquire(["file:/a"])
    print("held", flush=True)
    sys.stdin.read()

asyncio.run(main())
"""


async def test_a_lock_of_a_killed_process_is_free(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDS, tmp_path],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert process.stdout.readline() == b"held\n"
    locks = FileLocks(tmp_path)

    taken = locks.try_acquire(["file:/a"])
    process.send_signal(signal.SIGKILL)
    wait_exit(process)
    free = locks.try_acquire(["file:/a"])

    assert taken is None
    assert free is not None
    free.release()
    process.stdin.close()
    process.stdout.close()


PATCH = (
    "*** Begin Patch\n*** Update File: a.txt\n-0\n+1\n*** Update File: b.txt\n-0\n+1\n*** End Patch"
)
HALF = """
import asyncio, os, sys
import handrail
from handrail.host.files import staged_change

real = staged_change.StagedChange.publish

def publish(self):
    real(self)
    os._exit(9)

staged_change.StagedChange.publish = publish

async def main(root, store, patch):
    async with handrail.open(root, store=store, mode="accept-edits") as rt:
        await rt.call("apply_patch", {"patch": patch}, id="p")

asyncio.run(main(*sys.argv[1:4]))
"""


@pytest.mark.parametrize("made_anew", [False, True])
async def test_a_folder_made_anew_is_not_mended_for_the_old_one(workspace, tmp_path, made_anew):
    for name in ("a.txt", "b.txt"):
        workspace.write(name, "0\n")
    script = tmp_path / "half.py"
    script.write_text(HALF)
    done = subprocess.run(
        [sys.executable, "-P", script, workspace.root, tmp_path / "s.db", PATCH],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        check=False,
    )
    half = workspace.tree()
    if made_anew:
        for path in list(workspace.root.iterdir()):
            path.unlink()
        workspace.root.rmdir()
        workspace.root.mkdir()
        for name, content in half.items():
            workspace.write(name, content)

    async with handrail.open(workspace.root, store=tmp_path / "s.db") as rt:
        found = [(one.status, sorted(one.paths)) for one in rt.recovered]
        left = await rt.store.unfinished()

    assert done.returncode == 9
    assert left == []
    if made_anew:
        assert found == [("unknown", ["a.txt", "b.txt"])]
        assert workspace.tree() == half
    else:
        assert found == [("interrupted", [])]
        assert workspace.tree() == {"a.txt": b"0\n", "b.txt": b"0\n"}
