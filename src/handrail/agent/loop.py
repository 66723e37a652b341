"""The steps of one task: ask the model, run its calls, until it answers without calls.

After every exit the conversation can continue: each call of an assistant message has a result
before the next request is sent, and a message is on disk before its calls have effects.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from handrail.agent import messages
from handrail.agent.budget import BudgetMeter, stop_at
from handrail.agent.compaction import Compactor
from handrail.agent.conversation import Conversation
from handrail.agent.estimate import TokenEstimate
from handrail.agent.events import (
    BudgetWarning,
    ModelRequested,
    ModelResponded,
    Notification,
)
from handrail.agent.report import ReportBuilder
from handrail.agent.step_progress import StepProgress
from handrail.agent.turns import ExecutedTurn, TurnRunner
from handrail.core.agent_results import AgentStatus
from handrail.core.events import Event
from handrail.core.lazy import Lazy
from handrail.core.ports.agents import RunLifecycleHooks
from handrail.core.ports.machine import Clock
from handrail.core.ports.models import (
    Finish,
    Message,
    Model,
    ModelFailed,
    ModelRequest,
    ModelRetry,
    TextBlock,
    UsageReported,
)
from handrail.core.ports.subagents import Subagents
from handrail.core.problems import Problem, ProblemRaised
from handrail.models.retries import MAX_WAIT_S, RetryPolicy

# Sent after a message that ended because of its length.
_GO_ON: Final = "Your last message was cut off at its length limit. Continue in smaller steps."
_PAUSED: Final = "Continue."
_MAX_HOOK_TEXT: Final = 4_000
# The pauses before a retry of a stream that failed after its start.
_PAUSES: Final = RetryPolicy()
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
    """Limits of one task besides its budget."""

    max_steps: int
    max_output_tokens: int


class TaskEnd(NamedTuple):
    """How the steps of a task ended: the model's last text, or a problem."""

    text: str
    problem: Problem | None = None
    status: AgentStatus = "done"


def end_with(problem: Problem, text: str = "") -> TaskEnd:
    """Return the end of a task that a problem stopped."""
    return TaskEnd(text, problem, _STATUS.get(problem.code, "failed"))


@dataclass(slots=True)
class StepLoop:
    """Runs the steps of one task of one agent."""

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
    compactor: Compactor
    subagents: Lazy[Subagents]
    # The background jobs of the agent that are running, as far as the model knows.
    jobs: set[str]
    # Model responses of this task in earlier processes.
    earlier_steps: int = 0
    # Model responses of this task so far, over all calls of `run`.
    steps: int = 0

    async def run(self) -> TaskEnd:
        """Work until the model answers without calls, or a limit ends the task."""
        cut_off = 0
        while self.earlier_steps + self.steps < self.limits.max_steps:
            self.steps += 1
            for text in await self._take_messages():
                self.conversation.append(
                    Message("user", (TextBlock(text),)), self.conversation.turn
                )
            try:
                turn = await self._step(self.steps)
            except ProblemRaised as raised:
                return end_with(raised.problem)
            if turn.results and self.turns.aborted:
                return end_with(messages.ABORTED.fill(), turn.message.text)
            if turn.results and (over := self.meter.refused_call) is not None:
                return end_with(over, turn.message.text)
            cut_off = cut_off + 1 if turn.finish is Finish.LENGTH else 0
            if cut_off > 1:
                limit = self.limits.max_output_tokens
                return end_with(messages.RESPONSE_TRUNCATED_TWICE.fill(limit=limit))
            if (end := self._end_without_calls(turn)) is not None:
                return end
        problem = messages.TOO_MANY_STEPS.fill(steps=self.limits.max_steps)
        return TaskEnd("", problem, "max_steps")

    async def _take_messages(self) -> list[str]:
        """The messages for the model's next step: of the user, and about work that has ended."""
        texts = list(self.take_steering())
        if self.subagents.built is not None or self.jobs:
            agents, conversation = self.subagents.value, self.conversation.id
            texts += await agents.announcements(self.agent, conversation, self.jobs)
            self._add_children()
        return texts

    def _add_results(self, turn: ExecutedTurn) -> None:
        """Add the calls of a turn to the report, and the usage of their tools."""
        for result, command in zip(turn.results, turn.commands, strict=True):
            self.report.add(result, command, self.clock.now_ns())
            if isinstance(spent := result.meta.get("model_usage"), Mapping):
                # A tool used a model.
                self.meter.add_request(UsageReported(spent.get("input", 0), spent.get("output", 0)))
            if isinstance(result.data, Mapping):
                _follow_job(result.data, self.jobs)
        self._add_children()

    def _add_children(self) -> None:
        if (agents := self.subagents.built) is not None:
            for report in agents.take_reports(self.agent, self.conversation.id):
                self.report.add_child(report)

    async def _step(self, number: int) -> ExecutedTurn:
        """Send one request and run the calls of its answer; raises the problem that ends the task."""
        estimate = self.estimate.count(self._request())
        most = self.limits.max_output_tokens
        resumed = number == 1 and not self.conversation.has_new_text
        if self.compactor.is_due(estimate, most, resumed=resumed):
            await self.compactor.run(estimate, self.compactor.target(most))
            self.compactor.keep_size(self.estimate.factor)
            estimate = self.estimate.count(self._request())
        request = self._request(self.meter.allow_step(estimate, most))
        await self._before_request(request, estimate)
        self.emit(ModelRequested(self.agent, number, len(request.messages), estimate))
        try:
            turn, used = await self._exchange(request, estimate, number)
        except ProblemRaised as raised:
            await self.compactor.shorten_after(raised, estimate)
            self.compactor.keep_size(self.estimate.factor)
            estimate = self.estimate.count(self._request())
            request = self._request(self.meter.allow_request(estimate, most))
            turn, used = await self._exchange(request, estimate, number)
        self._check_truncation(request, used)
        self.emit(ModelResponded(self.agent, number, turn.finish.value, asdict(used)))
        facts = {"model": self.model.name, "finish": turn.finish.value, "tokens": str(used.output)}
        await self.run_hooks("post_llm_call", facts)
        self._add_results(turn)
        for kind, amount, limit in self.meter.warnings():
            self.emit(BudgetWarning(self.agent, kind, amount, limit))
            spent = {"kind": kind, "used": f"{amount:g}", "limit": f"{limit:g}"}
            await self.run_hooks("budget_warning", spent)
        if (kind_over := self.meter.overdrawn()) is not None:
            raise messages.BUDGET_OVERDRAWN.error(kind=kind_over)
        return turn

    async def _exchange(
        self, request: ModelRequest, estimate: int, number: int
    ) -> tuple[ExecutedTurn, UsageReported]:
        """Send the request until it is answered; raises the problem that ends the task.

        A stream that fails after its start is requested again: calls with effects wait for the end
        of the message, so none has run. Calls that only read run again with new ids. Retries of the
        model client count too: one limit applies to all streams of a message.
        """
        room = request.max_output_tokens or self.limits.max_output_tokens
        max_retries, failures = self.model.limits.stream_retries, 0
        # The request is on disk before it is sent, so that a resumed task sends the same one.
        await self.conversation.flush()
        self.conversation.has_new_text = False

        def retry(failed_usage: UsageReported | None) -> None:
            nonlocal room, failures
            if failed_usage is not None:
                failures += 1
                self.meter.add_request(failed_usage)
            room = self.meter.allow_request(estimate, room)

        turn = self.turns.rt.model_calls.begin_turn(self.conversation.turn + 1)
        first = prefix = self.conversation.call_prefix(turn)
        while True:
            progress = StepProgress(self.agent, number, self.emit, retry, self.meter, estimate)
            try:
                left = max_retries - failures
                sent = replace(request, max_output_tokens=room, stream_retries=left)
                events, report = stop_at(self.model.stream(sent), self.meter), progress.report
                executed = await self.turns.run(events, self.conversation, turn, prefix, report)
            except ModelFailed as failed:
                usage = failed.usage
                if usage is None and (progress.begun or failed.code == "idle"):
                    usage = progress.usage
                wait_s = _PAUSES.wait_s(failures + 1, failed.retry_after_s)
                again = failed.retryable and progress.begun and wait_s <= MAX_WAIT_S
                if not again or failures >= max_retries:
                    if usage is not None:
                        self.meter.add_request(usage)
                    raise self._failure(failed) from failed
                progress.report(ModelRetry(failures + 1, failed.code, wait_s, usage))
                await asyncio.sleep(wait_s)
                prefix = f"{first}-{failures + 1}"
                continue
            except (ProblemRaised, asyncio.CancelledError) as stopped:
                progress.charge_stopped(stopped)
                raise
            return executed, progress.usage

    async def _before_request(self, request: ModelRequest, estimate: int) -> None:
        """Run the hooks; raises `blocked` if one stops the request. Hooks see sizes and the user's
        last text, not the conversation, and cannot change the request.
        """
        user_texts = [
            message.text for message in request.messages if message.role == "user" and message.text
        ]
        facts = {
            "model": self.model.name,
            "messages": str(len(request.messages)),
            "input_tokens_estimate": str(estimate),
            "user_text": user_texts[-1][:_MAX_HOOK_TEXT] if user_texts else "",
        }
        outcome = await self.run_hooks("pre_llm_call", facts)
        if outcome.blocked is not None:
            raise messages.REQUEST_BLOCKED.error(reason=outcome.blocked)

    def _request(self, max_output_tokens: int | None = None) -> ModelRequest:
        setup = self.conversation.setup
        if setup is None:
            raise RuntimeError("the conversation was not begun")
        sent = self.conversation.sent_messages
        return ModelRequest(
            setup.system,
            sent,
            setup.tools,
            max_output_tokens or self.limits.max_output_tokens,
            cache_marks=(len(sent) - 1,) if sent else (),
        )

    def _end_without_calls(self, turn: ExecutedTurn) -> TaskEnd | None:
        """Return the end of the task if the model made no calls and has nothing to add, else None."""
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
        self.compactor.keep_size(self.estimate.factor)

    def _failure(self, failed: ModelFailed) -> ProblemRaised:
        if failed.code == "over_limit":
            # A message with too many calls may have exceeded the budget before.
            refused = messages.MODEL_OVER_LIMIT.fill(model=self.model.name, reason=failed.message)
            return ProblemRaised.of(self.meter.refused_call or refused)
        resumable = "the session can be resumed: `handrail run --continue`"
        advice = failed.hint or _ADVICE.get(failed.code, resumable)
        return messages.MODEL_FAILED.error(
            model=self.model.name, code=failed.code, reason=failed.message, advice=advice
        )


def _follow_job(data: Mapping[str, Any], jobs: set[str]) -> None:
    """Record a job that the call started, or that its result shows as ended."""
    if isinstance(data.get("job"), str):
        jobs.add(data["job"])
    if isinstance(task := data.get("task"), Mapping) and task.get("is_completed"):
        jobs.discard(str(task.get("id")))
