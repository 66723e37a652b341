"""Killed while links, folders and permissions are taken back or brought again: all or nothing."""

import os
import random
import select
import signal
import subprocess
import sys

import pytest
from tests.support.entries import COMMAND, lay, tree
from tests.support.waiting import running, wait_exit

import handrail

WORKER = """
import asyncio, sys
import handrail

async def main(root, store):
    async with handrail.open(root, store=store, mode="sandboxed") as rt:
        print("ready", flush=True)
        while True:
            for act in (rt.undo, rt.redo):
                result = await act("run")
                assert result.ok, result.text

asyncio.run(main(*sys.argv[1:]))
"""


def kill_after(root, store, delay_s):
    """A process that undoes and redoes without end, ended at some moment of it."""
    started = subprocess.Popen(
        [sys.executable, "-P", "-c", WORKER, root, store],
        stdout=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    with running(started) as worker:
        assert worker.stdout.readline() == b"ready\n"
        ended, _, _ = select.select([worker.stdout], [], [], delay_s)
        assert not ended, "it was to be killed, not to end"
        worker.send_signal(signal.SIGKILL)
        assert wait_exit(worker) == -signal.SIGKILL


@pytest.mark.parametrize(
    "kills", [4, pytest.param(60, marks=pytest.mark.torture)], ids=["few", "many"]
)
async def test_what_a_kill_left_half_done_is_made_whole(tmp_path, kills):
    root, store = tmp_path / "work", tmp_path / "state" / "store.db"
    root.mkdir()
    store.parent.mkdir()
    lay(root)
    before = tree(root)
    settings = {"store": store, "mode": "sandboxed", "approver": lambda request: True}
    async with handrail.open(root, **settings) as rt:
        (await rt.call("run_command", {"command": COMMAND}, id="run")).unwrap()
    after = tree(root)
    moments = random.Random(7)

    for number in range(kills):
        kill_after(root, store, moments.random() * 0.4)
        async with handrail.open(root, **settings) as rt:
            assert await rt.store.unfinished() == []
            found = tree(root)
            assert found in (before, after), (number, rt.recovered)
            if found == before:
                (await rt.redo("run")).unwrap()
            assert tree(root) == after, number
