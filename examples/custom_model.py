"""A model of your own: `reply` answers one request with text, calls or both.

Usage: python custom_model.py DIRECTORY
"""

import asyncio
import sys

import handrail
from handrail.core.ports.models import ModelRequest
from handrail.models.custom import CustomModel, CustomReply


class ReadsThenAnswers(CustomModel):
    """Reads a file, then says how long it is."""

    name = "reads-then-answers"

    async def reply(self, request: ModelRequest) -> CustomReply:
        """The next message."""
        last = request.messages[-1]
        if last.role == "user":
            return CustomReply(calls=(("read_file", {"path": "notes.txt"}),))
        return CustomReply(f"I have read {len(str(last.blocks))} characters.")


async def main(workspace: str) -> None:
    async with handrail.open(workspace, model=ReadsThenAnswers()) as rt:
        print((await rt.agent().run("Read notes.txt")).text)


asyncio.run(main(sys.argv[1]))
