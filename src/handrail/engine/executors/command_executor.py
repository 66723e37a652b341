"""Calls that run a program: confined, with a snapshot of the files before and after."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from handrail.core.plan import Plan
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.executors.command_runner import CommandRunner
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing.deadlines import DeadlineTimer


@dataclass(frozen=True, slots=True)
class CommandExecutor:
    """Writes the intent of a command, runs it, and adds the warnings of the guardrails."""

    runner: CommandRunner
    recorder: Recorder
    timers: DeadlineTimer

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome:
        """Run the command of the call."""
        prepared = state.prepared
        if not prepared.reads_only:
            await state.policy.check_leases(state, None)
            intent: dict[str, Any] = {"runs": prepared.name, **await self.runner.begin(state)}
            await self.recorder.write_intent(state, intent)
        self.timers.limit(state.timer, prepared.tool.timeout_s)
        outcome = await self.runner.run(state)
        outcome.append(*(f"[{one}]" for one in state.policy.warnings(state, None)))
        return outcome
