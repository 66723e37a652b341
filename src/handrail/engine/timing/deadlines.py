"""Deadlines and heartbeats of all running calls, from one timer per runtime.

A call that never suspends costs two dictionary operations here and no task, no timer.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Final

from handrail.core.context import CancelSignal
from handrail.core.events import Listener
from handrail.core.ports import Clock

_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.005


class CallTimer:
    """One running call: since when, until when, and whether it was ended by us.

    A cancellation of ours (`end`) is told from the caller's own by counting: asyncio counts
    the requests to cancel a task, and exactly one of them is ours.
    """

    __slots__ = (
        "_asked_before",
        "beat_at",
        "call_id",
        "deadline",
        "ended",
        "expired",
        "listener",
        "signal",
        "started",
        "task",
        "tool",
    )

    def __init__(
        self, call_id: str, tool: str, started: float, beat_at: float, listener: Listener | None
    ) -> None:
        self.call_id = call_id
        self.tool = tool
        self.started = started
        self.beat_at = beat_at
        self.listener = listener
        self.deadline: float | None = None
        self.task = asyncio.current_task()
        self._asked_before = self.task.cancelling() if self.task is not None else 0
        self.signal = CancelSignal()
        self.expired = False
        self.ended = False

    def end(self, *, expired: bool = False) -> None:
        """Cancel the call's task, once; the pipeline turns that into a result."""
        if self.ended or self.task is None:
            return
        self.ended = True
        self.expired = expired
        self.signal.set()
        self.task.cancel()

    def take_back(self) -> None:
        """Withdraw our own request to cancel, so that it ends this call and nothing else."""
        if self.ended and self.task is not None and self.task.cancelling() > self._asked_before:
            self.task.uncancel()

    @property
    def cancelled_by_caller(self) -> bool:
        """After `take_back`: whether somebody else wants the task to end."""
        return self.task is not None and self.task.cancelling() > self._asked_before


class DeadlineTimer:
    """Looks after the running calls of one runtime."""

    def __init__(
        self, clock: Clock, heartbeat_s: float, beat: Callable[[CallTimer, float], None]
    ) -> None:
        self._clock = clock
        self._heartbeat_s = heartbeat_s
        self._beat = beat
        self._watches: dict[int, CallTimer] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0

    def watch(self, call_id: str, tool: str, listener: Listener | None = None) -> CallTimer:
        """Look after a call from now on, until `forget`."""
        now = self._clock.monotonic()
        beat_at = now + self._heartbeat_s if self._heartbeat_s > 0 else float("inf")
        watch = CallTimer(call_id, tool, now, beat_at, listener)
        self._watches[id(watch)] = watch
        if self._timer is None:
            self._arm(now)
        return watch

    def limit(self, watch: CallTimer, timeout_s: float | None) -> None:
        """Set the deadline of a call, counted from now; None: it has none."""
        if timeout_s is None:
            watch.deadline = None
            return
        now = self._clock.monotonic()
        watch.deadline = deadline = now + timeout_s
        if deadline < self._due or self._timer is None:
            self._arm(now)

    def forget(self, watch: CallTimer) -> None:
        """The call is over."""
        self._watches.pop(id(watch), None)

    def find(self, call_id: str) -> CallTimer | None:
        """The running call of an id."""
        return next((one for one in self._watches.values() if one.call_id == call_id), None)

    def running(self) -> list[CallTimer]:
        """All running calls."""
        return list(self._watches.values())

    def end_others(self, watch: CallTimer) -> None:
        """End every running call but one."""
        for other in self.running():
            if other is not watch:
                other.end()

    async def idle(self) -> None:
        """Until every call that was ended has settled; its record must not come too late."""
        own = asyncio.current_task()
        waited = 0.0
        while waited < _PATIENCE_S and any(watch.task is not own for watch in self.running()):
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
            (min(one.beat_at, one.deadline or float("inf")) for one in self._watches.values()),
            default=float("inf"),
        )
        if due != float("inf"):
            self._due = due
            self._timer = asyncio.get_running_loop().call_later(max(0.0, due - now), self._tick)

    def _tick(self) -> None:
        self._timer = None
        now = self._clock.monotonic()
        for watch in self.running():
            if watch.deadline is not None and now >= watch.deadline:
                watch.deadline = None
                watch.end(expired=True)
            if now >= watch.beat_at:
                watch.beat_at = now + self._heartbeat_s
                self._beat(watch, now - watch.started)
        self._arm(now)
