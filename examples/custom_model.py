"""A model of your own: anything that streams the events of one message per request."""

import asyncio
import sys
from collections.abc import AsyncIterator

import handrail
from handrail.core.ports.models import (
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
)


class ReadsThenAnswers:
    """Reads a file, then says how long it is."""

    name = "reads-then-answers"
    wire = "custom"
    limits = ModelLimits()

    async def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """One message."""
        last = request.messages[-1]
        if last.role == "user":
            call = CallBlock("1", "read_file", '{"path": "notes.txt"}')
            yield CallOpened(0, call.id, call.name)
            yield CallClosed(0, call.id, call.name, call.arguments_json)
            yield MessageDone(Finish.CALLS, Message("assistant", (call,)))
            return
        answer = f"I have read {len(str(last.blocks))} characters."
        yield TextDelta(answer)
        yield MessageDone(Finish.END, Message("assistant", (TextBlock(answer),)))

    async def aclose(self) -> None:
        """Nothing to close."""


async def main(workspace: str) -> None:
    async with handrail.open(workspace, model=ReadsThenAnswers()) as rt:
        print((await rt.agent().run("Read notes.txt")).text)


asyncio.run(main(sys.argv[1]))
