"""Deadlines and heartbeats of calls, on a clock that the test sets."""

import asyncio
import time

import pytest

from handrail.engine.timing import DeadlineTimer, HandedValue, ValueWithheld, wait_uncancellable


class SetTimer:
    """What was given to `call_later` of the event loop."""

    def __init__(self):
        self.delay = None
        self.call = None

    def call_later(self, delay, call):
        assert self.delay is None, "two timers at once"
        self.delay, self.call = delay, call
        return self

    def cancel(self):
        self.delay = self.call = None

    def fire(self):
        call = self.call
        self.cancel()
        call()


class Calls:
    """A timer with its clock, and the heartbeats that it reported."""

    def __init__(self, monkeypatch, heartbeat_s=10.0):
        self.now = 100.0
        self.beats = []
        self.loop = SetTimer()
        loop = asyncio.get_running_loop()
        monkeypatch.setattr(loop, "call_later", self.loop.call_later)
        self.timer = DeadlineTimer(
            self, heartbeat_s, lambda timer, seconds: self.beats.append((timer.call_id, seconds))
        )

    def monotonic(self):
        return self.now

    def at(self, now):
        self.now = now
        self.loop.fire()


@pytest.fixture
async def calls(monkeypatch):
    return Calls(monkeypatch)


async def test_a_running_call_is_found_until_it_ends(calls):
    one, two = calls.timer.start("a", "read"), calls.timer.start("b", "write")

    assert (calls.timer.find("a"), calls.timer.find("c")) == (one, None)
    assert calls.timer.running() == [one, two]
    calls.timer.unregister(one)
    calls.timer.unregister(one)
    assert (calls.timer.find("a"), calls.timer.running()) == (None, [two])


async def test_heartbeats_come_at_their_interval(calls):
    calls.timer.start("a", "read")
    assert calls.loop.delay == 10

    calls.at(110.0)
    assert (calls.beats, calls.loop.delay) == ([("a", 10.0)], 10)
    calls.at(121.0)
    assert calls.beats[1:] == [("a", 21.0)]
    assert calls.loop.delay == 10


async def test_one_timer_serves_the_earliest_of_all_calls(calls):
    calls.timer.start("a", "read")
    calls.now = 104.0
    calls.timer.start("b", "read")
    assert calls.loop.delay == 10

    calls.at(110.0)
    assert (calls.beats, calls.loop.delay) == ([("a", 10.0)], 4)
    calls.at(114.0)
    assert calls.beats[1:] == [("b", 10.0)]


async def test_without_heartbeats_there_is_no_timer(monkeypatch):
    calls = Calls(monkeypatch, heartbeat_s=0)

    timer = calls.timer.start("a", "read")
    assert calls.loop.delay is None
    calls.timer.limit(timer, 3)

    assert (calls.loop.delay, timer.deadline) == (3, 103)


async def test_a_nearer_deadline_sets_the_timer_again(calls):
    timer = calls.timer.start("a", "read")

    calls.timer.limit(timer, 30)
    assert (timer.deadline, calls.loop.delay) == (130, 10)
    calls.timer.limit(timer, 4)
    assert (timer.deadline, calls.loop.delay) == (104, 4)
    calls.timer.limit(timer, None)
    assert (timer.deadline, calls.loop.delay) == (None, 4)


async def test_a_suspended_call_has_no_deadline(calls):
    timer = calls.timer.start("a", "read")
    calls.timer.limit(timer, 4)

    timer.suspend()

    assert timer.deadline is None


async def test_a_late_timer_fires_at_once(calls):
    timer = calls.timer.start("a", "read")

    calls.timer.limit(timer, -5)

    assert calls.loop.delay == 0


async def test_closing_stops_the_timer(calls):
    calls.timer.start("a", "read")

    calls.timer.close()
    calls.timer.close()

    assert calls.loop.delay is None


async def test_after_the_last_call_the_timer_is_not_set_again(calls):
    timer = calls.timer.start("a", "read")
    calls.timer.unregister(timer)

    calls.at(110.0)

    assert (calls.beats, calls.loop.delay) == ([], None)


@pytest.mark.parametrize(("now", "ended"), [(103.9, False), (104.0, True)])
async def test_a_deadline_ends_its_call_only(monkeypatch, now, ended):
    made = []

    async def call(name, limit_s):
        made.append(calls.timer.start(name, "read"))
        calls.timer.limit(made[-1], limit_s)
        await asyncio.Event().wait()

    calls = Calls(monkeypatch)
    tasks = [asyncio.create_task(call("a", 4)), asyncio.create_task(call("b", 90))]
    await asyncio.sleep(0)
    calls.at(now)

    first, second = made
    assert (first.cancellation.ended, first.cancellation.expired) == (ended, ended)
    assert (second.cancellation.ended, second.deadline) == (False, 190)
    assert (first.deadline is None) is ended
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_every_call_but_one_is_ended(calls):
    async def call(name):
        made.append(calls.timer.start(name, "read"))
        await asyncio.Event().wait()

    made = []
    tasks = [asyncio.create_task(call(name)) for name in "abc"]
    await asyncio.sleep(0)

    calls.timer.end_others(made[1])

    assert [one.cancellation.ended for one in made] == [True, False, True]
    assert [one.cancellation.expired for one in made] == [False] * 3
    tasks[1].cancel()
    await asyncio.gather(*tasks, return_exceptions=True)


async def test_idle_waits_for_the_calls_of_others():
    timer = DeadlineTimer(time, 0, lambda *_: None)
    own = timer.start("own", "read")
    other = await asyncio.create_task(started(timer))
    waiting = asyncio.create_task(timer.idle())
    # The task that waits is not the one that called.
    timer.unregister(own)

    await asyncio.sleep(0.02)
    assert not waiting.done()
    timer.unregister(other)
    await asyncio.wait_for(waiting, 10)


async def started(timer):
    return timer.start("other", "read")


async def test_idle_does_not_wait_for_its_own_call():
    timer = DeadlineTimer(time, 0, lambda *_: None)

    async def own_idle():
        timer.start("own", "read")
        await timer.idle()

    await asyncio.wait_for(own_idle(), 10)


async def test_a_handed_value_is_the_first_one():
    value = HandedValue()
    value.give(1)
    value.give(2)
    value.fail()

    for _ in range(2):
        assert await asyncio.wait_for(asyncio.to_thread(value.wait), 10) == 1


async def test_a_value_that_never_comes_is_withheld():
    value = HandedValue()
    value.fail()

    with pytest.raises(ValueWithheld):
        await asyncio.wait_for(asyncio.to_thread(value.wait), 10)


@pytest.mark.parametrize("cancelled", [False, True])
async def test_work_is_waited_for_even_if_the_waiting_is_cancelled(cancelled):
    work = asyncio.get_running_loop().create_future()
    waiting = asyncio.create_task(wait_uncancellable(work))
    await asyncio.sleep(0)

    if cancelled:
        waiting.cancel()
        await asyncio.sleep(0)
        assert not waiting.done()
    work.set_result(1)

    assert isinstance(await waiting, asyncio.CancelledError) is cancelled
