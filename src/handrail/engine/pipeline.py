"""Runs one call: policy, hooks, plan, approval, lock, execution, record. The order of these steps is
relevant to security and is defined only here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from handrail.core.results import ToolResult
from handrail.engine import messages
from handrail.engine.batch.locks import Locks
from handrail.engine.call_state import CallState, Decision, Outcome
from handrail.engine.executors.direct_executor import Executor
from handrail.engine.failures import FailureTranslator
from handrail.engine.hooking.call_hooks import CallHooks
from handrail.engine.planning.planner import CallPlanner
from handrail.engine.prepare.prepared_call import ExecutorKind, PreparedCall
from handrail.engine.recording.recorder import Recorder

if TYPE_CHECKING:
    from handrail.core.events import Listener

# Globals, because an access through the class takes long in Python 3.11.
_PLAN: Final = ExecutorKind.PLAN
_ALLOW: Final = Decision.ALLOW
# A call fails after this many plans, because its files were changed after every approval.
MAX_PLANS: Final = 20


@dataclass(frozen=True, slots=True)
class Pipeline:
    """Carries out the prepared calls of one session."""

    recorder: Recorder
    failures: FailureTranslator
    hooks: CallHooks
    planner: CallPlanner
    locks: Locks
    executors: Mapping[ExecutorKind, Executor]

    async def run(self, prepared: PreparedCall, listener: Listener | None = None) -> ToolResult:
        """Carry out one call. A failure is a result; only the caller's cancellation is raised."""
        state = self.recorder.begin(prepared, listener)
        # On every exit: the `completed` row, the quotas, the timer.
        async with self.recorder.record(state) as recording:
            try:
                state.outcome = await self._check_and_execute(state)
            except BaseException as error:  # noqa: BLE001 - raised again if it is the caller's
                state.outcome = self.failures.translate(state, error)
            self.planner.apply_modifiers(state)
            state.prepared.principal.policy.count_for_loop_guard(state)
            if self.hooks.hooks:
                await self.hooks.after(state)
        return recording.result

    async def _check_and_execute(self, state: CallState) -> Outcome:
        """Check, plan, approve and execute the call; raises its problem."""
        await self.recorder.write_requested(state)
        state.prepared.principal.policy.precheck(state)
        # Hooks may replace the arguments; `check_static_policy` runs again for each replacement.
        if self.hooks.hooks:
            await self.hooks.before(state)
        # A plain read has no preflight, and its executor sets its time limit; policy is checked below.
        if not state.prepared.scope.plain_read:
            await self.planner.preflight(state)
        for _ in range(MAX_PLANS):
            plan = await self.planner.plan(state) if state.prepared.scope.kind is _PLAN else None
            decision = await state.prepared.principal.policy.clear(state, plan)
            if decision is not _ALLOW:
                return self.planner.describe_or_queue(state, plan, decision)
            async with self.locks.hold(state.prepared.scope, plan):
                # None: the plan was made again under the lock, and needs an approval or more locks.
                if outcome := await self.executors[state.prepared.scope.kind].execute(state, plan):
                    return outcome
        raise messages.FILES_KEEP_CHANGING.error(count=MAX_PLANS)
