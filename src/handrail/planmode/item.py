"""A call that waits in the plan queue, as a value; `to_dict` is its public shape."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Self

from handrail.core.results import ToolResult
from handrail.planmode.approval import ApprovedSnapshot, ChangeShape, PlanApproval


class PlanStatus(StrEnum):
    """What became of a queued call, and of a whole queue."""

    PENDING = "pending"
    APPROVED = "approved"
    REJECTED = "rejected"
    PARTIALLY_APPROVED = "partially_approved"


@dataclass(frozen=True, slots=True)
class ApprovalBinding:
    """What a yes to the item is bound to. `paths` are the files it writes, `made` the hashes
    that it left them with once it ran. `attempt` counts how often it was tried.
    """

    fingerprint: str
    shapes: tuple[ChangeShape, ...] = ()
    paths: tuple[str, ...] = ()
    results: tuple[tuple[str, str | None], ...] = ()
    attempt: int = 1


@dataclass(frozen=True, slots=True)
class PlanItem:
    """A call that was queued instead of carried out. `args` are canonical; `reason` is what
    the model says of it. `outcome` is the status of its last run, None if it never ran, and
    `problem` what went wrong in it.
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
        """Whether it can be rejected: it waits, or it ran and failed."""
        return self.pending or (self.status is PlanStatus.APPROVED and self.problem is not None)

    @property
    def pending(self) -> bool:
        """Whether it still waits."""
        return self.status is PlanStatus.PENDING

    def approval(self, built: Mapping[str, str | None]) -> PlanApproval:
        """The person's yes to it; of what others have built, its own files count."""
        own = {path: digest for path, digest in built.items() if path in self.binding.paths}
        return PlanApproval(self.binding.fingerprint, frozenset(self.binding.shapes), own)

    def after_attempt(self, result: ToolResult, *, ran: bool) -> Self:
        """The item after a run; one that was stopped, or only shown in a dry run, still waits
        for another attempt.
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
        """The item as the call has become, for the person to look at again."""
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
        """The same with what it is bound to, for a session that goes on later."""
        bound = self.binding
        return {
            **self.to_dict(),
            "bound": [bound.fingerprint, bound.shapes, bound.paths, bound.results, bound.attempt],
        }

    @classmethod
    def from_record(cls, saved: Mapping[str, Any]) -> Self:
        """Read back what `saved` wrote."""
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
