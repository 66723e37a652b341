"""A function as an approver."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable

from handrail.core.ports import Answer, ApprovalRequest, Approver
from handrail.core.problems import ProblemRaised

Callback = Callable[[ApprovalRequest], "bool | Answer | Awaitable[bool | Answer]"]


class CallbackApprover:
    """Asks a function, sync or async; anything but a clear yes is a no."""

    def __init__(self, callback: Callback) -> None:
        self._callback = callback

    async def ask(self, request: ApprovalRequest) -> Answer:
        """Ask the function."""
        answer = self._callback(request)
        if inspect.isawaitable(answer):
            answer = await answer
        return Answer.YES if answer is True or answer == Answer.YES else Answer.NO


def as_approver(given: Approver | Callback | None) -> Approver | None:
    """An approver from what a caller gave: one, a function, or nobody."""
    if given is None or hasattr(given, "ask"):
        return given
    if not callable(given):
        raise ProblemRaised(
            "invalid_arguments",
            f"the approver is {given!r}, which can be neither asked nor called",
            hint="give a function that takes the request and returns True or False",
            field="approver",
        )
    return CallbackApprover(given)
