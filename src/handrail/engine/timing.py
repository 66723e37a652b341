"""Deadlines and heartbeats of all running calls, from one timer per runtime; and blocking work in
threads that is always awaited, even when the waiting task is cancelled.

A call that never suspends costs two dictionary operations here and no task or timer.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Generic, TypeVar

from handrail.core.context import CancelSignal
from handrail.core.ports.machine import Clock

if TYPE_CHECKING:
    from handrail.core.events import Listener

T = TypeVar("T")

_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.005


class OwnCancellation:
    """Cancels the task of one call, and distinguishes that cancellation from the caller's own.

    asyncio counts the requests to cancel a task; at most one of them is made here.
    """

    __slots__ = ("_requests_before", "ended", "expired", "signal", "task")

    def __init__(self) -> None:
        self.task = asyncio.current_task()
        self._requests_before = self.task.cancelling() if self.task is not None else 0
        # Set for tools that poll in a thread.
        self.signal = CancelSignal()
        # Whether the call was ended, and whether by its deadline.
        self.ended = False
        self.expired = False

    def request(self, *, expired: bool = False) -> None:
        """Cancel the task, once; the pipeline turns that into an outcome."""
        if self.ended or self.task is None:
            return
        self.ended = True
        self.expired = expired
        self.signal.set()
        self.task.cancel()

    def uncancel(self) -> None:
        """Withdraw the request, so that it ends this call and nothing else."""
        if self.ended and self.task is not None and self.task.cancelling() > self._requests_before:
            self.task.uncancel()

    @property
    def by_caller(self) -> bool:
        """Return, after `uncancel`, whether the caller cancelled the task too."""
        return self.task is not None and self.task.cancelling() > self._requests_before

    async def clear(self) -> None:
        """Withdraw the request after a tool that continued although it was cancelled; raises
        CancelledError if the caller cancelled too.
        """
        try:
            await asyncio.sleep(0)
        except asyncio.CancelledError:
            self.uncancel()
            if self.by_caller:
                raise
        self.uncancel()


class CallTimer:
    """The deadline and the heartbeat of one running call."""

    __slots__ = ("beat_at", "call_id", "cancellation", "deadline", "listener", "started", "tool")

    def __init__(
        self, call_id: str, tool: str, started: float, beat_at: float, listener: Listener | None
    ) -> None:
        self.call_id = call_id
        self.tool = tool
        self.listener = listener
        self.started = started
        self.beat_at = beat_at
        self.deadline: float | None = None
        self.cancellation = OwnCancellation()

    def suspend(self) -> None:
        """Remove the deadline: what follows, such as a question to the user, has no limit."""
        self.deadline = None

    def end(self, *, expired: bool = False) -> None:
        """Cancel the call."""
        self.cancellation.request(expired=expired)


class DeadlineTimer:
    """Deadlines and heartbeats of the running calls of one runtime."""

    def __init__(
        self, clock: Clock, heartbeat_s: float, beat: Callable[[CallTimer, float], None]
    ) -> None:
        self.clock = clock
        self._heartbeat_s = heartbeat_s
        self._beat = beat
        self._timers: dict[int, CallTimer] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def start(self, call_id: str, tool: str, listener: Listener | None = None) -> CallTimer:
        """Start the timer of a call; it runs until `unregister`."""
        now = self.clock.monotonic()
        beat_at = now + self._heartbeat_s if self._heartbeat_s > 0 else float("inf")
        timer = CallTimer(call_id, tool, now, beat_at, listener)
        self._timers[id(timer)] = timer
        if self._timer is None:
            self._arm(now)
        return timer

    def limit(self, timer: CallTimer, timeout_s: float | None) -> None:
        """Set the deadline of a call, counted from now; None removes it."""
        if timeout_s is None:
            timer.deadline = None
            return
        now = self.clock.monotonic()
        timer.deadline = deadline = now + timeout_s
        if deadline < self._due or self._timer is None:
            self._arm(now)

    def unregister(self, timer: CallTimer) -> None:
        """Stop the timer of a call."""
        self._timers.pop(id(timer), None)

    def find(self, call_id: str) -> CallTimer | None:
        """Return the running call of an id."""
        return next((one for one in self._timers.values() if one.call_id == call_id), None)

    def running(self) -> list[CallTimer]:
        """All running calls."""
        return list(self._timers.values())

    def end_others(self, timer: CallTimer) -> None:
        """End every running call but one."""
        for other in self.running():
            if other is not timer:
                other.end()

    async def idle(self) -> None:
        """Wait until every cancelled call has written its record, at most for some seconds."""
        own = asyncio.current_task()
        waited = 0.0
        while waited < _PATIENCE_S and any(
            timer.cancellation.task is not own for timer in self.running()
        ):
            await asyncio.sleep(_LOOK_S)
            waited += _LOOK_S

    def close(self) -> None:
        """Stop the timer."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _arm(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        due = min(
            (min(one.beat_at, one.deadline or float("inf")) for one in self._timers.values()),
            default=float("inf"),
        )
        if due != float("inf"):
            self._due = due
            self._timer = asyncio.get_running_loop().call_later(max(0.0, due - now), self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self.clock.monotonic()
        for timer in self.running():
            if timer.deadline is not None and now >= timer.deadline:
                timer.deadline = None
                timer.end(expired=True)
            if now >= timer.beat_at:
                timer.beat_at = now + self._heartbeat_s
                self._beat(timer, now - timer.started)
        self._arm(now)


class ValueWithheld(Exception):
    """The value of a `HandedValue` will never be set; the setter raises the cause."""


class HandedValue(Generic[T]):
    """A value that one thread waits for and another one sets."""

    def __init__(self) -> None:
        self._ready = threading.Event()
        self._value: list[T] = []

    def give(self, value: T) -> None:
        """Set the value; setting it again has no effect."""
        self._value.append(value)
        self._ready.set()

    def fail(self) -> None:
        """Make `wait` raise, unless the value is set."""
        self._ready.set()

    def wait(self) -> T:
        """Block until the value is set and return it; raises `ValueWithheld` after `fail`."""
        self._ready.wait()
        if not self._value:
            raise ValueWithheld
        return self._value[0]


async def run_in_thread_uncancellable(work: Callable[[], T]) -> T:
    """Run blocking work in a thread and return its result. A cancellation is raised only after
    the work has ended, so that its effects are known.
    """
    return await join_uncancellable(asyncio.get_running_loop().run_in_executor(None, work))


def start_in_thread(work: Callable[[Callable[[], None]], None]) -> asyncio.Future[None]:
    """Start `work(done)` in a thread. The returned future resolves when `work` calls `done()` or
    returns; what `work` does after `done()`, such as cleaning up, continues.
    """
    loop = asyncio.get_running_loop()
    finished: asyncio.Future[None] = loop.create_future()

    def resolve(error: BaseException | None) -> None:
        if finished.done():
            return
        if error is None:
            finished.set_result(None)
        else:
            finished.set_exception(error)

    def done() -> None:
        # If the loop was closed meanwhile, no task waits.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(resolve, None)

    running = loop.run_in_executor(None, work, done)
    running.add_done_callback(lambda ended: resolve(ended.exception()))
    return finished


async def join_uncancellable(work: asyncio.Future[T]) -> T:
    """Wait for work even if cancelled, and return its result. Raises the error of the work; if
    there is none, the CancelledError if one arrived.
    """
    cancelled = await wait_uncancellable(work)
    if cancelled is not None and work.exception() is None:
        raise cancelled
    return work.result()


async def wait_uncancellable(work: asyncio.Future[T]) -> asyncio.CancelledError | None:
    """Wait for work even if cancelled. Never raises; returns the CancelledError if one arrived."""
    cancelled: asyncio.CancelledError | None = None
    while not work.done():
        try:
            await asyncio.shield(work)
        except asyncio.CancelledError as error:
            cancelled = error
        except BaseException:  # noqa: BLE001, S110 - the caller looks at the future
            pass
    if not work.cancelled():
        # Marks the exception as retrieved; otherwise asyncio would log it.
        work.exception()
    return cancelled
