"""Whether a prepared call may run: abort, loop guard, rules, guardrails, mode, quotas, leases,
and the user where the verdict says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.footprint import Footprint
from handrail.core.names.sensitive import is_sensitive
from handrail.core.plan import Plan
from handrail.core.problems import Code, Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.core.tool import Group, Tool
from handrail.core.verdicts import Effect, Verdict, strictest
from handrail.engine.approval import Approval, binding
from handrail.engine.batch.loop_guard import LoopGuard
from handrail.engine.call_state import CallState, Decision, known_entry
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.registry import ToolOrigin
from handrail.policy.approval.grants import SessionGrants
from handrail.policy.clearance import Clearance
from handrail.policy.modes import NEVER_ASK, QUEUED, Mode
from handrail.policy.policy_input import PolicyInput

if TYPE_CHECKING:
    from handrail.core.lazy import Lazy
    from handrail.engine.batch.locks import PathLeases
    from handrail.engine.recording.failed_call_retry import FailedCalls
    from handrail.policy.denials.read_denials import ReadDenials
    from handrail.policy.guardrails.guard import Guardrails
    from handrail.policy.guardrails.limits import QuotaOutcome

_CODES: Final[Mapping[str, Code]] = {
    "protected": "protected",
    "blocked": "blocked",
    "unavailable": "unavailable",
}
_USER_ALLOWED: Final = Verdict(Effect.ALLOW, "the user asked for it", "person")
_ALLOWED, _BUILTIN = Decision.ALLOW, ToolOrigin.BUILTIN
# Codes of failures after which nothing was started.
_NEVER_STARTED: Final = frozenset({"unavailable", "store_unavailable"})


def policy_input(prepared: PreparedCall, plan: Plan | None) -> PolicyInput:
    """Return the call as policy judges it; raises LookupError for a call of an unknown tool."""
    scope, tool = prepared.scope, known_entry(prepared).tool
    return PolicyInput(
        tool.name,
        scope.risk,
        scope.footprint,
        scope.reads_only,
        plan,
        tool.plans,
        tuple(scope.places.values()),
        traits=tool.traits,
        deletes=plan is not None and any(change.after is None for change in plan.changes),
    )


@dataclass(frozen=True, slots=True)
class PolicyServices:
    """The policy objects of a session."""

    clearance: Clearance
    grants: SessionGrants
    guardrails: Guardrails
    # The paths that no call may read; None if there are none.
    denials: ReadDenials | None


class CallQuotas(NamedTuple):
    """What each running call has reserved: its share of the guardrails' limits, one-time grants."""

    guardrails: Guardrails
    grants: SessionGrants

    def reserve(self, state: CallState, plan: Plan | None, *, counted: bool) -> None:
        """Reserve the share of a call; raises `denied` if another call took it meanwhile."""
        if not self.guardrails.counts:
            return
        subject = policy_input(state.prepared, plan)
        verdict = self.guardrails.reserve(state.key, subject, counted=counted)
        if verdict is not None:
            state.clearance.verdict = verdict
            raise _denied(verdict)

    def release(self, state: CallState) -> None:
        """Release what the call has reserved, because it is judged again."""
        if self.guardrails.counts or self.grants.any_reserved:
            from handrail.policy.guardrails.limits import QuotaOutcome

            self._settle(state, QuotaOutcome.NOTHING)

    def settle(self, state: CallState) -> None:
        """Count what the call did; a call that did nothing uses up no grant."""
        if self.guardrails.counts or self.grants.any_reserved:
            self._settle(state, _quota_outcome(state))

    def _settle(self, state: CallState, outcome: QuotaOutcome) -> None:
        self.guardrails.settle(state.key, outcome)
        self.grants.settle_once(state.key, used=bool(outcome.value))


class UserPolicy(NamedTuple):
    """The policy for the user's own actions: they are allowed, recorded, and not limited."""

    quotas: CallQuotas
    dry_run: bool
    failed_calls: Lazy[FailedCalls] | None = None

    def precheck(self, state: CallState) -> None:
        """Raise the problem of a call that could not be prepared."""
        if state.prepared.problem is not None:
            raise ProblemRaised.of(state.prepared.problem)

    def check_static_policy(self, state: CallState) -> None:
        """Allow everything: these are actions of the user."""

    async def clear(self, state: CallState, plan: Plan | None) -> Decision:
        """Allow the call without a question. A dry run allows a read and describes everything else."""
        state.clearance.verdict = _USER_ALLOWED
        if self.dry_run:
            return Decision.ALLOW if state.prepared.reads_only else Decision.DESCRIBE
        self.quotas.reserve(state, plan, counted=False)
        return Decision.ALLOW

    def recheck_plan(self, state: CallState, plan: Plan) -> bool:
        """Return True: a plan that was made again needs no approval."""
        self.quotas.release(state)
        self.quotas.reserve(state, plan, counted=False)
        return True

    async def check_leases(self, state: CallState, plan: Plan | None) -> None:
        """Do nothing: the leases of agents do not bind the user."""

    def warnings(self, state: CallState, plan: Plan | None) -> list[str]:
        """Return no warnings: they are meant for models."""
        return []

    def time_limit(self, tool: Tool[Any]) -> float | None:
        """Return no limit for a plan, because an undo of many files may take long."""
        return None if tool.plans else tool.timeout_s

    def count_for_loop_guard(self, state: CallState) -> None:
        """Do nothing: calls of the user are not counted."""

    def settle(self, state: CallState) -> None:
        """Count what the call did."""
        self.quotas.settle(state)


class Foresight(NamedTuple):
    """What is certain before a call runs: its refusal, or that the user need not be asked."""

    refusal: Problem | None
    unasked: bool


@dataclass(frozen=True, slots=True)
class AgentPolicy:
    """The policy for the calls of models and of programs that act for them."""

    services: PolicyServices
    approval: Approval
    loops: LoopGuard
    leases: PathLeases
    quotas: CallQuotas
    dry_run: bool
    failed_calls: Lazy[FailedCalls] | None = None

    def precheck(self, state: CallState) -> None:
        """Raise `cancelled` once the user has aborted, the problem of a call that could not be
        prepared, `blocked` by the loop guard, or the refusal of rules and guardrails.
        """
        prepared = state.prepared
        if self.approval.aborted:
            self.approval.check_not_aborted(prepared)
        if prepared.problem is not None:
            raise ProblemRaised.of(prepared.problem)
        if self.loops.refused:
            self.loops.check(prepared)
        self.check_static_policy(state)

    def check_static_policy(self, state: CallState) -> None:
        """Raise the refusal of rules and guardrails, as far as the call alone shows it."""
        prepared = state.prepared
        verdict = self._safe_read_verdict(prepared) or self._judge_call(prepared, None)
        state.clearance.verdict = verdict
        if verdict.effect is Effect.DENY and verdict.code != QUEUED:
            raise _denied(verdict)
        if (because := prepared.origin.reads_only_because) and not prepared.reads_only:
            raise ProblemRaised.of(because)

    async def clear(self, state: CallState, plan: Plan | None) -> Decision:
        """Allow the call, after asking the user where the verdict says so. In a dry run the user is
        not asked: what changes nothing and needs no approval is allowed, anything else is described.
        """
        if state.prepared.scope.plain_read and not state.clearance.objections:
            state.clearance.verdict = self.services.clearance.safe_read_verdict
            if state.clearance.verdict is not None:
                return _ALLOWED
        self.quotas.release(state)
        state.clearance.verdict = verdict = self._judge(state, plan)
        if verdict.effect is Effect.DENY and verdict.code != QUEUED:
            raise _denied(verdict)
        if self.dry_run:
            allowed = verdict.effect is Effect.ALLOW and state.prepared.changes_nothing
            return Decision.ALLOW if allowed else Decision.DESCRIBE
        if verdict.effect is Effect.DENY:
            return Decision.QUEUE
        asks = verdict.effect is Effect.ASK
        if asks and not self._covered_by_plan_approval(state, verdict, plan):
            subject = self.services.clearance.measured(policy_input(state.prepared, plan))
            await self.approval.ask(state, state.clearance.verdict, plan, subject)
        self._reserve(state, plan, asks=asks)
        state.context.confirmed = state.clearance.binding
        return Decision.ALLOW

    def recheck_plan(self, state: CallState, plan: Plan) -> bool:
        """Whether a plan that was made again needs no new approval."""
        self.quotas.release(state)
        verdict, clearance = self._judge(state, plan), state.clearance
        asks, earlier = verdict.effect is Effect.ASK, clearance.verdict
        # Whether the user answered the same question about exactly this change.
        same_question = earlier is not None and earlier.rule == verdict.rule
        answered = same_question and binding(state, plan) == clearance.binding
        if verdict.effect is Effect.DENY or (asks and not answered):
            return False
        clearance.verdict = verdict
        self._reserve(state, plan, asks=asks)
        return True

    async def check_leases(self, state: CallState, plan: Plan | None) -> None:
        """Raise `conflict` if another agent has reserved a path that the call writes."""
        await self.leases.check(state, lambda: policy_input(state.prepared, plan))

    def warnings(self, state: CallState, plan: Plan | None) -> list[str]:
        """The warnings of the guardrails about a call that was carried out."""
        guardrails = self.services.guardrails
        return guardrails.warnings(policy_input(state.prepared, plan)) if guardrails.warns else []

    def time_limit(self, tool: Tool[Any]) -> float | None:
        """The time limit that the tool states."""
        return tool.timeout_s

    def count_for_loop_guard(self, state: CallState) -> None:
        """Count the outcome for the loop guard, which may append a warning."""
        self.loops.record_outcome(state)

    def settle(self, state: CallState) -> None:
        """Count what the call used of its quotas and grants."""
        self.quotas.settle(state)

    def foresee(self, prepared: PreparedCall) -> Foresight:
        """Return what will happen to a call, as far as the call alone shows it. Has no effect."""
        if prepared.problem is not None:
            return Foresight(prepared.problem, unasked=False)
        verdict = self._safe_read_verdict(prepared) or self._judge_call(prepared, None)
        if verdict.effect is Effect.DENY and verdict.code != QUEUED:
            return Foresight(_denied(verdict).problem, unasked=False)
        own = prepared.tool.has_opinion
        return Foresight(None, unasked=verdict.effect is Effect.ALLOW and not own)

    def judge_read(self, subject: PolicyInput) -> Verdict:
        """Return the verdict of guards, rules and mode on a read, as if the user could be asked."""
        return self.services.clearance.judge(subject, approved=True)

    def _safe_read_verdict(self, prepared: PreparedCall) -> Verdict | None:
        """Return the verdict on every plain read; None if the call must be judged separately."""
        plain = prepared.scope.plain_read and not _modes(prepared)
        return self.services.clearance.safe_read_verdict if plain else None

    def _reserve(self, state: CallState, plan: Plan | None, *, asks: bool) -> None:
        """Reserve a share of the limits and, if the user is not asked, one-time grants."""
        self.quotas.reserve(state, plan, counted=True)
        grants, prepared = self.services.grants, state.prepared
        if asks or not grants.any:
            return
        subject = self.services.clearance.measured(policy_input(prepared, plan))
        if prepared.footprint.starts_job:
            grants.record_use(subject, prepared.call.id)
        grants.reserve_once(subject, state.key)

    def _covered_by_plan_approval(
        self, state: CallState, verdict: Verdict, plan: Plan | None
    ) -> bool:
        """Return whether the user approved exactly this call while it was queued."""
        from handrail.engine.planning.dry_run import approval_snapshot

        clearance, approval = state.clearance, state.prepared.origin.approval
        if approval is None or verdict.code == "protected":
            return False
        if not approval.covers(approval_snapshot(state.prepared, plan)):
            reason = f"{verdict.reason}; it is no longer what was approved"
            clearance.verdict = replace(verdict, reason=reason)
            return False
        clearance.asked, clearance.answered_by = True, {"answer": "yes", "via": "plan"}
        clearance.binding = binding(state, plan)
        return True

    def _judge(self, state: CallState, plan: Plan | None) -> Verdict:
        verdict, approval = self._judge_call(state.prepared, plan), state.clearance.hook_approval
        by_mode = verdict.rule.startswith("mode:")
        if approval is not None and verdict.effect is Effect.ASK and by_mode:
            # A hook's approval replaces the user's where only the mode asks.
            verdict = approval
        objections = _objections(state)
        if not objections:
            return verdict
        verdict = strictest([*objections, verdict])
        never = self.services.clearance.never_asks or NEVER_ASK & {*_modes(state.prepared)}
        if verdict.effect is Effect.ASK and never:
            return replace(verdict, effect=Effect.DENY)
        return verdict

    def _judge_call(self, prepared: PreparedCall, plan: Plan | None) -> Verdict:
        approved, subject = prepared.origin.approval is not None, policy_input(prepared, plan)
        verdict = self.services.clearance.judge(subject, approved=approved)
        modes = _modes(prepared)
        return self.services.clearance.narrow(verdict, subject, modes) if modes else verdict


def _modes(prepared: PreparedCall) -> tuple[Mode, ...]:
    access = prepared.principal.access
    return access.modes if access else ()


def _objections(state: CallState) -> tuple[Verdict, ...]:
    """The objections of hooks and of the tool itself."""
    entry, found, own = state.prepared.entry, state.clearance.objections, None
    if entry is not None and entry.tool.has_opinion:
        own = entry.tool.opinion(state.prepared.parsed.model)
    return found if own is None or own.effect is Effect.ALLOW else (*found, own)


def _quota_outcome(state: CallState) -> QuotaOutcome:
    """Return how a call counts; without an outcome the caller cancelled it."""
    from handrail.policy.guardrails.limits import QuotaOutcome

    outcome, prepared = state.outcome, state.prepared
    if state.effects.changes:
        return QuotaOutcome.DONE
    if prepared.entry is None or prepared.tool.plans:
        # Unknown: the disk failed, and only a part of the change was reverted.
        done = outcome is not None and outcome.status in (Status.OK, Status.UNKNOWN)
        return QuotaOutcome.DONE if done else QuotaOutcome.NOTHING
    if outcome is None:
        return QuotaOutcome.FAILED
    if outcome.status is Status.OK:
        return QuotaOutcome.DONE
    code = outcome.problem.code if outcome.problem is not None else ""
    return QuotaOutcome.NOTHING if code in _NEVER_STARTED else QuotaOutcome.FAILED


def _denied(verdict: Verdict) -> ProblemRaised:
    return ProblemRaised(_CODES.get(verdict.code, "denied"), verdict.reason, hint=verdict.hint)


def note_shown_secrets(state: CallState, result: ToolResult) -> None:
    """Note in the session that a result may show a file that contains secrets, by what the call
    touched and what the result names. A command is judged before it runs.
    """
    session = state.context.session
    if not session.secrets_shown and _shows_secrets(state.prepared, result):
        session.note_secrets()


def _shows_secrets(prepared: PreparedCall, result: ToolResult) -> bool:
    entry = prepared.entry
    if entry is None or result.status is Status.REFUSED or entry.tool.traits.lists_names:
        return False
    for place in prepared.scope.places.values():
        if is_sensitive(place.absolute) or (place.via and any(map(is_sensitive, place.via))):
            return True
    footprint, foreign = prepared.scope.footprint, entry.origin is not _BUILTIN
    if foreign and entry.tool.group is Group.MCP:
        # A server may read anything, whatever its tools declare.
        return True
    if footprint.open_ended and footprint.command is None:
        return foreign
    return _touches_secrets(footprint, result.data, only_paths=entry.touches.only_paths)


def _touches_secrets(footprint: Footprint, data: Any, *, only_paths: bool) -> bool:
    searched = False
    for key, _ in footprint.touches:
        kind, _, path = key.partition(":")
        # If a call touches only its path arguments, its files are among its places.
        if (kind == "tree" or (kind == "file" and not only_paths)) and is_sensitive(path):
            return True
        searched = searched or kind == "tree"
    if not searched or footprint.command is not None:
        return False
    from handrail.engine.recording.read_review import MAX_PATHS, list_named_paths

    named = list(list_named_paths(data))
    return len(named) >= MAX_PATHS or any(map(is_sensitive, named))
