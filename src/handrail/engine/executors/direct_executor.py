"""Calls that are carried out by the tool itself: reads, and tools with effects of their own."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from handrail.core.plan import Plan
from handrail.core.results import Output
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing.deadlines import DeadlineTimer
from handrail.engine.timing.retry import retry


class Executor(Protocol):
    """Carries out cleared calls of one kind, while their locks are held."""

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome | None:
        """The outcome; None if the call must be cleared again."""


@dataclass(frozen=True, slots=True)
class DirectExecutor:
    """Runs the tool, again where it is idempotent and a failure may pass."""

    recorder: Recorder
    timers: DeadlineTimer

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome:
        """Run the tool and return its output as the outcome."""
        prepared, context, timers = state.prepared, state.context, self.timers
        tool = prepared.tool
        if not prepared.scope.reads_only:
            await state.policy.check_leases(state, None)
            await self.recorder.write_intent(state, {"runs": prepared.name})
        timers.limit(state.timer, tool.timeout_s)
        attempts = 1 if prepared.entry is None else prepared.entry.attempts
        if attempts == 1:
            return Outcome.from_output(await tool.run(prepared.args, context))

        async def run() -> Output:
            state.effects.attempts += 1
            timers.limit(state.timer, tool.timeout_s)
            return await tool.run(prepared.args, context)

        return Outcome.from_output(await retry(run, attempts, context.report))
