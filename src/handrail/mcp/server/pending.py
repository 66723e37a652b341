"""A call in progress. It runs in its own task, so that it can outlive the request.

In newer protocol versions an approval question ends the request and a second request carries
the answer; the call waits between the two, before any change.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.results import ToolResult
from handrail.mcp.server.elicitation import ApprovalForm, Elicitation
from handrail.mcp.server.reports import ProgressReporter

# An unanswered question counts as no after this time.
PATIENCE_S: Final = 15 * 60.0
_ENDING_S: Final = 30.0


class ApprovalQuestion(NamedTuple):
    """A question for the user, and the secret that its answer must carry."""

    form: ApprovalForm
    state: str


class PendingMcpCall:
    """One call, its open question, and the reporter of the current request; an `ElicitationChannel`
    whose answer comes with another request.
    """

    # Several questions may be open, because a question ends its request and may never be answered.
    concurrent = True

    def __init__(self, name: str, arguments: Mapping[str, Any], *, can_ask: bool) -> None:
        loop = asyncio.get_running_loop()
        self._name = name
        self._arguments = dict(arguments)
        self._question: asyncio.Future[ApprovalQuestion] = loop.create_future()
        self._answer: asyncio.Future[Elicitation | None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[ToolResult] | None = None
        self._waiting = 0
        self.can_ask = can_ask
        # Secret of the open question; answers to earlier questions do not match.
        self.state: str | None = None
        self.reports: ProgressReporter | None = None

    def start(self, call: Coroutine[Any, Any, ToolResult]) -> asyncio.Task[ToolResult]:
        """Start the call; the caller owns the returned task."""
        self._task = asyncio.create_task(call)
        return self._task

    def is_same(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Return whether a request repeats this call."""
        return name == self._name and dict(arguments) == self._arguments

    async def elicit(self, form: ApprovalForm) -> Elicitation | None:
        """Answer the waiting request with a question; return the response of the next request."""
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._expiry = loop.call_later(PATIENCE_S, self.reply, Elicitation("cancel", None))
        self.state = os.urandom(16).hex()
        self._question.set_result(ApprovalQuestion(form, self.state))
        try:
            return await self._answer
        finally:
            self._expiry.cancel()

    def reply(self, response: Elicitation | None) -> None:
        """Set the response to the open question; later responses are ignored."""
        if self._answer is None or self._answer.done():
            return
        self.state = None
        self._question = asyncio.get_running_loop().create_future()
        self._answer.set_result(response)

    async def outcome(self) -> ToolResult | ApprovalQuestion:
        """Wait for the result or for a question."""
        task, question = self._task, self._question
        if task is None:
            raise RuntimeError("the call was not started")
        self._waiting += 1
        try:
            waited: list[asyncio.Future[Any]] = [task, question]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # A repeated request may still wait for this call.
            if self._waiting == 1:
                await self.end()
            raise
        finally:
            self._waiting -= 1
        return task.result() if task.done() else question.result()

    async def end(self) -> None:
        """Cancel the call and wait for its cleanup."""
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({self._task}, timeout=_ENDING_S)
