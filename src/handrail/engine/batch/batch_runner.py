"""Prepares and runs the calls of a batch, in parallel where they do not conflict."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.events import BatchEnded, BatchStarted, Listener
from handrail.core.ports.machine import Clock
from handrail.core.results import ToolResult
from handrail.engine.batch.loop_guard import BatchPosition, CallRepeat, LoopGuard
from handrail.engine.batch.pacing import HeapFreeze, Pacer
from handrail.engine.batch.scheduler import (
    ConcurrencySlot,
    Scheduler,
    collect_into,
    current_slot,
    group_calls,
    release_slot_while,
)
from handrail.engine.events import EventBus
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.idempotency import IdempotentRunner

Call = Mapping[str, Any]

_FROZEN_TOGETHER: Final = 256
_KEYS: Final = frozenset({"id", "name", "arguments"})


class BegunCalls:
    """Calls of a batch that were started before the whole batch is known."""

    def __init__(self, batches: BatchRunner, listener: Listener | None) -> None:
        self._batches = batches
        self._listener = listener
        self.places = asyncio.Semaphore(batches.most_at_once)
        # By the identity of the prepared call.
        self.tasks: dict[int, asyncio.Task[ToolResult]] = {}
        self.outcomes: list[CallRepeat | None] = []

    def start(self, prepared: PreparedCall, position: int) -> None:
        """Run a call; `position` is its index in the batch."""
        self.outcomes += [None] * (position + 1 - len(self.outcomes))
        prepared.origin.batch = BatchPosition(self.outcomes, position)
        self.tasks[id(prepared)] = asyncio.create_task(self._run(prepared))

    def has_begun(self, prepared: PreparedCall) -> bool:
        """Return whether the call is running or has run."""
        return id(prepared) in self.tasks

    async def settle(self) -> None:
        """Wait until the started calls have ended, even if cancelled meanwhile."""
        running = list(self.tasks.values())
        try:
            if running:
                await asyncio.wait(running)
        except asyncio.CancelledError:
            for task in running:
                task.cancel()
            await asyncio.gather(*running, return_exceptions=True)
            raise

    async def _run(self, prepared: PreparedCall) -> ToolResult:
        slot = ConcurrencySlot(self.places)
        await self.places.acquire()
        current_slot.set(slot)
        try:
            return await self._batches.runner.run(prepared, self._listener)
        finally:
            slot.release()


@dataclass(frozen=True, slots=True)
class BatchRunner:
    """Runs the batches of one runtime."""

    runner: IdempotentRunner
    preparer: Preparer
    loops: LoopGuard
    bus: EventBus
    clock: Clock
    most_at_once: int

    def prepare(self, calls: Iterable[Call], turn: int, agent: str) -> list[PreparedCall]:
        """Prepare each call. Raises TypeError for anything but a list of calls, `invalid_arguments`
        for an id that cannot be used.
        """
        return [self._prepare(call, turn, agent) for call in _check_calls(calls)]

    async def prepare_paced(
        self, calls: Iterable[Call], turn: int, agent: str
    ) -> list[PreparedCall]:
        """Like `prepare`, but yields to the event loop between slices."""
        pacer = Pacer(self.clock)
        checked = _check_calls(calls)
        prepared: list[PreparedCall] = []
        with HeapFreeze(len(checked)) as heap:
            for number, call in enumerate(checked):
                prepared.append(self._prepare(call, turn, agent))
                if number % _FROZEN_TOGETHER == 0:
                    heap.extend()
                await pacer.step()
        return prepared

    def _prepare(self, call: Call, turn: int, agent: str) -> PreparedCall:
        given = call.get("id")
        ids = self.runner.ids
        made = ids.make_call(given, call.get("name"), call.get("arguments"), turn, agent)
        prepared = self.preparer.prepare(made)
        prepared.origin.has_client_id = given is not None
        return prepared

    async def run(
        self,
        calls: list[PreparedCall],
        turn: int,
        listener: Listener | None,
        apply: Callable[[Sequence[ToolResult]], None],
        begun: BegunCalls | None = None,
    ) -> list[ToolResult]:
        """Run the calls and return their results in call order, after passing them to `apply`.
        Calls that have `begun` are awaited. Empties the list, so that the prepared calls of a long
        batch are freed as they end.
        """
        with HeapFreeze(len(calls)) as heap:
            return await self._run(calls, turn, listener, apply, begun, heap)

    async def _run(
        self,
        calls: list[PreparedCall],
        turn: int,
        listener: Listener | None,
        apply: Callable[[Sequence[ToolResult]], None],
        begun: BegunCalls | None,
        heap: HeapFreeze,
    ) -> list[ToolResult]:
        pacer = Pacer(self.clock)
        ids = tuple([one.call.id for one in calls])
        tasks = {} if begun is None else begun.tasks
        outcomes = self.loops.begin_batch(calls, None if begun is None else begun.outcomes)
        groups = await group_calls(calls, pacer)
        self.bus.emit(BatchStarted(turn, ids, groups), listener)
        started = self.clock.monotonic()

        async def run(one: PreparedCall, waited: bool) -> ToolResult:
            task = tasks.get(id(one))
            if task is not None:
                found: list[ToolResult] = []
                await release_slot_while(collect_into(found, task))
                return found[0]
            if waited:
                self.preparer.re_resolve_paths(one)
            return await self.runner.run(one, listener)

        scheduler = Scheduler(
            run, most_at_once=self.most_at_once, places=None if begun is None else begun.places
        )
        await scheduler.submit_all(calls, pacer)
        calls.clear()
        heap.extend()
        try:
            await scheduler.run_all()
        finally:
            self.loops.end_batch(outcomes)
        results = scheduler.results
        apply(results)
        failed = sum(result.is_error for result in results)
        duration = self.clock.monotonic() - started
        self.bus.emit(BatchEnded(turn, ids, failed, duration), listener)
        return results


def _check_calls(calls: Iterable[Call]) -> list[Call]:
    found = list(calls)
    for number, call in enumerate(found, 1):
        _check(call, number)
    return found


def _check(call: object, number: int) -> None:
    """Raise TypeError for a value that is not a call, or has its arguments under another name."""
    if not isinstance(call, Mapping):
        wrong = f"is a {type(call).__name__}"
    elif "arguments" not in call and (others := call.keys() - _KEYS):
        lacking = "arguments" if "name" in call else "name"
        wrong = f"has no {lacking}, but {min(map(repr, others))}"
    else:
        return
    raise TypeError(
        'a batch is a list of calls, each {"name": ..., "arguments": {...}}; '
        f"call {number} of this one {wrong}"
    )
