"""A call on its way: it runs in a task of its own, so that it can outlive the request.

On the newer protocol a question to the person ends the request, and a second request brings
the answer; the call waits in between, and nothing has happened yet.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine, Mapping
from typing import Any, Final, NamedTuple

import anyio

from handrail.core.results import ToolResult
from handrail.mcp.server.elicitation import Said
from handrail.mcp.server.reports import Reports

# A question that nobody comes back to is a no; its call must not wait for ever.
PATIENCE_S: Final = 15 * 60.0
_ENDING_S: Final = 30.0


class Question(NamedTuple):
    """What the person is to be asked, and the secret by which its answer comes back."""

    message: str
    state: str


class Pending:
    """One call, what was asked about it, and who listens to it now."""

    # The question ends the request, and nobody can say whether its answer will ever come.
    apart = True

    def __init__(self, name: str, arguments: Mapping[str, Any], *, can_ask: bool) -> None:
        loop = asyncio.get_running_loop()
        self._name = name
        self._arguments = dict(arguments)
        self._question: asyncio.Future[Question] = loop.create_future()
        self._answer: asyncio.Future[Said | None] | None = None
        self._expiry: asyncio.TimerHandle | None = None
        self._task: asyncio.Task[ToolResult] | None = None
        self._waiting = 0
        self.can_ask = can_ask
        # Of the question that stands now: an answer to an earlier one is none to it.
        self.state: str | None = None
        self.reports: Reports | None = None

    def start(self, call: Coroutine[Any, Any, ToolResult]) -> asyncio.Task[ToolResult]:
        """Begin; whoever starts it owns the task."""
        self._task = asyncio.create_task(call)
        return self._task

    def is_same(self, name: str, arguments: Mapping[str, Any]) -> bool:
        """Whether a request repeats this very call."""
        return name == self._name and dict(arguments) == self._arguments

    async def elicit(self, message: str) -> Said | None:
        """Have the request that waits for this call answered with a question instead."""
        loop = asyncio.get_running_loop()
        self._answer = loop.create_future()
        self._expiry = loop.call_later(PATIENCE_S, self.reply, Said("cancel", None))
        self.state = os.urandom(16).hex()
        self._question.set_result(Question(message, self.state))
        try:
            return await self._answer
        finally:
            self._expiry.cancel()

    def reply(self, said: Said | None) -> None:
        """The answer to the question; a second one changes nothing."""
        if self._answer is None or self._answer.done():
            return
        self.state = None
        self._question = asyncio.get_running_loop().create_future()
        self._answer.set_result(said)

    async def outcome(self) -> ToolResult | Question:
        """The result, or the question that stands before it."""
        task, question = self._task, self._question
        if task is None:
            raise RuntimeError("the call was not started")
        self._waiting += 1
        try:
            waited: list[asyncio.Future[Any]] = [task, question]
            await asyncio.wait(waited, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            # A request that repeats this call may still wait for it.
            if self._waiting == 1:
                await self.end()
            raise
        finally:
            self._waiting -= 1
        return task.result() if task.done() else question.result()

    async def end(self) -> None:
        """Cancel the call and wait until what it started is gone."""
        if self._task is None or self._task.done():
            return
        self._task.cancel()
        with anyio.CancelScope(shield=True):
            await asyncio.wait({self._task}, timeout=_ENDING_S)
