"""Queues of footprints: who waits for whom, and who goes on when one leaves."""

import asyncio

import pytest

from handrail.core.footprint import Access, Footprint, Touch
from handrail.core.places import Kind, Place
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.engine.batch.locks import FootprintQueue, LockScope, written_files


def footprint(text, **more):
    """`r:a w:b`: files that are read and written."""
    kinds = {"r": Access.READ, "w": Access.WRITE}
    touches = [Touch(f"file:/{one[2:]}", kinds[one[0]]) for one in text.split()]
    return Footprint(tuple(touches), **more)


ANYTHING = Footprint(open_ended=True)


@pytest.fixture
def queue():
    return FootprintQueue()


def enter(queue, *texts):
    return [queue.enter(footprint(one) if isinstance(one, str) else one, (), None) for one in texts]


@pytest.mark.parametrize(
    ("first", "second", "waits"),
    [
        ("r:a", "r:a", False),
        ("r:a", "w:a", True),
        ("w:a", "r:a", True),
        ("w:a", "w:a", True),
        ("w:a", "w:b", False),
        ("w:a", "r:b", False),
        ("w:a r:b", "w:b", True),
        ("r:a", ANYTHING, True),
        (ANYTHING, "r:a", True),
        (ANYTHING, ANYTHING, True),
    ],
)
def test_who_waits(queue, first, second, waits):
    one, two = enter(queue, first, second)

    assert (one.ready, two.ready) == (True, not waits)
    queue.leave(one)
    assert two.ready
    queue.leave(two)
    assert enter(queue, "w:a")[0].ready


def test_entries_go_on_in_the_order_of_their_arrival(queue):
    a, b, c, d = enter(queue, "w:x", "r:x", "r:x", "w:x")
    assert [one.ready for one in (a, b, c, d)] == [True, False, False, False]
    queue.leave(a)
    assert [one.ready for one in (b, c, d)] == [True, True, False]
    queue.leave(c)
    assert not d.ready
    queue.leave(b)
    assert d.ready
    assert [one.number for one in (a, b, c, d)] == [0, 1, 2, 3]


def test_a_later_entry_does_not_pass_one_that_waits(queue):
    a, b, c = enter(queue, "r:x", "w:x", "r:x")

    assert (b.ready, c.ready) == (False, False)
    queue.leave(a)
    assert (b.ready, c.ready) == (True, False)
    queue.leave(b)
    assert c.ready


def test_an_entry_that_is_abandoned_holds_nobody_up(queue):
    a, b, c = enter(queue, "w:x", "w:x", "w:x")
    queue.leave(b)
    assert not c.ready
    queue.leave(a)

    assert c.ready


def test_an_entry_waits_for_all_of_several(queue):
    a, b, c = enter(queue, "w:x", "w:y", "w:x w:y")
    queue.leave(a)
    assert not c.ready
    queue.leave(b)
    assert c.ready


def test_who_is_ready_is_told_once(queue):
    told = []
    a = queue.enter(footprint("w:x"), (), told.append)
    b = queue.enter(footprint("w:x"), (), told.append)
    c = queue.enter(footprint("w:x"), (), told.append)
    queue.leave(b)
    queue.leave(a)

    assert told == [c]


def test_a_call_inside_another_does_not_wait_for_it(queue):
    outer, other = enter(queue, "w:x", "w:y")
    inner = queue.enter(footprint("w:x"), (outer,))
    blocked = queue.enter(footprint("w:y"), (outer,))

    assert (inner.ready, blocked.ready) == (True, False)
    queue.leave(other)
    assert blocked.ready


async def test_waiting_ends_when_the_entry_is_ready(queue):
    a, b = enter(queue, "w:x", "w:x")
    waiting = asyncio.gather(*(asyncio.wait_for(one.wait(), 5) for one in (a, b)))
    await asyncio.sleep(0)
    assert not waiting.done()
    queue.leave(a)
    await waiting


class FakeProcessLocks:
    """Notes which keys are held."""

    def __init__(self):
        self.asked, self.held = [], 0

    async def acquire(self, keys):
        self.asked.append(list(keys))
        self.held += 1
        return self

    def release(self):
        self.held -= 1


async def test_locks_between_processes_are_for_what_is_written(queue):
    between = FakeProcessLocks()

    async with LockScope(queue, between, footprint("r:a w:b"), None):
        assert between.held == 1
        async with LockScope(queue, between, footprint("w:b w:c"), None):
            assert between.held == 2
        async with LockScope(queue, between, footprint("w:b"), None):
            assert between.held == 1
    async with LockScope(queue, between, footprint("r:a"), None):
        assert between.held == 0

    assert (between.asked, between.held) == ([["file:/b"], ["file:/c"]], 0)


async def test_a_failed_lock_holds_nobody_up(queue):
    class Broken:
        async def acquire(self, keys):
            raise OSError("no locks")

    with pytest.raises(OSError, match="no locks"):
        async with LockScope(queue, Broken(), footprint("w:a"), None):
            pass

    assert enter(queue, "w:a")[0].ready


async def test_a_second_call_runs_after_the_first(queue):
    order = []

    async def run(name):
        async with LockScope(queue, None, footprint("w:a"), None):
            order.append(f"{name} begins")
            await asyncio.sleep(0)
            order.append(f"{name} ends")

    await asyncio.wait_for(asyncio.gather(run("one"), run("two")), 5)

    assert order == ["one begins", "one ends", "two begins", "two ends"]


def test_files_that_other_processes_must_not_write():
    touched = Footprint(
        (
            Touch("file:/b", Access.WRITE),
            Touch("file:/a", Access.WRITE),
            Touch("file:/c", Access.READ),
            Touch("agent:x", Access.WRITE),
        )
    )
    place = Place(0, "d", "d", "/d", Kind.FILE)
    plan = Plan((Change(place, None, Content(b"x")),), "text", preview="text")

    assert list(written_files(touched)) == ["file:/a", "file:/b"]
    assert list(written_files(touched, plan)) == ["file:/a", "file:/b", "file:/d"]
