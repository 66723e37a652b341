"""Whether a prepared call may happen: guards, hooks, mode, and the person where they say so."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Final

from handrail.core.call import ToolCall
from handrail.core.plan import Plan
from handrail.core.problems import Code, ProblemRaised
from handrail.core.verdicts import Effect, Risk, Verdict, strictest
from handrail.engine.approval import Approval, binding
from handrail.engine.commands import starts_job
from handrail.engine.hooks import Hook, HookCall, Rewrite
from handrail.engine.prepare import Prepared, Preparer
from handrail.engine.recorder import Recorder
from handrail.engine.running import Outcome, Running
from handrail.policy.clearance import Clearance
from handrail.policy.grants import Grants
from handrail.policy.subject import Subject

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
        self, clearance: Clearance, approval: Approval, preparer: Preparer, grants: Grants
    ) -> None:
        self._clearance = clearance
        self.grants = grants
        self._approval = approval
        self._preparer = preparer
        self.hooks: list[Hook] = []

    @property
    def aborted(self) -> bool:
        """Whether the person has ended everything."""
        return self._approval.aborted

    def check(self, running: Running) -> None:
        """Refuse every call once the person has aborted."""
        if self._approval.aborted:
            self._approval.check(running.prepared)

    def refuse(self, running: Running) -> None:
        """Stop, before any hook runs, what the call alone shows to be forbidden."""
        if running.prepared.call.by_person:
            return
        running.verdict = verdict = self._clearance.judge(subject_of(running.prepared, None))
        if verdict.effect is Effect.DENY:
            raise _denied(verdict)

    async def before_hooks(self, running: Running) -> None:
        """Let every hook speak; a rewrite is prepared and guarded like any call, once."""
        for hook in self.hooks:
            opinion = await hook.before(_hook_call(running))
            if isinstance(opinion, Rewrite):
                running.prepared = self._rewritten(running.prepared, opinion)
                running.rewritten = True
                self.refuse(running)
            elif opinion is not None and opinion.effect is Effect.DENY:
                reason = f"Blocked by hook: {opinion.reason}"
                raise ProblemRaised("blocked", reason, hint=opinion.hint)
            elif opinion is not None and opinion.effect is Effect.ASK:
                running.opinions = (*running.opinions, opinion)

    async def clear(self, running: Running, plan: Plan | None, *, ask: bool) -> Effect:
        """ALLOW if the call may happen; asks the person where the verdict says so, unless
        nobody is to be asked (a dry run): then it is ASK.
        """
        prepared, free = running.prepared, self._clearance.free_read
        safe_read = prepared.reads_only and prepared.risk is Risk.SAFE
        judged = prepared.footprint.command
        if free is not None and safe_read and judged is None and not running.opinions:
            running.verdict = free
            return Effect.ALLOW
        running.verdict = verdict = self._judge(running, plan)
        if verdict.effect is Effect.DENY:
            raise _denied(verdict)
        if verdict.effect is Effect.ASK and ask:
            subject = self._clearance.measured(subject_of(prepared, plan))
            await self._approval.ask(running, verdict, plan, subject)
            return Effect.ALLOW
        if ask and self.grants.any and not prepared.call.by_person:
            self._use_grants(prepared, plan)
        return verdict.effect

    def _use_grants(self, prepared: Prepared, plan: Plan | None) -> None:
        subject = self._clearance.measured(subject_of(prepared, plan))
        if starts_job(prepared.footprint):
            self.grants.note_use(subject, prepared.call.id)
        self.grants.spend(subject)

    def still_clear(self, running: Running, plan: Plan) -> bool:
        """Whether a plan that was made anew needs no new question."""
        verdict = self._judge(running, plan)
        return verdict.effect is Effect.ALLOW or binding(running, plan) == running.approved

    def _judge(self, running: Running, plan: Plan | None) -> Verdict:
        if running.prepared.call.by_person:
            return _PERSON
        verdict = self._clearance.judge(subject_of(running.prepared, plan))
        return strictest([*running.opinions, verdict]) if running.opinions else verdict

    async def after_hooks(self, running: Running, outcome: Outcome, recorder: Recorder) -> None:
        """Let every hook add words; none can change what happened."""
        for hook in self.hooks:
            try:
                words = await hook.after(_hook_call(running), recorder.result(running, outcome))
            except Exception as error:  # noqa: BLE001 - foreign code, and the call is over
                _log.exception("a hook failed after %s", running.prepared.name)
                words = f"[a hook failed after this call: {error}]"
            if words:
                outcome.text = f"{outcome.text}\n{words}"

    def _rewritten(self, prepared: Prepared, rewrite: Rewrite) -> Prepared:
        old = prepared.call
        call = ToolCall(old.id, prepared.name, rewrite.arguments, old.turn, old.agent)
        rewritten = self._preparer.prepare(call)
        if rewritten.problem is not None:
            raise ProblemRaised.of(rewritten.problem)
        return rewritten


def subject_of(prepared: Prepared, plan: Plan | None) -> Subject:
    """The call as the policy sees it."""
    return Subject(
        prepared.name,
        prepared.risk,
        prepared.footprint,
        prepared.reads_only,
        plan,
        prepared.tool.plans,
        tuple(prepared.places.values()),
    )


def _hook_call(running: Running) -> HookCall:
    prepared = running.prepared
    call = prepared.call
    return HookCall(call.id, prepared.name, prepared.arguments, call.turn, call.agent)


def _denied(verdict: Verdict) -> ProblemRaised:
    return ProblemRaised(_CODES.get(verdict.code, "denied"), verdict.reason, hint=verdict.hint)
