"""The base class of your own model, for a service that uses none of the wire formats."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

from handrail.core.ports.models import (
    Block,
    CallBlock,
    CallClosed,
    CallOpened,
    Finish,
    Message,
    MessageDone,
    ModelEvent,
    ModelLimits,
    ModelRequest,
    TextBlock,
    TextDelta,
    UsageReported,
)


@dataclass(frozen=True, slots=True)
class CustomReply:
    """A reply of a model: text, calls as (name, arguments), and the tokens it counted, if any."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    usage: UsageReported | None = None
    finish: Finish | None = None


class CustomModel(ABC):
    """A model of your own: implement `reply`, and raise `ModelFailed` in it if the service fails."""

    name = "custom"
    wire = "custom"
    limits = ModelLimits()

    @abstractmethod
    async def reply(self, request: ModelRequest) -> CustomReply:
        """Return the model's answer to a request."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """Yield the events of the answer."""
        reply = await self.reply(request)
        blocks: list[Block] = [TextBlock(reply.text)] if reply.text else []
        if reply.text:
            yield TextDelta(reply.text)
        for index, (name, arguments) in enumerate(reply.calls):
            call = CallBlock(f"call_{index}", name, json.dumps(arguments, ensure_ascii=False))
            blocks.append(call)
            yield CallOpened(index, call.id, name)
            yield CallClosed(index, call.id, name, call.arguments_json)
        if reply.usage is not None:
            yield reply.usage
        finish = reply.finish or (Finish.CALLS if reply.calls else Finish.END)
        yield MessageDone(finish, Message("assistant", tuple(blocks)))

    async def aclose(self) -> None:
        """Release resources of the model; does nothing by default."""
        return
