"""Prepares and runs the calls of a batch, in parallel where they cannot disturb each other."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from handrail.core.deferred_dataclass import dataclass
from handrail.core.events import BatchEnded, BatchStarted, Listener
from handrail.core.ports.machine import Clock
from handrail.core.results import ToolResult
from handrail.engine.batch.loop_guard import LoopGuard
from handrail.engine.batch.pacing import Pacer
from handrail.engine.batch.scheduler import Scheduler, group_calls
from handrail.engine.events import EventBus
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.idempotency import IdempotentRunner

Call = Mapping[str, Any]

_KEYS: Final = frozenset({"id", "name", "arguments"})


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
        """Prepare each call. Raises TypeError for what is no list of calls, `invalid_arguments`
        for an id that cannot be used.
        """
        return [self._prepare(call, turn, agent) for call in _checked(calls)]

    async def prepare_paced(
        self, calls: Iterable[Call], turn: int, agent: str
    ) -> list[PreparedCall]:
        """Like `prepare`, but yields to the event loop between slices."""
        pacer = Pacer(self.clock)
        prepared: list[PreparedCall] = []
        for call in _checked(calls):
            prepared.append(self._prepare(call, turn, agent))
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


def _checked(calls: Iterable[Call]) -> list[Call]:
    found = list(calls)
    for number, call in enumerate(found, 1):
        _check(call, number)
    return found


def _check(call: object, number: int) -> None:
    """TypeError for what is no call at all, or has its arguments under another name."""
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
