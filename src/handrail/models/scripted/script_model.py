"""A model that answers from a script, streamed through the real wire format in this process."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from typing import Any, Final

from handrail.core.ports.models import (
    Message,
    ModelEvent,
    ModelFailed,
    ModelLimits,
    ModelRequest,
    ResultBlock,
    TextBlock,
)
from handrail.models.client import Endpoint, WireModel
from handrail.models.retries import RetryPolicy
from handrail.models.scripted.replies import ReplyQueue, ScriptedReply
from handrail.models.scripted.script_file import Expectation, ModelScript, ScriptBlock
from handrail.models.scripted.streams import ScriptedMessage
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

_PING: Final = b": ping\n\n"
_PING_PAUSE_S: Final = 0.05


class ScriptModel:
    """Answers from the script of one agent. `child` returns the model of a child agent,
    `next_answer` the scripted answer of the user to the next question.
    """

    scripted = True

    def __init__(
        self,
        name: str,
        script: ModelScript,
        *,
        wire: str = "openai-chat",
        chunk: int = 20,
        retries: RetryPolicy | None = None,
        block: ScriptBlock | None = None,
    ) -> None:
        self.name = name
        self.wire = wire
        self._script = script
        self._shape = (wire, chunk, retries)
        self._entries = deque((block or script.blocks[0]).entries)
        self._queue = ReplyQueue(chunk=chunk)
        self._model = WireModel(
            name,
            FORMATS[wire],
            WireOptions("scripted"),
            Endpoint("script://local", read_no_key, {}),
            ScriptTransport(self._queue, wire),
            ModelLimits(context_known=True),
            retries,
        )

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model."""
        return self._model.limits

    @property
    def requests(self) -> int:
        """The number of requests so far."""
        return self._queue.requests

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent, None]:
        """Yield the next message of the script; raises `ModelFailed` if an expectation is not met."""
        self._check_expectations(request)
        while self._entries and not isinstance(self._entries[0], Expectation):
            entry = self._entries.popleft()
            if not isinstance(entry, Expectation):
                self._queue.entries.append(entry)
        async with aclosing(self._model.stream(request)) as events:
            async for event in events:
                yield event

    async def aclose(self) -> None:
        """Close the model. Safe to repeat."""
        await self._model.aclose()

    def child(self, agent_type: str, label: str | None = None) -> ScriptModel:
        """Return the model of the next child of this type; without a block in the script it says
        "done". A block with this label comes before others.
        """
        blocks = self._script.blocks
        of_type = [block for block in blocks[1:] if block.agent == agent_type]
        labelled = [block for block in of_type if label is not None and block.label == label]
        block = next(iter(labelled or of_type), None)
        if block is not None:
            blocks.remove(block)
        wire, chunk, retries = self._shape
        return ScriptModel(
            self.name,
            self._script,
            wire=wire,
            chunk=chunk,
            retries=retries,
            block=block or ScriptBlock(agent_type),
        )

    def skip_messages(self, count: int) -> None:
        """Leave out the first messages: those that a conversation has which is continued."""
        while self._entries and count > 0:
            count -= isinstance(self._entries.popleft(), ScriptedMessage)

    def next_answer(self) -> Any:
        """Return the user's answer to the next question: "yes", "no", "no: REASON", "always",
        "abort" or a mapping with `answers`; None if the script has no more answers.
        """
        return self._script.answers.pop(0) if self._script.answers else None

    def _check_expectations(self, request: ModelRequest) -> None:
        # An expectation after messages that were not sent yet is not due.
        if any(isinstance(entry, ScriptedMessage) for entry in self._queue.entries):
            return
        results = recent_results(request.messages)
        while self._entries and isinstance(self._entries[0], Expectation):
            expected = self._entries.popleft()
            if isinstance(expected, Expectation) and not expected.pattern.search(results):
                raise ModelFailed(
                    "invalid_request",
                    f"line {expected.line} of the script expects {expected.pattern.pattern!r}, "
                    f"the tool results are {results[:500]!r}",
                )


def recent_results(messages: tuple[Message, ...]) -> str:
    """Return the texts of the tool results since the last message of the model."""
    results: list[str] = []
    for message in reversed(messages):
        if message.role == "assistant":
            break
        for block in message.blocks:
            if isinstance(block, ResultBlock):
                texts = [part.text for part in block.blocks if isinstance(part, TextBlock)]
                results.insert(0, "\n".join(texts))
    return "\n".join(results)


class ScriptTransport:
    """Answers requests from a queue, without a network."""

    def __init__(self, queue: ReplyQueue, wire: str) -> None:
        self._queue = queue
        self._wire = wire

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> StoredReply:
        """Return the next reply of the queue."""
        return StoredReply(self._queue.answer(self._wire, body))

    async def aclose(self) -> None:
        """Nothing to close."""


class StoredReply:
    """A reply whose bytes are known."""

    def __init__(self, reply: ScriptedReply) -> None:
        self._reply = reply
        self.status: int = reply.status
        self.headers: Mapping[str, str] = reply.headers

    async def chunks(self) -> AsyncIterator[bytes]:
        """Yield the pieces, then do what the reply's ending says."""
        await asyncio.sleep(self._reply.delay_s)
        for chunk in self._reply.chunks:
            yield chunk
            await asyncio.sleep(self._reply.pause_s)
        while self._reply.then == "ping":
            yield _PING
            await asyncio.sleep(_PING_PAUSE_S)
        if self._reply.then == "hang":
            await asyncio.Event().wait()
        if self._reply.then == "cut":
            raise ModelFailed("network", "the connection was cut by the script", retryable=True)

    async def aclose(self) -> None:
        """Nothing to close."""


async def read_no_key() -> None:
    """Return None: a script or a recording needs no key."""
    return
