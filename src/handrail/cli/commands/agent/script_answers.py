"""Answers questions from the script of a scripted model, and says so."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.names.caller_words import tool_name
from handrail.core.ports.questions import QuestionReply, QuestionRequest
from handrail.engine.approval import AnswersQuestions

if TYPE_CHECKING:
    from handrail.core.ports.machine import Approver
    from handrail.models.scripted.script_model import ScriptModel

_VIA: Final = "script"
_REFUSAL: Final = "no:"


class ScriptApprover:
    """Answers as the script says; without an answer there, asks another approver, if there is one.
    `show` prints the question and its answer.
    """

    via = _VIA

    def __init__(
        self, model: ScriptModel, otherwise: Approver | None, show: Callable[[str], None]
    ) -> None:
        self._model = model
        self._otherwise = otherwise
        self._show = show

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Return the next answer of the script; raises `needs_approval` if there is no approver
        either.
        """
        from handrail.policy import messages
        from handrail.policy.approval.approvers import parse_reply

        answer = self._model.next_answer()
        if answer is None and self._otherwise is None:
            raise messages.NEEDS_APPROVAL.error(
                tool=tool_name(request.tool),
                reason=request.reason,
                ways=messages.NO_APPROVER_HINT,
            )
        if answer is None and self._otherwise is not None:
            return parse_reply(await self._otherwise.ask(request), self._otherwise)
        reply = _scripted_reply(answer)
        for line in _lines(request, reply):
            self._show(line)
        return reply

    async def ask_questions(self, request: QuestionRequest) -> Any:
        """Return the next answer of the script, which must be a mapping with `answers`."""
        answer = self._model.next_answer()
        if isinstance(answer, Mapping):
            return QuestionReply(answer["answers"], _VIA)
        fallback: object = self._otherwise if answer is None else None
        # If the next scripted answer is an approval, the script does not answer this question.
        return (
            await fallback.ask_questions(request)
            if isinstance(fallback, AnswersQuestions)
            else None
        )


def _scripted_reply(answer: Any) -> Reply:
    if not isinstance(answer, str):
        return Reply(Answer.NO, _VIA, reason="the script has no answer to this question")
    if answer.startswith(_REFUSAL):
        return Reply(Answer.NO, _VIA, reason=answer.removeprefix(_REFUSAL).strip())
    return Reply(Answer(answer), _VIA)


def _lines(request: ApprovalRequest, reply: Reply) -> Iterator[str]:
    from handrail.cli.render.screen import TextStyle, one_line, paint, wrap

    reason = f": {one_line(reply.reason)}" if reply.reason else ""
    for text in (
        f"asked: {one_line(request.tool)}, {one_line(request.reason)}",
        f"answered by the script, not by a user: {reply.answer}{reason}",
    ):
        yield from (paint(row, TextStyle.CAUTION) for row in wrap(text, "  ? "))
