"""Whether a prepared call may happen: guards, hooks, mode, and the person where they say so."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from handrail.core.plan import Plan
from handrail.core.problems import Code, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.core.verdicts import Effect, Risk, Verdict, strictest
from handrail.engine.approval import Approval, binding
from handrail.engine.call_state import CallOutcome, CallState
from handrail.engine.executors.command_runner import starts_job
from handrail.engine.hooking.callbacks import Hook, Rewrite, hook_call, normalize_opinion
from handrail.engine.hooking.file_changes import HookFileNote, HookFileTracker, current_hook_tracker
from handrail.engine.planning.dry_run import approval_snapshot
from handrail.engine.prepare.preparer import PreparedCall, Preparer
from handrail.engine.recording.recorder import Recorder
from handrail.policy.approval.grants import SessionGrants
from handrail.policy.clearance import Clearance
from handrail.policy.denials.read_denials import ReadDenials
from handrail.policy.guardrails.guard import Guardrails
from handrail.policy.guardrails.limits import QuotaOutcome
from handrail.policy.modes import QUEUED
from handrail.policy.policy_input import PolicyInput

# After these nothing was started.
_NEVER_STARTED: Final = frozenset({"unavailable", "store_unavailable"})


def quota_key(running: CallState) -> str:
    """What a call is known by while it is under way; ids alone may be used twice."""
    return f"{running.prepared.call.id} {id(running)}"


def quota_outcome(running: CallState, outcome: CallOutcome | None) -> QuotaOutcome:
    """`outcome` None: the caller cancelled it, and nobody knows how far it came."""
    if running.changes:
        return QuotaOutcome.DONE
    if running.prepared.entry is None or running.prepared.tool.plans:
        done = outcome is not None and outcome.status is Status.OK
        return QuotaOutcome.DONE if done else QuotaOutcome.NOTHING
    if outcome is None:
        return QuotaOutcome.FAILED
    if outcome.status is Status.OK:
        return QuotaOutcome.DONE
    code = outcome.problem.code if outcome.problem is not None else ""
    return QuotaOutcome.NOTHING if code in _NEVER_STARTED else QuotaOutcome.FAILED


_log = logging.getLogger("handrail")
_CODES: Final[Mapping[str, Code]] = {
    "protected": "protected",
    "blocked": "blocked",
    "unavailable": "unavailable",
}
_PERSON: Final = Verdict(Effect.ALLOW, "the person asked for it", "person")


class Gate:
    """What a call passes before anything happens, and the hooks behind it."""

    def __init__(
        self,
        clearance: Clearance,
        approval: Approval,
        preparer: Preparer,
        grants: SessionGrants,
        guardrails: Guardrails,
        denials: ReadDenials | None = None,
    ) -> None:
        self._clearance = clearance
        self.guardrails = guardrails
        self.grants = grants
        # The paths that no call may read now.
        self.denials = denials
        self._approval = approval
        self._preparer = preparer
        self.hooks: list[Hook] = []

    @property
    def aborted(self) -> bool:
        """Whether the person has ended everything."""
        return self._approval.aborted

    def check(self, running: CallState) -> None:
        """Refuse every call once the person has aborted."""
        if self._approval.aborted:
            self._approval.check(running.prepared)

    def check_effects(self, running: CallState) -> None:
        """Refuse a call that may only read and turned out to change something."""
        prepared = running.prepared
        if prepared.only_reads is not None and not prepared.reads_only:
            raise ProblemRaised.of(prepared.only_reads)

    def refuse(self, running: CallState) -> None:
        """Stop, before any hook runs, what the call alone shows to be forbidden."""
        if running.prepared.call.by_person:
            return
        running.verdict = verdict = self._cleared(running.prepared, None)
        if verdict.effect is Effect.DENY and verdict.code != QUEUED:
            raise _denied(verdict)

    async def before_hooks(self, running: CallState) -> None:
        """Let every hook speak; a rewrite is prepared and guarded like any call. Those that
        spoke before the last rewrite are asked once more: they saw other arguments.
        """
        hooks, again = tuple(self.hooks), 0
        for number, hook in enumerate(hooks):
            if await self._heard(running, hook):
                again = number
        for hook in hooks[:again]:
            if await self._heard(running, hook):
                raise ProblemRaised(
                    "blocked",
                    "Blocked by hook: two hooks want different arguments for this call",
                    hint="the person can change their order, or make one of the two",
                )

    async def _heard(self, running: CallState, hook: Hook) -> bool:
        """Let one hook speak; whether the call has other arguments now."""
        opinion = normalize_opinion(await hook.before(hook_call(running.prepared)))
        verdict, rewrite = opinion.verdict, opinion.rewrite
        if opinion.words and opinion.words not in running.words:
            running.words.append(opinion.words)
        if verdict is not None and verdict.effect is Effect.DENY:
            running.verdict = verdict
            reason = f"Blocked by hook: {verdict.reason}"
            raise ProblemRaised("blocked", reason, hint=verdict.hint)
        if verdict is not None and verdict.effect is Effect.ASK:
            running.opinions = (*running.opinions, verdict)
        rewritten = rewrite is not None and rewrite.arguments != running.prepared.arguments
        if rewrite is not None and rewritten:
            running.prepared = self._rewritten(running.prepared, rewrite)
            running.rewritten, running.allowed = True, None
            self.refuse(running)
        if verdict is not None and verdict.effect is Effect.ALLOW and opinion.may_allow:
            running.allowed = verdict
        return rewritten

    async def clear(self, running: CallState, plan: Plan | None, *, ask: bool) -> Effect:
        """ALLOW if the call may happen; asks the person where the verdict says so, unless
        nobody is to be asked (a dry run): then it is ASK. DENY: plan mode queues it.
        """
        prepared, free = running.prepared, self._clearance.safe_read_verdict
        safe_read = prepared.reads_only and prepared.risk is Risk.SAFE
        plain = prepared.footprint.command is None and not prepared.tool.has_opinion
        if free is not None and safe_read and plain and not running.opinions:
            running.verdict = free
            return Effect.ALLOW
        running.verdict = verdict = self._judge(running, plan)
        if verdict.effect is Effect.DENY:
            if verdict.code == QUEUED:
                return Effect.DENY
            raise _denied(verdict)
        if verdict.effect is Effect.ASK and ask:
            if not self._promised(running, verdict, plan):
                subject = self._clearance.measured(policy_input(prepared, plan))
                await self._approval.ask(running, running.verdict, plan, subject)
            self._reserve(running, plan)
            return Effect.ALLOW
        if ask:
            self._reserve(running, plan)
            if self.grants.any and not prepared.call.by_person:
                self._use_grants(prepared, plan)
        return verdict.effect

    def _reserve(self, running: CallState, plan: Plan | None) -> None:
        """Hold the call's share of the limits; another one may have taken it meanwhile."""
        if not self.guardrails.counts:
            return
        call, subject = running.prepared.call, policy_input(running.prepared, plan)
        counted = not call.by_person
        verdict = self.guardrails.reserve(quota_key(running), subject, counted=counted)
        if verdict is not None:
            running.verdict = verdict
            raise _denied(verdict)

    def _use_grants(self, prepared: PreparedCall, plan: Plan | None) -> None:
        subject = self._clearance.measured(policy_input(prepared, plan))
        if starts_job(prepared.footprint):
            self.grants.record_use(subject, prepared.call.id)
        self.grants.consume_once(subject)

    def _promised(self, running: CallState, verdict: Verdict, plan: Plan | None) -> bool:
        """Whether the person said yes to exactly this while it was queued."""
        promise = running.prepared.promise
        if promise is None or verdict.code == "protected":
            return False
        if not promise.covers(approval_snapshot(running.prepared, plan)):
            reason = f"{verdict.reason}; it is no longer what was approved"
            running.verdict = replace(verdict, reason=reason)
            return False
        running.asked, running.answered_by = True, {"answer": "yes", "via": "plan"}
        running.approved = binding(running, plan)
        return True

    def still_clear(self, running: CallState, plan: Plan) -> bool:
        """Whether a plan that was made anew needs no new question."""
        self.guardrails.settle(quota_key(running), QuotaOutcome.NOTHING)
        verdict = self._judge(running, plan)
        if verdict.effect is not Effect.ALLOW and binding(running, plan) != running.approved:
            return False
        self._reserve(running, plan)
        return True

    def judge_read(self, subject: PolicyInput) -> Verdict:
        """What guards, rules and mode say of a read, as if a user could be asked."""
        return self._clearance.judge(subject, approved=True)

    def settle(self, running: CallState, outcome: CallOutcome | None) -> None:
        """Count what the call did, however it ended."""
        if self.guardrails.counts:
            self.guardrails.settle(quota_key(running), quota_outcome(running, outcome))

    def warnings(self, running: CallState, plan: Plan | None) -> list[str]:
        """What the guardrails have to say about what was done."""
        if running.prepared.call.by_person:
            return []
        return self.guardrails.warnings(policy_input(running.prepared, plan))

    def _judge(self, running: CallState, plan: Plan | None) -> Verdict:
        if running.prepared.call.by_person:
            return _PERSON
        verdict = self._cleared(running.prepared, plan)
        by_mode = verdict.rule.startswith("mode:")
        if running.allowed is not None and verdict.effect is Effect.ASK and by_mode:
            # It answers in the person's place where only the mode asks, and nowhere else.
            verdict = running.allowed
        opinions = _opinions(running)
        if not opinions:
            return verdict
        verdict = strictest([*opinions, verdict])
        if verdict.effect is Effect.ASK and self._clearance.never_asks:
            return replace(verdict, effect=Effect.DENY)
        return verdict

    def _cleared(self, prepared: PreparedCall, plan: Plan | None) -> Verdict:
        approved = prepared.promise is not None
        return self._clearance.judge(policy_input(prepared, plan), approved=approved)

    async def after_hooks(
        self, running: CallState, outcome: CallOutcome, recorder: Recorder, left: HookFileTracker
    ) -> None:
        """Let every hook add words, which the person sees as well; what one changes in the
        call's files counts as the call's own doing, and is said.
        """
        # The time of the call is over, and what hooks take is not its own.
        running.watch.deadline = None
        added = [HookFileNote(one, one) for one in running.words]
        result = recorder.result(running, outcome)
        inside = current_hook_tracker.set(left)
        try:
            await self._after(running, result, left, added)
        finally:
            current_hook_tracker.reset(inside)
        if not added:
            return
        outcome.text = "\n".join([outcome.text, *(one.model for one in added)])
        said = outcome.meta.get("remarks", [])
        if isinstance(said, list):
            remarks = [*said, *(one.person for one in added)]
            outcome.meta = {**outcome.meta, "remarks": remarks}
        if not running.prepared.call.by_person and recorder.fits(running, outcome.text):
            left.mark_shown()

    async def _after(
        self,
        running: CallState,
        result: ToolResult,
        left: HookFileTracker,
        added: list[HookFileNote],
    ) -> None:
        for hook in self.hooks:
            try:
                words = await hook.after(hook_call(running.prepared), result)
            except asyncio.CancelledError:
                running.watch.take_back()
                if running.watch.cancelled_by_caller or not running.watch.ended:
                    raise
                words = "[the hooks after this call were cut short]"
                added += [*left.pop_notes(), HookFileNote(words, words)]
                return
            except Exception as error:  # noqa: BLE001 - foreign code, and the call is over
                _log.exception("a hook failed after %s", running.prepared.name)
                words = f"[a hook failed after this call: {error}]"
            added += [HookFileNote(words, words)] if words else []
            added += left.pop_notes()

    def _rewritten(self, prepared: PreparedCall, rewrite: Rewrite) -> PreparedCall:
        old = prepared.call
        call = old._replace(name=prepared.name, arguments=rewrite.arguments, by_person=False)
        rewritten = self._preparer.prepare(call)
        if rewritten.problem is not None:
            raise ProblemRaised.of(rewritten.problem)
        rewritten.promise, rewritten.batch = prepared.promise, prepared.batch
        rewritten.only_reads = prepared.only_reads
        return rewritten


def _opinions(running: CallState) -> tuple[Verdict, ...]:
    """What hooks and the tool itself have against the call."""
    prepared = running.prepared
    own = prepared.tool.opinion(prepared.args) if prepared.tool.has_opinion else None
    if own is None or own.effect is Effect.ALLOW:
        return running.opinions
    return (*running.opinions, own)


def policy_input(prepared: PreparedCall, plan: Plan | None) -> PolicyInput:
    """The call as the policy sees it."""
    return PolicyInput(
        prepared.name,
        prepared.risk,
        prepared.footprint,
        prepared.reads_only,
        plan,
        prepared.tool.plans,
        tuple(prepared.places.values()),
        traits=prepared.tool.traits,
    )


def _denied(verdict: Verdict) -> ProblemRaised:
    return ProblemRaised(_CODES.get(verdict.code, "denied"), verdict.reason, hint=verdict.hint)
