"""Workers of several machines in one state directory: one at a time works on a task, and a worker is
known to have ended by the lock that only it held.
"""

import asyncio
import fcntl
import os
import sys

import pytest
from tests.support.waiting import wait_until_async

from handrail import __version__
from handrail.cli.main import main
from handrail.host.state.identities import may_still_run, this_process
from handrail.scale import worker_locks
from handrail.scale.ray_executor import core_places
from handrail.scale.ray_worker import RayWorker
from handrail.scale.state import FleetState
from handrail.scale.worker_locks import WorkerPresence, hold_task

pytestmark = pytest.mark.anyio


@pytest.fixture
def anyio_backend():
    return "asyncio"


async def test_a_worker_of_another_machine_has_ended_when_its_lock_is_free(tmp_path):
    living, dead = (f"machine-{os.urandom(4).hex()}/boot/7/9" for _ in range(2))
    (tmp_path / "a").write_text(living)
    (tmp_path / "b").write_text(dead)
    # One that is about to be locked has no name yet.
    (tmp_path / "c").touch()
    presence = WorkerPresence(tmp_path)
    assert may_still_run(living) and may_still_run(dead)

    with (tmp_path / "a").open() as held:
        fcntl.flock(held, fcntl.LOCK_SH)
        presence.note_ended_workers()

        assert may_still_run(living)
        assert not may_still_run(dead)
    presence.note_ended_workers()
    assert not may_still_run(living)
    assert may_still_run(this_process())


async def test_a_task_waits_for_a_worker_that_still_works_on_it(tmp_path):
    order = []

    async def work(name, ends):
        async with hold_task(tmp_path / "locks" / "task"):
            order.append(name)
            await asyncio.wait_for(ends.wait(), 60)
            order.append(f"{name} ends")

    first_ends, second_ends = asyncio.Event(), asyncio.Event()
    second_ends.set()
    first = asyncio.create_task(work("first", first_ends))
    await wait_until_async(lambda: order == ["first"])
    second = asyncio.create_task(work("second", second_ends))
    # It has been refused at least once.
    await asyncio.sleep(0)
    assert order == ["first"]
    first_ends.set()
    await asyncio.wait_for(asyncio.gather(first, second), 60)

    assert order == ["first", "first ends", "second", "second ends"]


async def test_a_task_that_another_worker_keeps_is_unknown(tasks, monkeypatch):
    run = tasks.runner()
    tasks.place().mkdir(parents=True)
    monkeypatch.setattr(worker_locks, "_PATIENCE_S", 0.0)

    with (tasks.place() / "lock").open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        result = await run(tasks.task("a"))

    assert (result["status"], result["problem"]["code"]) == ("unknown", "unavailable")
    # Nothing was decided: the other one may still end it.
    monkeypatch.undo()
    assert (await run(tasks.task("a")))["status"] == "done"


async def test_tasks_of_one_workspace_keep_each_other_out(tasks, monkeypatch):
    run = tasks.runner()
    shared = {"workspace": {"directory": str(tasks.source), "in_place": True}}
    lock = FleetState(tasks.root / "state").task_lock(1, str(tasks.source))
    lock.parent.mkdir(parents=True)
    monkeypatch.setattr(worker_locks, "_PATIENCE_S", 0.0)

    with lock.open("w") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        kept_out = await run(tasks.task("a", **shared), number=2)

    assert kept_out["status"] == "unknown"
    assert (await run(tasks.task("b", **shared), number=3))["status"] == "done"


async def test_a_task_whose_state_cannot_be_kept_fails_and_ends(tasks):
    run = tasks.runner()
    # A file in the way of its directory.
    tasks.place().write_text("")

    result = await run(tasks.task("a"))

    assert (result["status"], result["problem"]["code"]) == ("failed", "store_unavailable")


async def test_an_actor_works_only_where_the_state_and_its_locks_are_shared(tasks):
    state = FleetState(tasks.root / "state")
    settings = {"state": str(state.directory), "token": "t", "lock": -1, "disk_bytes": 1 << 30}
    settings |= {"entries": 1000, "keep": "records", "mode": "accept-edits"}

    async def problem(fleet, version=__version__):
        return await RayWorker(settings, fleet, version).ready() or ""

    assert "does not share" in await problem(this_process())
    with state.locked():
        assert "another fleet" in await problem("other/boot/1/1")
        assert "version 0" in await problem(this_process(), "0")
        assert not await problem(this_process())
    # As a file system shows it that does not share locks.
    state.lock.write_text(this_process())
    assert "locks of other machines" in await problem(this_process())


def test_workers_are_shared_out_by_cores_to_nodes_that_live():
    nodes = [
        {"NodeID": "b", "Alive": True, "Resources": {"CPU": 1.0}},
        {"NodeID": "a", "Alive": True, "Resources": {"CPU": 3.0}},
        {"NodeID": "head", "Alive": True, "Resources": {}},
        {"NodeID": "dead", "Alive": False, "Resources": {"CPU": 9.0}},
    ]

    assert core_places(nodes) == ["a", "b", "a", "a"]
    assert core_places([]) == []


def test_without_ray_a_fleet_says_what_to_install(tasks, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    path = tasks.file([tasks.task("a")])

    assert main(["fleet", "run", str(path), "--executor", "ray"]) != 0

    assert "handrail[ray]" in capsys.readouterr().err
