"""Carries out approved calls of the plan queue: like any call, once, in one turn."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass

from handrail.core.call import ToolCall
from handrail.core.results import ToolResult
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.idempotency import IdempotentRunner
from handrail.planmode.approval import PlanApproval
from handrail.planmode.item import PlanItem


@dataclass(frozen=True, slots=True)
class QueuedCallRunner:
    """Carries out queued calls; each id happens once, whichever process approves it."""

    runner: IdempotentRunner
    preparer: Preparer

    def same_turn(self) -> AbstractContextManager[int]:
        """One turn for all calls that are approved together, so that they can be undone together."""
        return self.runner.ids.same_turn()

    async def run(self, call_id: str, item: PlanItem, promise: PlanApproval) -> ToolResult:
        """Carry out the call of an item under an id, with the user's approval."""
        call = ToolCall(call_id, item.tool, item.args, self.runner.ids.turn(), item.agent)
        prepared = self.preparer.prepare(call)
        prepared.origin.approval = promise
        prepared.origin.has_client_id = True
        return await self.runner.run(prepared)
