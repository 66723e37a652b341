"""A model that goes in circles within one batch is told what it would be told call by call."""

import asyncio

import anyio
import pytest

import handrail
from handrail.policy.loop_guard import STOP_AT, WARN_AT

LOOK = {"name": "look"}
WRITE = {"name": "write_file", "arguments": {"path": "a.txt", "content": "new\n"}}


def told(results):
    return ["this is call number" in one.text for one in results]


@pytest.fixture
def looks():
    """A tool that always says the same, and an event for when it has run often enough."""
    enough = asyncio.Event()
    ran = 0

    @handrail.tool(reads_only=True)
    async def look() -> str:
        """Says the same each time."""
        nonlocal ran
        ran += 1
        if ran == WARN_AT:
            enough.set()
        return "same"

    return look, enough


@pytest.mark.feature("L08")
@pytest.mark.parametrize("allowed", [True, False])
async def test_a_change_that_ends_later_counts_where_it_was_made(open_runtime, looks, allowed):
    look, enough = looks

    async def approver(request):
        await enough.wait()
        return allowed

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            results = await rt.batch([*[LOOK] * (WARN_AT - 1), WRITE, LOOK])

    assert results[WARN_AT - 1].ok is allowed
    assert told(results) == [False] * WARN_AT + [not allowed]


async def test_a_change_made_before_them_all_ends_no_count(open_runtime, looks):
    look, enough = looks

    async def approver(request):
        await enough.wait()
        return True

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            results = await rt.batch([WRITE, *[LOOK] * WARN_AT])

    assert results[0].ok
    assert told(results) == [False] * WARN_AT + [True]


async def test_equal_calls_at_once_are_told_and_refused_as_one_by_one(open_runtime):
    calls = [{"name": "read_file", "arguments": {"path": "gone.txt"}}] * (STOP_AT + 1)
    async with open_runtime() as rt:
        together = await rt.batch(calls)
    async with open_runtime() as rt:
        alone = [await rt.call(one["name"], one["arguments"]) for one in calls]

    assert [one.text for one in together] == [one.text for one in alone]
    assert [one.problem.code for one in together][-2:] == ["blocked"] * 2


async def test_what_was_refused_is_made_again_after_a_change_in_the_batch(workspace, open_runtime):
    workspace.write("b.txt", "same\n")
    read = {"name": "read_file", "arguments": {"path": "b.txt"}}
    async with open_runtime() as rt:
        await rt.batch([read] * STOP_AT)
        refused, *_ = await rt.batch([read])
        _, made = await rt.batch([WRITE, read])

    assert refused.problem.code == "blocked"
    assert (made.ok, made.text) == (True, "same")


async def test_a_call_that_is_no_circle_waits_for_nobody(open_runtime, looks):
    look, _ = looks
    ended = asyncio.Event()
    ends = 0

    def listener(event):
        nonlocal ends
        if event.type == "tool_call_end" and event.tool == "look":
            ends += 1
            if ends == WARN_AT - 1:
                ended.set()

    async def approver(request):
        await ended.wait()
        return True

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            results = await rt.batch([WRITE, *[LOOK] * (WARN_AT - 1)], on_event=listener)

    assert all(one.ok for one in results)


async def test_whoever_waits_for_its_turn_can_be_cancelled(open_runtime, looks):
    look, enough = looks
    let_go = asyncio.Event()

    async def approver(request):
        await let_go.wait()
        return True

    last = {"id": "last", **LOOK}
    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            batch = asyncio.create_task(rt.batch([*[LOOK] * (WARN_AT - 1), WRITE, last]))
            await enough.wait()
            found = await rt.cancel("last")
            let_go.set()
            results = await batch

    assert found
    assert [one.ok for one in results] == [True] * (WARN_AT + 1)


async def test_a_batch_that_is_cancelled_while_one_waits_records_what_it_did(open_runtime, looks):
    look, enough = looks

    async def approver(request):
        await asyncio.Event().wait()

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(look)
        with anyio.fail_after(10):
            batch = asyncio.create_task(rt.batch([*[LOOK] * (WARN_AT - 1), WRITE, LOOK]))
            await enough.wait()
            batch.cancel()
            with pytest.raises(asyncio.CancelledError):
                await batch
        records = await rt.store.calls(limit=9)

    assert sorted(one.completed["status"] for one in records) == ["interrupted", *["ok"] * WARN_AT]
