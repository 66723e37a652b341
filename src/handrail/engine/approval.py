"""Asks the user for approval: one question at a time, unless the approver can have several open.
Without an approver the answer is no, and only a clear yes to exactly what was shown counts.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Protocol, runtime_checkable

from handrail.core.approval import Answer, ApprovalRequest, Reply, caller_config_line
from handrail.core.names.caller_words import tool_name
from handrail.core.plan import Plan
from handrail.core.ports.machine import Approver
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.core.verdicts import Effect, Verdict
from handrail.engine import messages
from handrail.engine.batch.scheduler import release_slot_while
from handrail.engine.call_state import CallState, known_entry
from handrail.engine.prepare.prepared_call import PreparedCall
from handrail.engine.recording.payloads import one_line
from handrail.engine.timing import DeadlineTimer
from handrail.policy import messages as policy_messages
from handrail.policy.approval.approvers import parse_reply
from handrail.policy.approval.grants import SessionGrants
from handrail.policy.policy_input import PolicyInput

if TYPE_CHECKING:
    from handrail.core.commands import CommandAnalysis
    from handrail.core.ports.questions import QuestionReply, QuestionRequest
    from handrail.engine.questions import EventApprover

_log = logging.getLogger("handrail")
_BY_MODE: Final = "mode:"
_MAX_REASON: Final = 1_000
_MAX_ANNOUNCED: Final = 5


class RunAborted(ProblemRaised):
    """The user aborted the run in answer to the question about this call."""


@runtime_checkable
class AsksApart(Protocol):
    """An approver that may have further questions open while one waits for its answer."""

    def asks_apart(self, request: ApprovalRequest | QuestionRequest) -> bool:
        """Return whether this question need not wait until the previous one is answered."""


@runtime_checkable
class AnswersQuestions(Protocol):
    """An approver that also passes on questions of models."""

    async def ask_questions(self, request: QuestionRequest) -> Any:
        """Return the answers as a `QuestionReply`, or as a mapping from questions to answers."""


class Approval:
    """Asks the approver; there is none if `approver` is None. Once `aborted`, the user has aborted
    the run, and every further call of an agent is refused.
    """

    def __init__(
        self, approver: Approver | None, grants: SessionGrants, timers: DeadlineTimer
    ) -> None:
        self.approver = approver
        self._grants = grants
        self._timers = timers
        self._one_at_a_time = asyncio.Lock()
        self.aborted = False
        # The seconds that calls have waited for answers of the user, and how many calls wait now.
        self.waited_s = 0.0
        self.waiting = 0

    @property
    def questions(self) -> EventApprover | None:
        """The approver that asks by events, if there is one."""
        if self.approver is None:
            return None
        from handrail.engine.questions import EventApprover

        surfaces = getattr(self.approver, "approvers", (self.approver,))
        return next((one for one in surfaces if isinstance(one, EventApprover)), None)

    def check_not_aborted(self, prepared: PreparedCall) -> None:
        """Raise `cancelled` if the user has aborted the run."""
        if self.aborted:
            raise messages.RUN_ABORTED.error(tool=tool_name(prepared.name))

    async def ask(
        self, state: CallState, verdict: Verdict, plan: Plan | None, subject: PolicyInput
    ) -> None:
        """Return if the user approves exactly this call and plan; otherwise raise `denied` or
        `cancelled`, or `needs_approval` if there is no approver.
        """
        if self.approver is None:
            raise _no_approver_problem(state, verdict, self._always_rule(verdict, subject))
        request = _request(state, verdict, plan, self._always_rule(verdict, subject))
        if announced := self._grants.planned_prompts(subject):
            request = replace(request, preview=_with_announced(request.preview, announced))
        replies: list[Reply] = []

        async def wait(approver: Approver) -> None:
            apart = isinstance(approver, AsksApart) and approver.asks_apart(request)
            async with nullcontext() if apart else self._one_at_a_time:
                # The run may have been aborted while this question waited for its turn.
                self.check_not_aborted(state.prepared)
                if not self._granted_meanwhile(state, verdict, subject):
                    replies.append(await _reply(approver, request))

        state.timer.suspend()
        with self._measure_wait():
            await release_slot_while(wait(self.approver))
        self._timers.limit(state.timer, known_entry(state.prepared).tool.timeout_s)
        if not replies:
            return
        state.clearance.asked = True
        state.clearance.answered_by = _answer_record(replies[0], request)
        self._apply_reply(replies[0], request)
        state.clearance.binding = request.binding

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Return the user's answers to questions of a model; they approve nothing. Raises
        `needs_answer` if no user can be asked, `cancelled` if the user aborts the run.
        """
        approver: object = self.approver
        if not isinstance(approver, AnswersQuestions):
            raise messages.NOBODY_ANSWERS.error(tool=tool_name(request.tool))
        replies: list[QuestionReply] = []

        async def wait(approver: AnswersQuestions) -> None:
            apart = isinstance(approver, AsksApart) and approver.asks_apart(request)
            async with nullcontext() if apart else self._one_at_a_time:
                if self.aborted:
                    raise messages.RUN_ABORTED.error(tool=tool_name(request.tool))
                replies.append(await _answers(approver, request))

        with self._measure_wait():
            await release_slot_while(wait(approver))
        if replies[0].aborted:
            self.aborted = True
            raise RunAborted.of(messages.RUN_ABORTED_AT_QUESTION.fill(tool=tool_name(request.tool)))
        return replies[0]

    @contextmanager
    def _measure_wait(self) -> Iterator[None]:
        now = asyncio.get_running_loop().time
        began = now()
        self.waiting += 1
        try:
            yield
        finally:
            self.waiting -= 1
            self.waited_s += now() - began

    def _apply_reply(self, reply: Reply, request: ApprovalRequest) -> None:
        match reply.answer:
            case Answer.YES:
                return
            case Answer.ALWAYS if request.always is not None:
                self._grants.grant_rule(request.always, call_id=request.call_id)
            case Answer.ALWAYS:
                raise messages.NO_RULE_FOR_ALWAYS.error()
            case Answer.ABORT:
                self.aborted = True
                raise RunAborted.of(
                    messages.RUN_ABORTED_AT_QUESTION.fill(tool=tool_name(request.tool))
                )
            case Answer.NO if reason := _refusal_reason(reply):
                raise messages.USER_DENIED_WITH_REASON.error(reason=reason)
            case Answer.NO:
                raise messages.USER_DENIED.error()

    def _granted_meanwhile(self, state: CallState, verdict: Verdict, subject: PolicyInput) -> bool:
        """Return whether an "always" to the question before this one covers this call too."""
        granted = self._grants.judge(subject) if verdict.rule.startswith(_BY_MODE) else None
        if granted is None or granted.effect is not Effect.ALLOW:
            return False
        state.clearance.verdict = granted
        self._grants.record_use(subject, state.prepared.call.id)
        self._grants.reserve_once(subject, state.key)
        return True

    def _always_rule(self, verdict: Verdict, subject: PolicyInput) -> str | None:
        """Return the rule that would answer this question; None unless only the mode asks."""
        return self._grants.suggest_rule(subject) if verdict.rule.startswith(_BY_MODE) else None


async def _reply(approver: Approver, request: ApprovalRequest) -> Reply:
    try:
        given: Any = await approver.ask(request)
    except ProblemRaised as raised:
        if raised.problem.code == "needs_approval":
            raise
        raise _failed(raised) from raised
    except Exception as error:
        # The approver is foreign code: an exception is not a yes.
        raise _failed(error) from error
    return parse_reply(given, approver)


async def _answers(approver: AnswersQuestions, request: QuestionRequest) -> QuestionReply:
    """Return the reply of an approver; raises `needs_answer` if it returned anything else."""
    from handrail.core.ports.questions import QuestionReply, parse_answers

    try:
        given: Any = await approver.ask_questions(request)
    except ProblemRaised:
        raise
    except Exception as error:
        # The approver is foreign code, perhaps written for approvals only.
        raise messages.NOBODY_ANSWERS.error(tool=tool_name(request.tool)) from error
    via = str(getattr(approver, "via", "approver"))
    if type(given) is QuestionReply:
        answers = given.answers
        return given if answers is None else given._replace(answers=parse_answers(request, answers))
    if isinstance(given, Mapping):
        return QuestionReply(parse_answers(request, given), via)
    raise messages.NOBODY_ANSWERS.error(tool=tool_name(request.tool))


def _failed(error: Exception) -> ProblemRaised:
    _log.warning("the approver failed", exc_info=error)
    return messages.APPROVER_FAILED.error(kind=type(error).__name__)


def _answer_record(reply: Reply, request: ApprovalRequest) -> dict[str, Any]:
    """The answer for the record: what was answered, by whom, through what, and what it granted."""
    answered: dict[str, Any] = {"answer": reply.answer.value, "via": reply.via}
    if reply.who is not None:
        answered["who"] = reply.who
    if reason := _refusal_reason(reply):
        answered["reason"] = reason
    if reply.answer is Answer.ALWAYS and request.always is not None:
        answered["rule"] = request.always
    return answered


def _refusal_reason(reply: Reply) -> str | None:
    """Return the reason of a refusal on one line of limited length; None if there is none."""
    if reply.answer is not Answer.NO or not isinstance(reply.reason, str):
        return None
    return safe_text(reply.reason, one_line=True).strip()[:_MAX_REASON] or None


def binding(state: CallState, plan: Plan | None) -> str:
    """Return what an approval is valid for: this call, these arguments, this plan, once."""
    prepared = state.prepared
    bound = [
        prepared.call.id,
        prepared.name,
        json.dumps(prepared.arguments, sort_keys=True, default=repr),
        plan.hash if plan is not None else None,
        _command_binding(prepared.footprint.command),
    ]
    return hashlib.sha256(json.dumps(bound).encode()).hexdigest()


def _command_binding(analysis: CommandAnalysis | None) -> object:
    """Return where a command would run, and within which limits."""
    return None if analysis is None else [analysis.cwd, analysis.unconfined, analysis.to_dict()]


def _request(
    state: CallState, verdict: Verdict, plan: Plan | None, always: str | None
) -> ApprovalRequest:
    from handrail.engine.planning.preview import full_preview

    prepared = state.prepared
    analysis = prepared.footprint.command
    return ApprovalRequest(
        call_id=prepared.call.id,
        tool=prepared.name,
        action=prepared.tool.render_call(prepared.args) or one_line(prepared),
        reason=verdict.reason,
        risk=prepared.risk,
        preview=full_preview(prepared, plan),
        binding=binding(state, plan),
        model_says=_text(prepared.arguments.get("description")),
        agent=prepared.call.agent,
        chain=prepared.principal.chain if len(prepared.principal.chain) > 1 else (),
        effects=None if analysis is None else _effects(analysis),
        always=always,
        session=state.context.session.id,
        changes=() if plan is None else plan.changes,
    )


def _with_announced(preview: str, announced: Sequence[str]) -> str:
    """Return the preview with what the approved plan announced about such a call."""
    listed = ", ".join(repr(one) for one in announced[:_MAX_ANNOUNCED])
    line = policy_messages.ANNOUNCED_BY_PLAN.format(prompts=listed)
    return f"{preview}\n{line}" if preview else line


def _effects(analysis: CommandAnalysis) -> dict[str, Any]:
    return {
        "class": analysis.safety_class.word,
        "directory": analysis.cwd,
        "unconfined": analysis.unconfined,
        **analysis.effects.to_dict(),
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _no_approver_problem(state: CallState, verdict: Verdict, rule: str | None) -> ProblemRaised:
    if verdict.code == "protected":
        return ProblemRaised("protected", verdict.reason, hint=verdict.hint)
    ways = [verdict.hint or policy_messages.NO_APPROVER_HINT]
    if rule is not None:
        ways.append(f"or allow exactly this in your own configuration: {caller_config_line(rule)}")
    return policy_messages.NEEDS_APPROVAL.error(
        tool=tool_name(state.prepared.name), reason=verdict.reason, ways="; ".join(ways)
    )
