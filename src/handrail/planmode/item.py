"""A call in the plan queue as a value; `to_dict` is its public shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from handrail.core.results import ToolResult
from handrail.planmode.approval import ApprovedSnapshot, ChangeShape, PlanApproval


class PlanStatus(StrEnum):
    """The state of a queued call, and of a whole queue."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    PARTIALLY_APPROVED = "partially_approved"


@dataclass(frozen=True, slots=True)
class ApprovalBinding:
    """What an approval of the item is bound to."""

    # Identifies the call.
    fingerprint: str
    # The changes that were shown.
    shapes: tuple[ChangeShape, ...] = ()
    # The files that the call writes.
    paths: tuple[str, ...] = ()
    # The files with the hashes that the last run left.
    results: tuple[tuple[str, str | None], ...] = ()
    # How often the call was tried.
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A call that was queued instead of carried out. `args` are canonical; `reason` is the model's
    explanation. `outcome` is the status of the last run, None if it never ran, and `problem` the
    message of its problem.
    """

    id: str
    tool: str
    args: Mapping[str, Any]
    reason: str
    order: int
    proposed_at: str
    tool_call_id: str
    preview: str
    binding: ApprovalBinding
    agent: str = "main"
    status: PlanStatus = PlanStatus.PENDING
    outcome: str | None = None
    problem: str | None = None

    @property
    def rejectable(self) -> bool:
        """Whether the item can be rejected: it is pending, or it ran and failed."""
        return self.pending or (self.status is PlanStatus.APPROVED and self.problem is not None)

    @property
    def pending(self) -> bool:
        """Whether the item waits for a decision."""
        return self.status is PlanStatus.PENDING

    def approval(self, built: Mapping[str, str | None]) -> PlanApproval:
        """The user's approval of the item. Of `built`, the results of earlier calls, the item's own
        files count.
        """
        own = {path: digest for path, digest in built.items() if path in self.binding.paths}
        return PlanApproval(self.binding.fingerprint, frozenset(self.binding.shapes), own)

    def after_attempt(self, result: ToolResult, *, ran: bool) -> Self:
        """The item after a run. An item that was stopped, or only shown in a dry run, stays
        pending.
        """
        made = tuple((change.path, change.after_hash) for change in result.changes)
        return replace(
            self,
            status=PlanStatus.APPROVED if ran else PlanStatus.PENDING,
            outcome=result.status.value,
            problem=None if result.problem is None else result.problem.message,
            binding=replace(self.binding, results=made, attempt=self.binding.attempt + 1),
        )

    def with_snapshot(self, seen: ApprovedSnapshot) -> Self:
        """The item with the current form of the call, to be shown to the user again."""
        bound = replace(self.binding, fingerprint=seen.fingerprint, shapes=seen.shapes)
        return replace(self, binding=bound, preview=seen.preview)

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape that `handrail plan` prints."""
        return {
            "id": self.id,
            "tool": self.tool,
            "args": dict(self.args),
            "reason": self.reason,
            "order": self.order,
            "proposedAt": self.proposed_at,
            "toolCallId": self.tool_call_id,
            "preview": self.preview,
            "agent": self.agent,
            "status": self.status.value,
            "outcome": self.outcome,
            "problem": self.problem,
        }

    def to_record(self) -> dict[str, Any]:
        """The public shape with the approval binding, for a session that continues later."""
        bound = self.binding
        return {
            **self.to_dict(),
            "bound": [bound.fingerprint, bound.shapes, bound.paths, bound.results, bound.attempt],
        }

    @classmethod
    def from_record(cls, saved: Mapping[str, Any]) -> Self:
        """The item that `to_record` saved."""
        fingerprint, shapes, paths, made, attempt = saved["bound"]
        bound = ApprovalBinding(
            fingerprint,
            tuple(ChangeShape(*one) for one in shapes),
            tuple(paths),
            tuple((path, digest) for path, digest in made),
            attempt,
        )
        return cls(
            saved["id"],
            saved["tool"],
            saved["args"],
            saved["reason"],
            saved["order"],
            saved["proposedAt"],
            saved["toolCallId"],
            saved["preview"],
            bound,
            saved["agent"],
            PlanStatus(saved["status"]),
            saved["outcome"],
            saved.get("problem"),
        )
