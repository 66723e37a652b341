"""Approvals through a framework: a call is refused with its question, the framework stops, and the
call is made again with the user's answer.

The answer is valid for what the user was shown. If the call would now do something else, because a
file has changed since, the question is asked again.
"""

from __future__ import annotations

import hashlib
import json
from contextvars import ContextVar
from dataclasses import dataclass
from typing import NamedTuple

from handrail.adapters import messages
from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.ports.questions import QuestionRequest

_VIA = "framework"


class FrameworkAnswer(NamedTuple):
    """The user's answer in the framework. `shown` is the fingerprint of the question that was
    answered; None if the user was shown the arguments of the call.
    """

    approved: bool
    shown: str | None = None
    reason: str | None = None


@dataclass(slots=True)
class FrameworkQuestion:
    """The question of one call of a tool, and its answer if there is one. An answer is used once.
    `asked` is the first question that was not answered.
    """

    tool: str
    answer: FrameworkAnswer | None = None
    asked: ApprovalRequest | None = None

    def reply(self, request: ApprovalRequest) -> Reply:
        """The reply to the request; raises `needs_approval` if the user has not answered it."""
        answer, self.answer = self.answer, None
        if answer is not None and not answer.approved:
            return Reply(Answer.NO, _VIA, reason=answer.reason)
        if answer is not None and self._was_shown(answer, request):
            return Reply(Answer.YES, _VIA)
        self.asked = self.asked or request
        unlike = messages.ASKED_LATER if answer is None else messages.OTHER_THAN_SHOWN
        raise unlike.error(reason=request.reason)

    def _was_shown(self, answer: FrameworkAnswer, request: ApprovalRequest) -> bool:
        """Whether the answer is for this request: the tool may make calls that ask as well."""
        if answer.shown is None:
            return request.tool == self.tool
        return answer.shown == fingerprint(request)


# The question of the call that an adapter is making in this context.
current_question: ContextVar[FrameworkQuestion | None] = ContextVar(
    "handrail_framework_question", default=None
)


class FrameworkApprover:
    """Pass this as `approver` to `handrail.open`: questions go to the user of the framework. A call
    that no adapter makes is refused as if there were no approver.
    """

    via = _VIA

    async def ask(self, request: ApprovalRequest) -> Reply:
        """Return the answer that came with the call; raises `needs_approval` if there was none."""
        question = current_question.get()
        if question is None:
            raise messages.ASKED_LATER.error(reason=request.reason)
        return question.reply(request)

    def asks_apart(self, request: ApprovalRequest | QuestionRequest) -> bool:
        """Return True: nothing waits here, so no question has to wait for another one."""
        del request
        return True


def fingerprint(request: ApprovalRequest) -> str:
    """Return a hash of all that the user is shown of a question. It is equal when the same call is
    made again and would do the same.
    """
    shown = request.to_dict()
    del shown["call_id"], shown["binding"]
    return hashlib.sha256(json.dumps(shown, sort_keys=True, default=repr).encode()).hexdigest()
