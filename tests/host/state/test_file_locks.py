"""Locks between processes: exclusive, all or nothing, gone with their holder."""

import os
import subprocess
import sys

import anyio
import pytest
from tests.support.waiting import running, wait_exit, wait_until

from handrail.core.problems import ProblemRaised
from handrail.host.state import file_locks
from handrail.host.state.file_locks import FileLocks

HOLDER = """
import sys
from pathlib import Path
from handrail.host.state.file_locks import FileLocks
held = FileLocks(Path(sys.argv[1])).try_acquire(sys.argv[2:])
print("held" if held else "busy", flush=True)
sys.stdin.read()
"""


linux_only = pytest.mark.skipif(sys.platform != "linux", reason="needs locks of open files")


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


@linux_only
async def test_a_key_that_another_awaits_is_not_taken_before_it(locks):
    held = locks.try_acquire(["file:/a"])
    got = []

    async def wait():
        got.append(await locks.acquire(["file:/a"]))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(wait)
            await anyio.lowlevel.checkpoint()
            held.release()
            assert locks.try_acquire(["file:/a"]) is None

    got[0].release()


async def test_cancelled_waiting_leaves_nothing_open(locks):
    held = locks.try_acquire(["file:/b"])
    counts = []
    # The first time a handle for events is opened, which the process keeps.
    for _ in range(3):
        with anyio.move_on_after(0.01) as scope:
            await locks.acquire(["file:/a", "file:/b"])
        assert scope.cancelled_caught
        counts.append(open_files())

    assert counts[1:] == counts[:1] * 2
    held.release()
    again = locks.try_acquire(["file:/a", "file:/b"])
    assert again is not None
    again.release()


WAITER = """
import anyio, sys
from pathlib import Path
from handrail.host.state.file_locks import FileLocks

async def main():
    held = await FileLocks(Path(sys.argv[1])).acquire(["file:/a"])
    with open(sys.argv[2], "a") as log:
        log.write(sys.argv[3])
    held.release()

anyio.run(main)
"""


def numbers_taken(directory):
    """How many processes have asked for the key while it was held."""
    return sum(file.stat().st_size for file in directory.glob("[0-9]*.lock"))


def start_waiter(directory, log, name):
    """Start a process that waits for the key, after those that wait already."""
    taken = numbers_taken(directory)
    started = subprocess.Popen([sys.executable, "-c", WAITER, directory, log, name])
    wait_until(lambda: numbers_taken(directory) > taken)
    return started


@pytest.mark.finding("F75")
@linux_only
@pytest.mark.parametrize("killed", [None, 0, 2], ids=["all live", "first killed", "third killed"])
def test_processes_get_a_key_in_the_order_in_which_they_asked_for_it(tmp_path, killed):
    log = tmp_path / "log.txt"
    directory = tmp_path / "locks"
    directory.mkdir()
    locks = FileLocks(directory)
    held = locks.try_acquire(["file:/a"])
    waiters = [start_waiter(directory, log, str(number)) for number in range(5)]
    # Who waits is served before who only tries.
    assert locks.try_acquire(["file:/a"]) is None
    if killed is not None:
        waiters[killed].kill()
        wait_exit(waiters[killed])

    held.release()
    for waiter in waiters:
        wait_exit(waiter)

    served = [str(number) for number in range(5) if number != killed]
    assert log.read_text() == "".join(served)


@pytest.mark.finding("F75")
@linux_only
def test_the_next_process_gets_the_key_of_a_killed_one(tmp_path):
    script = [sys.executable, "-c", HOLDER, str(tmp_path), "file:/a"]
    with running(subprocess.Popen(script, stdin=subprocess.PIPE, stdout=subprocess.PIPE)) as holder:
        assert holder.stdout.readline() == b"held\n"
        waiter = start_waiter(tmp_path, tmp_path / "log.txt", "served")
        holder.kill()
        wait_exit(waiter)

    assert (tmp_path / "log.txt").read_text() == "served"


@pytest.mark.finding("F75")
@pytest.mark.parametrize("missing", ["events", "queue"])
async def test_where_the_system_has_no_queue_or_events_waiting_ends_too(
    locks, monkeypatch, missing
):
    if missing == "events":
        monkeypatch.setattr(file_locks, "_inotify", lambda: None)
        monkeypatch.setattr(file_locks, "_idle_events", [])
    else:
        monkeypatch.setattr(file_locks, "_OFD_SET", None)
        monkeypatch.setattr(file_locks, "_OFD_GET", None)
    held = locks.try_acquire(["file:/a"])

    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(take_and_release, locks)
            await anyio.lowlevel.checkpoint()
            held.release()


async def take_and_release(locks):
    (await locks.acquire(["file:/a"])).release()


@pytest.mark.finding("F75")
@linux_only
async def test_numbers_start_again_when_many_were_used(locks, tmp_path, monkeypatch):
    monkeypatch.setattr(file_locks, "_MOST_NUMBERS", 3)
    for _ in range(10):
        held = locks.try_acquire(["file:/a"])
        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(take_and_release, locks)
                await anyio.lowlevel.checkpoint()
                held.release()

    assert 1 <= numbers_taken(tmp_path) <= 4


def test_a_directory_that_cannot_be_used_is_told(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        FileLocks(tmp_path / "missing").try_acquire(["file:/a"])

    assert raised.value.problem.code == "unavailable"


def test_there_are_at_most_1024_lock_files(tmp_path, locks):
    for start in range(0, 8000, 500):
        locks.try_acquire([f"file:/{n}" for n in range(start, start + 500)]).release()

    assert 900 < len(os.listdir(tmp_path)) <= 1024
