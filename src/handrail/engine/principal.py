"""The caller of a call, and the policy that applies to it.

A model's agent is bound by rules, limits, leases and the loop guard (`AgentPolicy`). The user's own
actions, such as `undo`, are allowed (`UserPolicy`). The rest of the engine asks the policy and
never checks who the caller is.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from handrail.core.plan import Plan
from handrail.core.tool import Tool
from handrail.policy.agents import AgentAccess

if TYPE_CHECKING:
    from handrail.core.lazy import Lazy
    from handrail.engine.call_state import CallState, Decision
    from handrail.engine.recording.failed_call_retry import FailedCalls


class CallPolicy(Protocol):
    """Decides about the calls of one kind of principal."""

    @property
    def failed_calls(self) -> Lazy[FailedCalls] | None:
        """Where calls are kept that failed because of a defect; None if they are not kept."""

    def precheck(self, state: CallState) -> None:
        """Raise if the call alone shows that it must not run; called before any hook runs."""

    def check_static_policy(self, state: CallState) -> None:
        """Raise if rules or guardrails refuse the call, as far as the call alone shows it."""

    async def clear(self, state: CallState, plan: Plan | None) -> Decision:
        """Decide about the call and its plan; asks the user if the verdict requires it."""

    def recheck_plan(self, state: CallState, plan: Plan) -> bool:
        """Return whether a plan that was made again needs no new approval."""

    async def check_leases(self, state: CallState, plan: Plan | None) -> None:
        """Raise `conflict` if another agent has reserved a path that the call writes."""

    def warnings(self, state: CallState, plan: Plan | None) -> list[str]:
        """The warnings of the guardrails about a call that was carried out."""

    def time_limit(self, tool: Tool[Any]) -> float | None:
        """Return the time limit of a call until it is executed; None means no limit."""

    def count_for_loop_guard(self, state: CallState) -> None:
        """Count the outcome for the loop guard, which may append a warning."""

    def settle(self, state: CallState) -> None:
        """Count what the call used of its quotas, however it ended."""


@dataclass(frozen=True, slots=True)
class Principal:
    """The caller of a call."""

    policy: CallPolicy
    # What an agent may use; None means everything.
    access: AgentAccess | None
    # The agent whose knowledge of files the call updates; None for the user, who may read
    # everything.
    reader: str | None
    # The agents from the main agent down to this one.
    chain: tuple[str, ...] = ()
