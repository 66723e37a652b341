"""Locks of running calls: which keys other processes are kept from, and when they are free again."""

import asyncio
from contextvars import Context
from types import SimpleNamespace

import anyio
import pytest

from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.plan import Plan
from handrail.engine.batch.locks import Locks, written_files
from handrail.engine.prepare.prepared_call import CallScope

WRITES_B_AND_A = Footprint(
    (
        Touch("file:/w/b", Access.WRITE),
        Touch("file:/w/a", Access.WRITE),
        Touch("file:/w/c", Access.READ),
        Touch("agent:x", Access.WRITE),
    )
)
WRITES_A = Footprint((Touch("file:/w/a", Access.WRITE),))
READS_A = Footprint((Touch("file:/w/a", Access.READ),))
WRITES = {"reads_only": False}


class SharedLocks:
    """Locks between processes that note what is asked for."""

    def __init__(self, failure=None):
        self.acquired = []
        self.released = 0
        self._failure = failure

    async def acquire(self, keys):
        if self._failure:
            raise self._failure
        self.acquired.append(keys)
        return self

    def release(self):
        self.released += 1


def plan_of(*paths):
    changes = tuple(SimpleNamespace(place=SimpleNamespace(absolute=path)) for path in paths)
    return Plan(changes, "")


def test_written_files_are_those_that_other_processes_could_write_too():
    assert written_files(WRITES_B_AND_A) == ["file:/w/a", "file:/w/b"]
    assert written_files(READS_A) == []
    assert written_files(READS_A, plan_of("/w/z", "/w/y")) == ["file:/w/y", "file:/w/z"]
    assert written_files(WRITES_A, plan_of("/w/a")) == ["file:/w/a"]


@pytest.mark.parametrize(
    ("scope", "plan", "keys"),
    [
        (CallScope(footprint=WRITES_A, **WRITES), None, [["file:/w/a"]]),
        (CallScope(footprint=READS_A), None, []),
        (CallScope(footprint=READS_A, **WRITES), None, []),
        (CallScope(footprint=READS_A), plan_of("/w/z"), [["file:/w/z"]]),
        (CallScope(footprint=WRITES_A), None, []),
    ],
)
async def test_only_what_is_written_is_locked_between_processes(scope, plan, keys):
    shared = SharedLocks()

    async with Locks(shared).hold(scope, plan):
        assert shared.acquired == keys
        assert shared.released == 0

    assert shared.released == len(keys)


async def test_a_call_inside_another_does_not_lock_its_files_again():
    shared = SharedLocks()
    locks = Locks(shared)
    outer = CallScope(footprint=WRITES_A, **WRITES)
    inner = CallScope(footprint=WRITES_B_AND_A, **WRITES)

    async with locks.hold(outer), locks.hold(inner):
        pass

    assert shared.acquired == [["file:/w/a"], ["file:/w/b"]]
    assert shared.released == 2


async def test_a_lock_that_cannot_be_had_blocks_nobody():
    locks = Locks(SharedLocks(OSError()))
    scope = CallScope(footprint=WRITES_A, **WRITES)

    with pytest.raises(OSError):
        async with locks.hold(scope):
            pass

    with anyio.fail_after(5):
        async with locks.hold(CallScope(footprint=WRITES_A)):
            pass


async def enter(locks, footprint, entered, name):
    async with locks.hold(CallScope(footprint=footprint)):
        entered.append(name)


def start(locks, footprint, entered, name):
    """A task that is inside of no other call."""
    return asyncio.create_task(enter(locks, footprint, entered, name), context=Context())


async def test_a_conflicting_call_waits_and_another_does_not():
    locks, entered = Locks(None), []

    async with locks.hold(CallScope(footprint=WRITES_A)):
        reader = start(locks, READS_A, entered, "reader")
        other = start(locks, Footprint(), entered, "other")
        await asyncio.wait_for(other, 5)
        assert entered == ["other"]
    await asyncio.wait_for(reader, 5)

    assert entered == ["other", "reader"]


async def test_a_call_that_waits_for_an_agent_holds_nothing():
    locks, entered = Locks(None), []

    async with locks.hold(CallScope(footprint=WRITES_A)):
        locks.detach_call()
        await asyncio.wait_for(start(locks, WRITES_A, entered, "agent"), 5)

    assert entered == ["agent"]


async def test_a_call_of_an_agent_waits_for_the_calls_around_the_one_that_waits():
    locks, entered = Locks(None), []

    async with locks.hold(CallScope(footprint=WRITES_A)):
        waiting = start(locks, WRITES_A, entered, "later")
        context = locks.detach_call()
        task = asyncio.create_task(enter(locks, READS_A, entered, "agent"), context=context)
        await asyncio.wait_for(asyncio.gather(waiting, task), 5)

    assert sorted(entered) == ["agent", "later"]
