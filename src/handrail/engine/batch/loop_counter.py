"""The loop guard around calls: refuses a call that repeats itself, and counts outcomes.

Calls of a batch are checked and warned by the counts from before the batch. Their outcomes are
counted in call order when the batch ends, so parallel execution does not change the counts and no
call waits for another one.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from handrail.core.problems import ProblemRaised
from handrail.engine.call_state import CallState
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.policy.loop_guard import BatchPosition, CallRepeat, LoopGuard, call_key


@dataclass(frozen=True, slots=True)
class LoopCounter:
    """Applies the loop guard of one session to its calls."""

    guard: LoopGuard

    def begin_batch(self, calls: Sequence[PreparedCall]) -> list[CallRepeat | None]:
        """Give every call of a batch its position; returns the list to pass to `end_batch`."""
        outcomes: list[CallRepeat | None] = [None] * len(calls)
        for number, one in enumerate(calls):
            one.origin.batch = BatchPosition(outcomes, number)
        return outcomes

    def end_batch(self, outcomes: Sequence[CallRepeat | None]) -> None:
        """Count the outcomes of a batch in call order; equal calls with equal outcomes count
        once, unless a file was changed between them.
        """
        counted: set[tuple[str, Hashable, int]] = set()
        for one in outcomes:
            if one is None:
                continue
            if one.changed:
                counted.clear()
            elif (same := (one.agent, one.key, one.outcome)) in counted:
                continue
            else:
                counted.add(same)
            self.guard.count(one)

    def check(self, prepared: PreparedCall) -> None:
        """Raise `blocked` if the call was repeated too often."""
        if not self.guard.refuses_any:
            return
        refusal = self.guard.refusal(prepared.call.agent, prepared.name, prepared.arguments)
        if refusal is not None:
            hint = (
                "look at what it said, and try something else; the refusal ends after a minute, "
                "or when a file is changed (setting loop_guard)"
            )
            raise ProblemRaised("blocked", refusal, hint=hint)

    def record_outcome(self, state: CallState) -> None:
        """Count the outcome, or keep it until the batch ends; append a warning to its text."""
        prepared, outcome = state.prepared, state.outcome
        if not self.guard.enabled or outcome is None:
            return
        if prepared.entry is not None and prepared.entry.tool.polls:
            # Repeating a call is how a polling tool is used.
            return
        key = call_key(prepared.name, prepared.arguments)
        changed = bool(state.effects.changes)
        batch, made = prepared.origin.batch, prepared.origin.made
        repeat = CallRepeat(
            prepared.call.agent,
            prepared.name,
            key,
            hash(outcome.text),
            changed,
            state.timer.started if made is None else made,
        )
        if batch is None:
            warning = self.guard.count(repeat)
        else:
            warning = self.guard.preview(repeat)
            batch.outcomes[batch.number] = repeat
        if warning is not None:
            outcome.append(f"[handrail: {warning}]")
