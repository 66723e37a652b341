"""Who can be asked: a function as an approver, and what counts as an answer.

Only exact values count: `True`, an `Answer`, a `Reply` with one. Anything else is no yes.
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

from handrail.core.approval import Answer, ApprovalRequest, Reply
from handrail.core.ports import Approver
from handrail.policy.approval import messages

Callback = Callable[[ApprovalRequest], "bool | Answer | Reply | Awaitable[bool | Answer | Reply]"]


class CallbackApprover:
    """Asks a function, sync or async."""

    via = "callback"

    def __init__(self, callback: Callback) -> None:
        self._callback = callback

    async def ask(self, request: ApprovalRequest) -> bool | Answer | Reply:
        """Ask the function."""
        answer = self._callback(request)
        return await answer if inspect.isawaitable(answer) else answer


def make_approver(given: Approver | Callback | None) -> Approver | None:
    """An approver from what a caller gave: one, a function, or nobody."""
    if given is None or hasattr(given, "ask"):
        return given
    if not callable(given):
        raise messages.INVALID_APPROVER.error(given=given, field="approver")
    return CallbackApprover(given)


def parse_reply(given: Any, approver: Approver) -> Reply:
    """The answer that an approver gave; raises `denied` if it is none."""
    via = str(getattr(approver, "via", "approver"))
    if type(given) is Reply and type(given.answer) is Answer:
        return given
    if type(given) is Answer:
        return Reply(given, via)
    if type(given) is bool:
        return Reply(Answer.YES if given else Answer.NO, via)
    raise messages.INVALID_APPROVER_REPLY.error(given=f"{given!r:.80}")
