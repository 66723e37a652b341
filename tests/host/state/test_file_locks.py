"""Locks between processes: exclusive, all or nothing, gone with their holder."""

import os
import subprocess
import sys

import anyio
import pytest
from tests.support.waiting import running, wait_exit

from handrail.core.problems import ProblemRaised
from handrail.host.state.file_locks import FileLocks

HOLDER = """
import sys
from pathlib import Path
from handrail.host.state.file_locks import FileLocks
held = FileLocks(Path(sys.argv[1])).try_acquire(sys.argv[2:])
print("held" if held else "busy", flush=True)
sys.stdin.read()
"""


def open_files():
    return len(os.listdir("/proc/self/fd"))


@pytest.fixture
def locks(tmp_path):
    return FileLocks(tmp_path)


def test_a_key_is_held_by_one_at_a_time(locks):
    held = locks.try_acquire(["file:/a"])

    assert locks.try_acquire(["file:/a"]) is None
    held.release()
    held.release()
    again = locks.try_acquire(["file:/a"])
    assert again is not None
    again.release()


def test_several_keys_are_taken_all_or_none(locks):
    before = open_files()
    held = locks.try_acquire(["file:/b"])

    assert locks.try_acquire(["file:/a", "file:/b", "file:/c"]) is None

    other = locks.try_acquire(["file:/a", "file:/c", "file:/a"])
    assert other is not None
    held.release()
    other.release()
    assert open_files() == before


def test_no_keys_need_no_lock(locks):
    assert locks.try_acquire([]) is not None


def test_another_process_is_kept_out_and_its_death_frees_the_key(tmp_path, locks):
    script = [sys.executable, "-c", HOLDER, str(tmp_path), "file:/a"]
    started = subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with running(started) as holder:
        assert holder.stdout.readline() == b"held\n"
        assert locks.try_acquire(["file:/a"]) is None
        holder.kill()
        wait_exit(holder)

        held = locks.try_acquire(["file:/a"])

    assert held is not None
    held.release()


async def test_waiting_ends_when_the_key_is_free(locks):
    held = locks.try_acquire(["file:/a"])
    order = []

    async def wait():
        got = await locks.acquire(["file:/a"])
        order.append("got")
        got.release()

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            for _ in range(3):
                await anyio.lowlevel.checkpoint()
            order.append("released")
            held.release()

    assert order == ["released", "got"]


async def test_cancelled_waiting_leaves_nothing_open(locks):
    held = locks.try_acquire(["file:/b"])
    before = open_files()

    with anyio.move_on_after(0.01) as scope:
        await locks.acquire(["file:/a", "file:/b"])

    assert scope.cancelled_caught
    assert open_files() == before
    held.release()


def test_a_directory_that_cannot_be_used_is_told(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        FileLocks(tmp_path / "missing").try_acquire(["file:/a"])

    assert raised.value.problem.code == "unavailable"


def test_there_are_at_most_1024_lock_files(tmp_path, locks):
    for start in range(0, 8000, 500):
        locks.try_acquire([f"file:/{n}" for n in range(start, start + 500)]).release()

    assert 900 < len(os.listdir(tmp_path)) <= 1024
