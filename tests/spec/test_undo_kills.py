"""Killed at any moment of a batch of writes, edits, patches and commands, or of its undo: every
file is old or new, every change is on record, and all of it can be taken back.
"""

import os
import random
import select
import signal
import subprocess
import sys

import pytest
from tests.support.waiting import wait_exit

import handrail
from handrail.store.chain.verify import verify

KILLS = 20  # of each of three parts, so that they run side by side
LONG = 12_000  # lines: more than travels in the record
WRITTEN = [f"w{number}" for number in range(6)]
EDITED = [f"e{number}" for number in range(5)]
PATCHED = [f"{letter}{number}" for number in range(4) for letter in "pq"]
RUN = [f"c{number}" for number in range(5)]
NAMES = repr((WRITTEN, EDITED, PATCHED, RUN, LONG))

# It stands by with everything loaded, and becomes two whenever a folder is named.
WORKER = """
import asyncio, os, sys
import handrail
from handrail.assembly import commands, runtime_opener

WRITTEN, EDITED, PATCHED, RUN, LONG = eval(sys.argv[2])

def calls(old, new):
    for name in WRITTEN:
        lines = LONG if name < "w3" else 3
        yield "write_file", {"path": name, "content": f"{new}\\n" * lines}
    for name in EDITED:
        yield "edit_file", {"path": name, "old_string": f"{old}\\n", "new_string": f"{new}\\n",
                            "replace_all": True}
    for pair in zip(PATCHED[::2], PATCHED[1::2]):
        hunks = [line for name in pair for line in (f"*** Update File: {name}", f"-{old}", f"+{new}")]
        patch = "\\n".join(["*** Begin Patch", *hunks, "*** End Patch"])
        yield "apply_patch", {"patch": patch}
    for name in RUN:
        yield "run_command", {"command": f"printf '{new}\\\\n' >> {name}"}

async def main(root, store):
    async with handrail.open(root, store=store, mode="sandboxed", session=root) as rt:
        print("ready", flush=True)
        for number in range(1, 1000):
            batch = [{"id": f"{number}.{index}", "name": name, "arguments": arguments}
                     for index, (name, arguments) in enumerate(calls(number - 1, number))]
            assert len(batch) == 20
            results = await rt.batch(batch)
            results += [await rt.undo(turn="last"), await rt.redo()]
            for result in results:
                assert result.ok, result.text

for line in sys.stdin:
    if pid := os.fork():
        print(pid, flush=True)
        _, status = os.waitpid(pid, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
    else:
        asyncio.run(main(line.strip(), sys.argv[1]))
        os._exit(0)
"""


def prepare(workspace):
    for name in [*WRITTEN, *EDITED, *PATCHED, *RUN]:
        workspace.write(name, "0\n" * (LONG if name in ("w0", "w1", "w2", "e0", "p0") else 3))
    for name in PATCHED:
        workspace.write(name, "x\n" * (LONG if name == "p0" else 1) + "0\n")
    return workspace.tree()


@pytest.fixture
def worker(tmp_path):
    script = tmp_path / "worker.py"
    script.write_text(WORKER)
    worker = subprocess.Popen(
        [sys.executable, "-P", script, tmp_path / "store.db", NAMES],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        bufsize=0,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    yield worker
    worker.stdin.close()
    worker.stdout.close()
    assert wait_exit(worker) == 0


def kill_after(worker, root, delay_s):
    worker.stdin.write(f"{root}\n".encode())
    said = {worker.stdout.readline(), worker.stdout.readline()} - {b"ready\n"}
    (pid,) = map(int, said)
    ended, _, _ = select.select([worker.stdout], [], [], delay_s)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    assert int(worker.stdout.readline()) == -signal.SIGKILL, "it was to be killed, not to end"


def check_whole(workspace, started):
    """Nothing is torn, and nothing of ours lies around."""
    now = workspace.tree()
    assert set(now) == set(started)
    for name in WRITTEN + EDITED:
        lines = now[name].splitlines()
        assert len(set(lines)) == 1, f"{name} is torn"
        assert len(lines) == len(started[name].splitlines()), f"{name} is torn"
    for first, second in zip(PATCHED[::2], PATCHED[1::2], strict=True):
        assert now[first].splitlines()[-1] == now[second].splitlines()[-1], "half a patch"
    for name in RUN:
        added = now[name].removeprefix(started[name])
        assert added == b"".join(b"%d\n" % one for one in range(1, added.count(b"\n") + 1))
    return now


async def kill_and_look(workspace, worker, tmp_path, delay_s, number):
    """A folder of its own, but one store for all: they must not be mixed up either, and the
    sandbox is measured only once.
    """
    store, root = tmp_path / "store.db", tmp_path / f"work{number}"
    root.mkdir()
    workspace.root = root
    started = prepare(workspace)
    kill_after(worker, root, delay_s)

    async with handrail.open(root, store=store, session=str(root)) as rt:
        assert await rt.store.unfinished() == []
        calls = await rt.store.calls(session=str(root), limit=-1)
        assert all(call.completed is not None for call in calls), "without an end"
        now = check_whole(workspace, started)
        traces = await rt.store.traces(session=str(root))
        announced = {
            path.rpartition("/")[2]
            for trace in traces
            for path in [
                *(one["path"] for one in trace.intent.get("changes", ())),
                *(trace.intent.get("effects", {}).get("writes", ())),
            ]
        }
        assert {name for name in now if now[name] != started[name]} <= announced, "not on record"
        unknown = {path for one in rt.recovered if one.status == "unknown" for path in one.paths}
        assert unknown <= set(RUN)
        undone = await rt.undo(since="all")
        if not undone.ok:
            assert undone.problem.code in ("conflict", "not_found"), undone.text
            assert undone.problem.code == "not_found" or unknown, undone.text
            undone = await rt.undo(since="all", force=True)
        if undone.ok:
            after = workspace.tree()
            left = {name for name in after if after[name] != started[name]}
            assert left <= unknown, "not undone byte by byte"
            assert (await rt.redo()).ok
            assert workspace.tree() == now


async def kill_often(workspace, worker, tmp_path, moments, kills, longest_s):
    for number in range(kills):
        delay_s = moments.uniform(0.01, longest_s)
        await kill_and_look(workspace, worker, tmp_path, delay_s, number)
    assert verify(tmp_path / "store.db").broken is None


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("part", range(3))
async def test_killed_at_any_moment_of_a_batch_nothing_is_torn_or_lost(
    workspace, worker, tmp_path, part
):
    await kill_often(workspace, worker, tmp_path, random.Random(part), KILLS, 1.0)


@pytest.mark.torture
@pytest.mark.parametrize("part", range(40))
async def test_killed_two_thousand_times(workspace, worker, tmp_path, part):
    await kill_often(workspace, worker, tmp_path, random.Random(f"torture {part}"), 50, 1.5)
