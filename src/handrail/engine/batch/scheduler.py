"""Runs calls in order: a call waits for every earlier call whose footprint conflicts with its own,
and for nothing else.

`order` is the pure rule; `Scheduler` applies it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextvars import ContextVar
from heapq import heappop, heappush
from typing import NamedTuple, TypeVar

from handrail.core.footprint import Footprint
from handrail.core.results import ToolResult
from handrail.engine.batch.footprint_index import Waves, find_conflicts
from handrail.engine.batch.locks import FootprintQueue, QueueEntry
from handrail.engine.batch.pacing import Pacer
from handrail.engine.prepare.prepared_call import PreparedCall

T = TypeVar("T")


class Ordering(NamedTuple):
    """How calls would run: `waits[i]` are the earlier calls that call i waits for; `groups` are the
    calls that may run together, wave by wave.
    """

    ids: tuple[str, ...]
    waits: tuple[tuple[int, ...], ...]

    @property
    def groups(self) -> tuple[tuple[str, ...], ...]:
        """The ids by wave: a call is one wave behind the last call that it waits for."""
        wave: list[int] = []
        for earlier in self.waits:
            wave.append(1 + max((wave[index] for index in earlier), default=-1))
        return _by_wave(self.ids, wave)

    def __str__(self) -> str:
        lines = []
        for name, earlier in zip(self.ids, self.waits, strict=True):
            after = ", ".join(self.ids[index] for index in earlier)
            lines.append(f"{name} after {after}" if after else f"{name} at once")
        return "\n".join(lines)


def order(ids: Sequence[str], footprints: Sequence[Footprint]) -> Ordering:
    """Return the ordering of a batch, computed from ids and footprints alone."""
    return Ordering(tuple(ids), tuple(find_conflicts(footprints)))


async def group_calls(calls: Sequence[PreparedCall], pacer: Pacer) -> tuple[tuple[str, ...], ...]:
    """Return the groups of `order` without `waits`, which may be long."""
    waves = Waves()
    found: list[int] = []
    for one in calls:
        found.append(waves.add(one.footprint))
        await pacer.step()
    return _by_wave([one.call.id for one in calls], found)


def _by_wave(ids: Sequence[str], waves: Sequence[int]) -> tuple[tuple[str, ...], ...]:
    groups: list[list[str]] = [[] for _ in range(max(waves, default=-1) + 1)]
    for name, wave in zip(ids, waves, strict=True):
        groups[wave].append(name)
    return tuple([tuple(group) for group in groups])


class ConcurrencySlot:
    """One of the slots that limit how many calls run at once, acquired by the scheduler. It is
    released while the user is asked, so that a question delays only the calls that depend on it.
    """

    def __init__(self, places: asyncio.Semaphore) -> None:
        self._places = places

    def release(self) -> None:
        """Release the slot."""
        self._places.release()

    async def lend(self, waiting: Awaitable[None]) -> None:
        """Release the slot while something is awaited, then acquire one again."""
        self._places.release()
        try:
            await waiting
        finally:
            import anyio

            # Shielded: the block that holds this slot releases it again when it ends.
            with anyio.CancelScope(shield=True):
                await self._places.acquire()


current_slot: ContextVar[ConcurrencySlot | None] = ContextVar("handrail_slot", default=None)


async def release_slot_while(waiting: Awaitable[None]) -> None:
    """Await a user's answer or another call without occupying a slot."""
    slot = current_slot.get()
    await (slot.lend(waiting) if slot is not None else waiting)


class Scheduler:
    """Runs calls as their order allows; `results` are in the order of submission.

    All calls are submitted before the first one runs, so that each of them knows whether it has to
    wait. A call becomes a task when its turn has come and a slot is free: only as many tasks exist
    as calls are running, however long the batch is.
    """

    def __init__(
        self,
        run: Callable[[PreparedCall, bool], Awaitable[ToolResult]],
        *,
        most_at_once: int,
        places: asyncio.Semaphore | None = None,
    ) -> None:
        self._run = run
        self._queue = FootprintQueue()
        # The slots are shared with calls that were started before the batch was known.
        self._places = places or asyncio.Semaphore(most_at_once)
        # Each call, and whether it has to wait. Cleared when the call starts, so that a long batch
        # does not keep all of its calls in memory.
        self._calls: list[tuple[PreparedCall, bool] | None] = []
        self._results: list[ToolResult | None] = []
        # A heap of numbers: of the calls that may run, the one that was made first runs first.
        self._ready: list[tuple[int, QueueEntry]] = []
        self._changed = asyncio.Event()

    def submit(self, prepared: PreparedCall) -> None:
        """Queue a call behind those submitted before it."""
        entry = self._queue.enter(prepared.footprint, on_ready=self._begin_soon)
        self._calls.append((prepared, not entry.ready))
        self._results.append(None)
        if entry.ready:
            self._begin_soon(entry)

    async def submit_all(self, calls: Sequence[PreparedCall], pacer: Pacer) -> None:
        """Queue calls in their order, in slices that let other tasks run."""
        for one in calls:
            self.submit(one)
            await pacer.step()

    async def run_all(self) -> None:
        """Run every submitted call, and return once the last one has ended."""
        import anyio

        async with anyio.create_task_group() as tasks:
            for _ in self._calls:
                # A slot is acquired only when a call is ready for it: the call that others wait for
                # may need to acquire the slot again.
                await self._wait_for_ready()
                await self._places.acquire()
                tasks.start_soon(self._carry_out, heappop(self._ready)[1])

    @property
    def results(self) -> list[ToolResult]:
        """The results of the calls in the order of submission, once all have ended."""
        if None in self._results:
            raise LookupError("not every call has ended")
        return [result for result in self._results if result is not None]

    def _begin_soon(self, entry: QueueEntry) -> None:
        heappush(self._ready, (entry.number, entry))
        self._changed.set()

    async def _wait_for_ready(self) -> None:
        while not self._ready:
            self._changed.clear()
            await self._changed.wait()

    async def _carry_out(self, entry: QueueEntry) -> None:
        slot, number = ConcurrencySlot(self._places), entry.number
        current_slot.set(slot)
        queued, self._calls[number] = self._calls[number], None
        try:
            if queued is not None:
                self._results[number] = await self._run(*queued)
        finally:
            slot.release()
            self._queue.leave(entry)


async def collect_into(found: list[T], waiting: Awaitable[T]) -> None:
    """Await something and append its result to a list, for code that runs in
    `release_slot_while`.
    """
    found.append(await waiting)
