"""Functions as approvers, and the values that an approver may return.

Only exact values count: `True`, `False`, an `Answer`, or a `Reply` with an `Answer`. Any other
value is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.ports.machine import Approver
from handrail.policy import messages

if TYPE_CHECKING:
    from handrail.core.ports.questions import QuestionRequest

Callback = Callable[[ApprovalRequest], "bool | Answer | Reply | Awaitable[bool | Answer | Reply]"]


class CallbackApprover:
    """Asks a function, sync or async. For a question of a model the function gets a
    `QuestionRequest` and returns a mapping from questions to answers.
    """

    via = "callback"

    def __init__(self, callback: Callback) -> None:
        self._callback = callback

    async def ask(self, request: ApprovalRequest) -> bool | Answer | Reply:
        """Ask the function."""
        answer = self._callback(request)
        return await answer if inspect.isawaitable(answer) else answer

    async def ask_questions(self, request: QuestionRequest) -> Any:
        """Ask the function; only a mapping or a `QuestionReply` counts as an answer."""
        function: Any = self._callback
        answer = function(request)
        return await answer if inspect.isawaitable(answer) else answer


def make_approver(given: Approver | Callback | None) -> Approver | None:
    """Turn the argument `approver` (an approver, a function, or None) into an approver. Raises
    `invalid_arguments` for anything else.
    """
    if given is None or hasattr(given, "ask"):
        return given
    if not callable(given):
        raise messages.INVALID_APPROVER.error(given=given, field="approver")
    return CallbackApprover(given)


def parse_reply(given: Any, approver: Approver) -> Reply:
    """The reply of an approver; raises `denied` if the returned value is not an answer."""
    via = str(getattr(approver, "via", "approver"))
    if type(given) is Reply and type(given.answer) is Answer:
        return given
    if type(given) is Answer:
        return Reply(given, via)
    if type(given) is bool:
        return Reply(Answer.YES if given else Answer.NO, via)
    raise messages.INVALID_APPROVER_REPLY.error(given=f"{given!r:.80}")
