"""Questions to the user as events: a program shows them and answers by their ids."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.events import Event, QuestionAnswered, QuestionAsked
from handrail.core.ports.questions import QuestionReply, QuestionRequest, parse_answers
from handrail.engine import messages

_ID_CHARS: Final = 12
# The number of answered questions whose ids are remembered, to recognise a late answer.
_REMEMBERED: Final = 1_000
_VIA: Final = "events"


class Question(NamedTuple):
    """A question that waits for an answer: whether a call may run, or a question of a model."""

    id: str
    request: ApprovalRequest | QuestionRequest


@dataclass(slots=True)
class _OpenQuestion:
    question: Question
    answer: asyncio.Future[Reply | QuestionReply]
    # The answer that counts, given here or through another approver; None if the question was
    # withdrawn.
    decision: asyncio.Future[Reply | QuestionReply | None]
    chain: tuple[str, ...]


class EventApprover:
    """Asks by the event `question`; `reply` answers. There is no time limit, and the first answer
    counts. A question is withdrawn when its call ends.
    """

    via = _VIA

    def __init__(self) -> None:
        # Reports an event about a call.
        self.emit: Callable[[Event, str], None] = lambda event, call_id: None
        # Whether this is one of several approvers, so that another may decide.
        self.shared = False
        self._open: dict[str, _OpenQuestion] = {}
        self._answered: deque[str] = deque(maxlen=_REMEMBERED)

    @property
    def pending(self) -> tuple[Question, ...]:
        """The questions that wait, oldest first."""
        return tuple(one.question for one in self._open.values() if not one.answer.done())

    def asks_apart(self, request: ApprovalRequest | QuestionRequest) -> bool:
        """Return True: any number of questions may be open at once."""
        return True

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Report the question whether a call may run, and wait for the answer."""
        given = await self._wait(request, request.chain or (request.agent,))
        return given if isinstance(given, Reply) else Reply(Answer.NO, _VIA)

    async def ask_questions(self, request: QuestionRequest) -> QuestionReply:
        """Report the questions of a model, and wait for the answers."""
        given = await self._wait(request, request.chain)
        return given if isinstance(given, QuestionReply) else QuestionReply(None, _VIA)

    async def reply(
        self, question_id: str, answer: Any, reason: str | None, who: str | None
    ) -> None:
        """Answer a question. Raises `conflict` if it has an answer, or is refused elsewhere at the
        same time; `not_found` if it was not asked, `invalid_arguments` for an invalid `answer`, or
        an "always" that no rule expresses.
        """
        asked = self._answer(question_id, answer, reason, who)
        if self.shared:
            given, decision = asked.answer.result(), await asyncio.shield(asked.decision)
            if decision is not None and decision.refuses and not given.refuses:
                raise messages.QUESTION_ANSWERED.error(question=question_id, field="question_id")

    def _answer(
        self, question_id: str, answer: Any, reason: str | None, who: str | None
    ) -> _OpenQuestion:
        found = self._open.get(question_id)
        if found is None or found.answer.done():
            late = found is not None or question_id in self._answered
            template = messages.QUESTION_ANSWERED if late else messages.NO_SUCH_QUESTION
            raise template.error(question=question_id, field="question_id")
        request = found.question.request
        if isinstance(request, QuestionRequest):
            found.answer.set_result(_parse_texts(request, answer, who))
            return found
        given = _parse_answer(answer)
        if given is Answer.ALWAYS and request.always is None:
            raise messages.ALWAYS_WITHOUT_RULE.error(question=question_id, field="answer")
        found.answer.set_result(Reply(given, _VIA, who, reason))
        return found

    def close_question(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply
    ) -> Reply | QuestionReply | None:
        """Close a question with an answer that was given elsewhere; return an earlier answer,
        unless only the other one refuses.
        """
        for one in self._open.values():
            if one.question.request is request and one.answer.done():
                earlier = one.answer.result()
                return earlier if earlier.refuses or not reply.refuses else None
        return None

    def report_decision(
        self, request: ApprovalRequest | QuestionRequest, reply: Reply | QuestionReply | None
    ) -> None:
        """Report the answer that counts, or that the question was withdrawn."""
        for one in tuple(self._open.values()):
            if one.question.request is request:
                self._finish(one, reply)

    async def _wait(
        self, request: ApprovalRequest | QuestionRequest, chain: tuple[str, ...]
    ) -> Reply | QuestionReply:
        question = Question(self._new_id(request.binding), request)
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[Reply | QuestionReply] = loop.create_future()
        asked = _OpenQuestion(question, answer, loop.create_future(), chain)
        self._open[question.id] = asked
        shown, agent, call = request.to_dict(), request.agent, request.call_id
        self.emit(QuestionAsked(question.id, agent, chain, call, shown), call)
        given: Reply | QuestionReply | None = None
        try:
            given = await answer
            return given
        finally:
            # With several approvers, `report_decision` follows.
            if not self.shared:
                self._finish(asked, given)

    def _finish(self, asked: _OpenQuestion, given: Reply | QuestionReply | None) -> None:
        question = asked.question
        del self._open[question.id]
        self._answered.append(question.id)
        asked.decision.set_result(given)
        word = given.answer.value if isinstance(given, Reply) else None
        via, who = ("withdrawn", None) if given is None else (given.via, given.who)
        request = question.request
        self.emit(
            QuestionAnswered(question.id, request.agent, asked.chain, word, via, who),
            request.call_id,
        )

    def _new_id(self, binding: str) -> str:
        name, number = binding[:_ID_CHARS], 1
        found = name
        while found in self._open or found in self._answered:
            number += 1
            found = f"{name}-{number}"
        return found


def _parse_answer(given: Any) -> Answer:
    if given is True or given is False:
        return Answer.YES if given else Answer.NO
    try:
        return Answer(given)
    except ValueError:
        names = ", ".join(one.value for one in Answer)
        raise _invalid(given, f"{names}, True or False") from None


def _parse_texts(request: QuestionRequest, given: Any, who: str | None) -> QuestionReply:
    """Return the answers to a model: a mapping from questions, None to decline, "abort" to end the
    run.
    """
    if given is None:
        return QuestionReply(None, _VIA, who)
    if given == Answer.ABORT:
        return QuestionReply(None, _VIA, who, aborted=True)
    answers = parse_answers(request, given) if isinstance(given, Mapping) else {}
    if not answers:
        raise _invalid(given, "a mapping from questions to answers, None, or abort")
    return QuestionReply(answers, _VIA, who)


def _invalid(given: Any, names: str) -> Exception:
    return messages.INVALID_ANSWER.error(given=f"{given!r:.80}", names=names, field="answer")
