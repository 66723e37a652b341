"""A call is cancelled once, and its caller's own cancellation is told apart from that."""

import asyncio

import pytest

from handrail.engine.timing import OwnCancellation


async def started(body):
    """A task that has begun to wait, and the cancellation of its call."""
    made, ready = [], asyncio.Event()

    async def run():
        made.append(OwnCancellation())
        ready.set()
        return await body(made[0])

    task = asyncio.create_task(run())
    await ready.wait()
    return task, made[0]


async def wait_for_ever(_):
    await asyncio.Event().wait()


async def test_the_first_request_decides_why_a_call_ended():
    task, own = await started(wait_for_ever)

    own.request(expired=True)
    own.request()

    assert (own.ended, own.expired, task.cancelling()) == (True, True, 1)
    assert own.signal.cancelled
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_a_request_that_is_withdrawn_leaves_the_callers():
    seen = []

    async def body(own):
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            own.uncancel()
            seen.append(own.by_caller)
            if own.by_caller:
                raise

    task, own = await started(body)
    own.request()
    await task
    other, theirs = await started(body)
    theirs.request()
    other.cancel()
    with pytest.raises(asyncio.CancelledError):
        await other

    assert seen == [False, True]
    assert task.cancelling() == 0


@pytest.mark.parametrize("caller_too", [False, True])
async def test_a_tool_that_goes_on_is_left_alone_afterwards(caller_too):
    async def body(own):
        own.request()
        if caller_too:
            asyncio.current_task().cancel()
        await own.clear()
        await asyncio.sleep(0)
        return "went on"

    task, _ = await started(body)

    if caller_too:
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert await task == "went on"
