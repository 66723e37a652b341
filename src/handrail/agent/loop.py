"""The steps of one task: ask the model, run its calls, until it answers without calls.

Every exit leaves a conversation that can go on: each call of an assistant message has a result
before the next request is sent, and a message is on disk before its calls have effects.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from handrail.agent import messages
from handrail.agent.budget import BudgetMeter
from handrail.agent.conversation import Conversation
from handrail.agent.estimate import TokenEstimate
from handrail.agent.events import (
    BudgetWarning,
    ModelCall,
    ModelRequested,
    ModelResponded,
    ModelRetried,
    ModelText,
    ModelThinking,
    Notification,
)
from handrail.agent.report import ReportBuilder
from handrail.agent.turns import ExecutedTurn, TurnRunner
from handrail.core.agent_results import AgentStatus
from handrail.core.events import Event
from handrail.core.ports.agents import RunLifecycleHooks
from handrail.core.ports.machine import Clock
from handrail.core.ports.models import (
    CallClosed,
    CallOpened,
    Finish,
    Message,
    Model,
    ModelEvent,
    ModelFailed,
    ModelRequest,
    ModelRetry,
    TextBlock,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from handrail.core.problems import Problem, ProblemRaised

# A message that only says that it was cut off is followed by this one.
_GO_ON: Final = "Your last message was cut off at its length limit. Continue in smaller steps."
_PAUSED: Final = "Continue."
_MAX_HOOK_TEXT: Final = 4_000
_ADVICE: Final = {
    "auth": "check the key of the model: `handrail models test NAME`",
    "invalid_request": "the provider refused the request; `handrail models test NAME` tries a small one",
    "context_overflow": "the conversation is too long for the model: start a new one, or use a model "
    "with a larger context",
    "rate_limited": "wait, or use another model; the session can be resumed",
    "content_refused": "the provider refuses this content; change the task",
}


_STATUS: Final[Mapping[str, AgentStatus]] = {
    "budget_exceeded": "budget",
    "cancelled": "aborted",
    "denied": "refused",
    "blocked": "refused",
    "needs_approval": "needs_person",
    "needs_answer": "needs_person",
}


class StepLimits(NamedTuple):
    """Limits of one task beside its budget."""

    max_steps: int
    max_output_tokens: int


class TaskEnd(NamedTuple):
    """How the steps of a task ended: the model's last text, or a problem."""

    text: str
    problem: Problem | None = None
    status: AgentStatus = "done"


def end_with(problem: Problem, text: str = "") -> TaskEnd:
    """The end of a task that a problem stopped."""
    return TaskEnd(text, problem, _STATUS.get(problem.code, "failed"))


@dataclass(slots=True)
class StepLoop:
    """Carries out the steps of one task of one agent."""

    agent: str
    model: Model
    conversation: Conversation
    turns: TurnRunner
    meter: BudgetMeter
    limits: StepLimits
    estimate: TokenEstimate
    report: ReportBuilder
    clock: Clock
    emit: Callable[[Event], None]
    take_steering: Callable[[], Sequence[str]]
    run_hooks: RunLifecycleHooks
    # Model responses of this task so far, over all calls of `run`.
    steps: int = 0

    async def run(self) -> TaskEnd:
        """Work until the model answers without calls, or a limit ends the task."""
        cut_off = 0
        while self.steps < self.limits.max_steps:
            self.steps += 1
            for text in self.take_steering():
                self.conversation.append(
                    Message("user", (TextBlock(text),)), self.conversation.turn
                )
            try:
                turn = await self._step(self.steps)
            except ProblemRaised as raised:
                return end_with(raised.problem)
            if turn.results and self.turns.aborted:
                return end_with(messages.ABORTED.fill(), turn.message.text)
            cut_off = cut_off + 1 if turn.finish is Finish.LENGTH else 0
            if cut_off > 1:
                limit = self.limits.max_output_tokens
                return end_with(messages.RESPONSE_TRUNCATED_TWICE.fill(limit=limit))
            if (end := self._ended(turn)) is not None:
                return end
        problem = messages.TOO_MANY_STEPS.fill(steps=self.limits.max_steps)
        return TaskEnd("", problem, "max_steps")

    async def _step(self, number: int) -> ExecutedTurn:
        """One request and the calls of its answer; raises the problem that ends the task."""
        request = self._request()
        estimate = self.estimate.count(request)
        room = self.meter.allow_step(estimate, self.limits.max_output_tokens)
        request = self._request(room)
        await self._before_request(request, estimate)
        self.emit(ModelRequested(self.agent, number, len(request.messages), estimate))
        await self.conversation.flush()
        turn_number = self.conversation.turn + 1
        progress = _StepProgress(self.agent, number, self.emit)
        try:
            turn = await self.turns.run(
                self.model.stream(request), self.conversation, turn_number, progress.report
            )
        except ModelFailed as failed:
            self._charge(progress, failed.usage or progress.usage_or(estimate))
            raise self._failure(failed) from failed
        used = progress.usage_or(estimate)
        self._charge(progress, used)
        self._check_truncation(request, used)
        self.emit(ModelResponded(self.agent, number, turn.finish.value, _usage_dict(used)))
        facts = {"model": self.model.name, "finish": turn.finish.value, "tokens": str(used.output)}
        await self.run_hooks("post_llm_call", facts)
        for result, command in zip(turn.results, turn.commands, strict=True):
            self.report.add(result, command, self.clock.now_ns())
        await self.conversation.flush()
        for kind, amount, limit in self.meter.warnings():
            self.emit(BudgetWarning(self.agent, kind, amount, limit))
            spent = {"kind": kind, "used": f"{amount:g}", "limit": f"{limit:g}"}
            await self.run_hooks("budget_warning", spent)
        if (kind_over := self.meter.overdrawn()) is not None:
            raise messages.BUDGET_OVERDRAWN.error(kind=kind_over)
        return turn

    def _charge(self, progress: _StepProgress, used: UsageReported) -> None:
        """Charge the request, and the attempts before it that failed after they had begun."""
        for usage in (*progress.failed_attempts, used):
            self.meter.add_request(usage)

    async def _before_request(self, request: ModelRequest, estimate: int) -> None:
        """Ask the hooks; raises `blocked` if one of them stops the request. Hooks see sizes and the
        user's last text, not the conversation, and cannot change the request.
        """
        asked = [one.text for one in request.messages if one.role == "user" and one.text]
        facts = {
            "model": self.model.name,
            "messages": str(len(request.messages)),
            "input_tokens_estimate": str(estimate),
            "user_text": asked[-1][:_MAX_HOOK_TEXT] if asked else "",
        }
        outcome = await self.run_hooks("pre_llm_call", facts)
        if outcome.blocked is not None:
            raise messages.REQUEST_BLOCKED.error(reason=outcome.blocked)

    def _request(self, max_output_tokens: int | None = None) -> ModelRequest:
        setup = self.conversation.setup
        if setup is None:
            raise RuntimeError("the conversation was not begun")
        sent = self.conversation.messages
        return ModelRequest(
            setup.system,
            sent,
            setup.tools,
            max_output_tokens or self.limits.max_output_tokens,
            cache_marks=(len(sent) - 1,) if sent else (),
        )

    def _ended(self, turn: ExecutedTurn) -> TaskEnd | None:
        """The end of the task if the model made no calls and has nothing to add."""
        if turn.message.calls:
            return None
        if turn.finish is Finish.REFUSED:
            return end_with(messages.MODEL_REFUSED.fill(reason=turn.reason), turn.message.text)
        if turn.finish in (Finish.LENGTH, Finish.PAUSED, Finish.CUT):
            text = _GO_ON if turn.finish is Finish.LENGTH else _PAUSED
            self.conversation.append(Message("user", (TextBlock(text),)), self.conversation.turn)
            return None
        return TaskEnd(turn.message.text)

    def _check_truncation(self, request: ModelRequest, used: UsageReported) -> None:
        if used.estimated:
            return
        sent = self.estimate.count(request)
        if self.estimate.correct(request, used.input):
            problem = messages.PROMPT_TRUNCATED.fill(used=used.input, sent=sent)
            self.emit(Notification("prompt_truncated", str(problem)))

    def _failure(self, failed: ModelFailed) -> ProblemRaised:
        advice = _ADVICE.get(failed.code, "the session can be resumed: `handrail run --continue`")
        return messages.MODEL_FAILED.error(
            model=self.model.name, code=failed.code, reason=failed.message, advice=advice
        )


class _StepProgress:
    """Turns the events of a model into events of the agent, and keeps the last usage."""

    def __init__(self, agent: str, step: int, emit: Callable[[Event], None]) -> None:
        self._agent = agent
        self._step = step
        self._emit = emit
        self._usage: UsageReported | None = None
        self._output_chars = 0
        self.failed_attempts: list[UsageReported] = []

    def report(self, event: ModelEvent) -> None:
        """Pass an event on."""
        agent, step = self._agent, self._step
        match event:
            case TextDelta(text):
                self._output_chars += len(text)
                self._emit(ModelText(agent, step, text))
            case ThinkingDelta(text):
                self._output_chars += len(text)
                self._emit(ModelThinking(agent, step, text))
            case CallOpened(_, id, name):
                self._emit(ModelCall(agent, step, id, name, complete=False))
            case CallClosed(_, id, name, arguments_json):
                self._output_chars += len(arguments_json)
                self._emit(ModelCall(agent, step, id, name, complete=True))
            case UsageReported():
                self._usage = event
            case ModelRetry(attempt, code, wait_s, usage):
                if usage is not None:
                    self.failed_attempts.append(usage)
                self._emit(ModelRetried(agent, step, attempt, code, wait_s))

    def usage_or(self, input_estimate: int) -> UsageReported:
        """The provider's last report, or an estimate."""
        if self._usage is not None:
            return self._usage
        return UsageReported(input_estimate, self._output_chars // 4, estimated=True)


def _usage_dict(used: UsageReported) -> dict[str, int | bool]:
    return {
        "input": used.input,
        "output": used.output,
        "cache_read": used.cache_read,
        "cache_write": used.cache_write,
        "estimated": used.estimated,
    }
