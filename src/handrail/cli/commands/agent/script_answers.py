"""Answers questions from the script of a scripted model, and says so."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from handrail.core.approval import Answer, ApprovalRequest, Reply

if TYPE_CHECKING:
    from handrail.core.ports.machine import Approver
    from handrail.models.scripted.script_model import ScriptModel

_VIA: Final = "script"
_REFUSAL: Final = "no:"


class ScriptApprover:
    """Answers as the script says; without an answer there, asks another approver or says no."""

    via = _VIA

    def __init__(self, model: ScriptModel, otherwise: Approver | None) -> None:
        self._model = model
        self._otherwise = otherwise

    async def ask(self, request: ApprovalRequest) -> Reply:
        """The next answer of the script."""
        from handrail.policy.approval.approvers import parse_reply

        answer = self._model.next_answer()
        if answer is None and self._otherwise is not None:
            return parse_reply(await self._otherwise.ask(request), self._otherwise)
        if not isinstance(answer, str):
            return Reply(Answer.NO, _VIA, reason="the script has no answer to this question")
        if answer.startswith(_REFUSAL):
            return Reply(Answer.NO, _VIA, reason=answer.removeprefix(_REFUSAL).strip())
        return Reply(Answer(answer), _VIA)
