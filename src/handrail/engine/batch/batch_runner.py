"""Runs the calls of a batch, in parallel where they cannot disturb each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from handrail.core.events import BatchEnded, BatchStarted, Listener
from handrail.core.ports.machine import Clock
from handrail.core.results import ToolResult
from handrail.engine.batch.loop_counter import LoopCounter
from handrail.engine.batch.pacing import Pacer
from handrail.engine.batch.scheduler import Scheduler, group_calls
from handrail.engine.events import EventBus
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.idempotency import IdempotentRunner


@dataclass(frozen=True, slots=True)
class BatchRunner:
    """Runs the batches of one runtime."""

    runner: IdempotentRunner
    preparer: Preparer
    loops: LoopCounter
    bus: EventBus
    clock: Clock
    most_at_once: int

    async def run(
        self,
        calls: list[PreparedCall],
        turn: int,
        listener: Listener | None,
        apply: Callable[[Sequence[ToolResult]], None],
    ) -> list[ToolResult]:
        """Run the calls and return their results in call order, after passing them to `apply`.
        Empties the list: the prepared calls of a long batch are freed as they end.
        """
        pacer = Pacer(self.clock)
        ids = tuple([one.call.id for one in calls])
        outcomes = self.loops.begin_batch(calls)
        groups = await group_calls(calls, pacer)
        self.bus.emit(BatchStarted(turn, ids, groups), listener)
        started = self.clock.monotonic()

        async def run(one: PreparedCall, waited: bool) -> ToolResult:
            if waited:
                self.preparer.re_resolve_paths(one)
            return await self.runner.run(one, listener)

        scheduler = Scheduler(run, most_at_once=self.most_at_once)
        await scheduler.submit_all(calls, pacer)
        calls.clear()
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
