"""Asks one question through several approvers at once; the first answer counts."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from handrail.core.approval import ApprovalRequest, Reply
from handrail.core.ports.machine import Approver
from handrail.core.ports.questions import QuestionReply, QuestionRequest, parse_answers
from handrail.policy import messages
from handrail.policy.approval.approvers import parse_reply

_R = TypeVar("_R", Reply, QuestionReply)


@runtime_checkable
class ClosesQuestions(Protocol):
    """An approver whose open questions can be closed from outside."""

    def close_question(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply
    ) -> Reply | QuestionReply | None:
        """Close a question that another approver has answered with `reply`. If this approver has already
        got an answer that takes precedence, it returns that answer: the earlier one does, unless only
        the later one refuses.
        """


@runtime_checkable
class ReportsDecisions(Protocol):
    """An approver that reports how a question ended. If `shared` is set, it reports only when
    `report_decision` is called.
    """

    shared: bool

    def report_decision(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply | None
    ) -> None:
        """Report the answer that counts; None: the question was withdrawn."""


class SharedApprover:
    """Asks several approvers at once. The first answer counts; among simultaneous answers, a refusal
    does. If an approver fails, the question stays open for the others. `on_answer` is called with the
    reply that counts.
    """

    via = "shared"

    def __init__(
        self,
        approvers: Sequence[Approver],
        on_answer: Callable[[Reply], None] = lambda reply: None,
    ) -> None:
        if not approvers:
            raise messages.NO_APPROVERS.error(field="approver")
        # All are asked by one: only that one knows which answer counts.
        self.approvers: tuple[Approver, ...] = tuple(
            inner
            for one in approvers
            for inner in (one.approvers if isinstance(one, SharedApprover) else [one])
        )
        self._on_answer = on_answer
        for one in self.approvers:
            if isinstance(one, ReportsDecisions):
                one.shared = True

    def asks_apart(self, request: ApprovalRequest | QuestionRequest) -> bool:
        """Whether every approver can have several questions open."""
        apart = (getattr(one, "asks_apart", None) for one in self.approvers)
        return all(ask is not None and ask(request) for ask in apart)

    async def ask(self, request: ApprovalRequest) -> Reply:
        """The reply that counts; raises what the first approver raised if all of them fail."""

        async def ask_one(approver: Approver) -> Reply:
            return parse_reply(await approver.ask(request), approver)

        reply = await self._share(request, ask_one, self.approvers)
        self._on_answer(reply)
        return reply

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """The answers to a model's questions, from the first approver that answers."""
        able = [one for one in self.approvers if hasattr(one, "ask_questions")]
        if not able:
            raise messages.NOBODY_ANSWERS_QUESTIONS.error()
        return await self._share(request, lambda one: _ask_questions(one, request), able)

    async def _share(
        self,
        request: ApprovalRequest | QuestionRequest,
        ask: Callable[[Approver], Coroutine[Any, Any, _R]],
        approvers: Sequence[Approver],
    ) -> _R:
        waiting = {asyncio.ensure_future(ask(one)): one for one in approvers}
        decision: _R | None = None
        try:
            reply = _strictest(await _first_done(waiting))
            for task, approver in waiting.items():
                if not task.done() and isinstance(approver, ClosesQuestions):
                    earlier = approver.close_question(request, reply)
                    reply = earlier if isinstance(earlier, type(reply)) else reply
            decision = reply
        finally:
            await _cancel(waiting)
            for approver in approvers:
                if isinstance(approver, ReportsDecisions):
                    approver.report_decision(request, decision)
        return decision


async def _ask_questions(approver: Any, request: QuestionRequest) -> QuestionReply:
    given = await approver.ask_questions(request)
    if type(given) is QuestionReply:
        return given
    via = str(getattr(approver, "via", "approver"))
    return QuestionReply(parse_answers(request, given), via)


async def _first_done(waiting: Mapping[asyncio.Task[_R], Approver]) -> list[_R]:
    """The results of the tasks that end first; raises the first failure if all of them fail."""
    pending: set[asyncio.Task[_R]] = set(waiting)
    while pending:
        _, pending = await asyncio.wait(pending, return_when=asyncio.FIRST_COMPLETED)
        # In the order of the approvers, not of completion.
        done = [task for task in waiting if task not in pending]
        results = [task.result() for task in done if task.exception() is None]
        if results:
            return results
    errors = [error for task in waiting if (error := task.exception()) is not None]
    raise errors[0]


async def _cancel(waiting: Mapping[asyncio.Task[_R], Approver]) -> None:
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)


def _strictest(replies: Sequence[_R]) -> _R:
    """The first refusal if there is one, else the first reply."""
    return next((one for one in replies if one.refuses), replies[0])
