"""After SIGKILL: what commands and background jobs are seen to have changed can be taken back,
and whoever opens the workspace next is told.
"""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import handrail

PROGRAM = Path(sys.executable).with_name("handrail")
SCRIPT = """
import asyncio, sys
import handrail

async def main(root, store, arguments):
    async with handrail.open(root, store=store, mode="sandboxed", session="s") as rt:
        for one in eval(arguments):
            result = await rt.call(*one[:2], id=one[2])
            print(result.text, flush=True)
        await asyncio.Event().wait()

asyncio.run(main(*sys.argv[1:4]))
"""
# What its text names is looked at alone: no copy of anything else is made.
NAMES = (
    "echo '# two' >> b.py; sed -i s/1/2/ a.py; rm gone.py; touch made.txt; mkfifo gate; cat gate"
)
ENVIRONMENT = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}


@pytest.fixture
def killed(workspace, tmp_path):
    """Make calls in a process of their own; kill it once a file has appeared."""

    def run(seen, *calls):
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", SCRIPT, workspace.root, tmp_path / "s.db", repr(calls)],
            env=ENVIRONMENT,
            stdout=subprocess.PIPE,
        )
        while not (workspace.root / seen).exists():
            assert process.poll() is None, "it ended by itself"
        process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()

    return run


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

    assert "-one = 1\n+one = 2\n" in shown.stdout
