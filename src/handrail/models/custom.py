"""The base of a model of your own, for a service that speaks none of the wire formats."""

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
    """What a model says: text, calls as (name, arguments), and the tokens it counted, if any."""

    text: str = ""
    calls: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    usage: UsageReported | None = None
    finish: Finish | None = None


class CustomModel(ABC):
    """Implement `reply`; raise `ModelFailed` from it if the service fails."""

    name = "custom"
    wire = "custom"
    limits = ModelLimits()

    @abstractmethod
    async def reply(self, request: ModelRequest) -> CustomReply:
        """The model's answer to a request."""

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The events of the answer."""
        said = await self.reply(request)
        blocks: list[Block] = [TextBlock(said.text)] if said.text else []
        if said.text:
            yield TextDelta(said.text)
        for index, (name, arguments) in enumerate(said.calls):
            call = CallBlock(f"call_{index}", name, json.dumps(arguments, ensure_ascii=False))
            blocks.append(call)
            yield CallOpened(index, call.id, name)
            yield CallClosed(index, call.id, name, call.arguments_json)
        if said.usage is not None:
            yield said.usage
        finish = said.finish or (Finish.CALLS if said.calls else Finish.END)
        yield MessageDone(finish, Message("assistant", tuple(blocks)))

    async def aclose(self) -> None:
        """Close what the model holds; nothing by default."""
        return
