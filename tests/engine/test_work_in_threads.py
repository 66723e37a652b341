"""Work in a thread: its caller goes on when it says so, at the latest when it ends."""

import threading

import anyio
import pytest

from handrail.engine.timing import start_in_thread


async def test_a_caller_goes_on_while_work_cleans_up():
    may_end, ended = threading.Event(), threading.Event()

    def work(done):
        done()
        may_end.wait(60)
        ended.set()

    with anyio.fail_after(60):
        await start_in_thread(work)
        was_running = not ended.is_set()
        may_end.set()
        await anyio.to_thread.run_sync(ended.wait, 60)

    assert was_running


async def test_work_that_says_nothing_is_waited_for():
    done = []

    with anyio.fail_after(60):
        await start_in_thread(lambda _: done.append("work"))

    assert done == ["work"]


async def test_an_error_of_the_work_is_raised_where_it_is_awaited():
    def work(_):
        raise LookupError("gone")

    with anyio.fail_after(60), pytest.raises(LookupError, match="gone"):
        await start_in_thread(work)


async def test_an_error_after_the_caller_went_on_is_not_raised():
    def work(done):
        done()
        raise LookupError("gone")

    with anyio.fail_after(60):
        await start_in_thread(work)
