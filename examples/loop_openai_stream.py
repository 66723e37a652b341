"""The loop with streaming: calls that only read run while the model still writes.

Usage: OPENAI_API_KEY=KEY OPENAI_MODEL=MODEL python loop_openai_stream.py DIRECTORY
"""

import asyncio
import os
import sys
from typing import Any

import openai

import handrail


async def main(workspace: str) -> None:
    client = openai.AsyncOpenAI()
    messages: list[Any] = [{"role": "user", "content": "Fix the spelling in notes.txt"}]
    async with handrail.open(workspace, mode="accept-edits") as rt:
        while True:
            events = await client.chat.completions.create(
                model=os.environ["OPENAI_MODEL"],
                messages=messages,
                tools=rt.declare("openai"),
                stream=True,
            )
            async with rt.stream(events) as turn:
                async for event in turn:
                    for choice in event.choices:
                        print(choice.delta.content or "", end="", flush=True)
            messages += turn.messages
            if turn.finish != "calls":
                break
    print()


asyncio.run(main(sys.argv[1]))
