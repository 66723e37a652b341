"""The loop with streaming, with the `anthropic` package.

Usage: ANTHROPIC_API_KEY=KEY ANTHROPIC_MODEL=MODEL python loop_anthropic_stream.py DIRECTORY
"""

import asyncio
import os
import sys
from typing import Any

import anthropic

import handrail


async def main(workspace: str) -> None:
    client = anthropic.AsyncAnthropic()
    messages: list[Any] = [{"role": "user", "content": "Fix the spelling in notes.txt"}]
    async with handrail.open(workspace, mode="accept-edits") as rt:
        while True:
            events = await client.messages.create(
                model=os.environ["ANTHROPIC_MODEL"],
                max_tokens=4096,
                messages=messages,
                tools=rt.declare("anthropic"),
                stream=True,
            )
            async with rt.stream(events) as turn:
                async for event in turn:
                    if event.type == "content_block_delta" and event.delta.type == "text_delta":
                        print(event.delta.text, end="", flush=True)
            messages += turn.messages
            if turn.finish != "calls":
                break
    print()


asyncio.run(main(sys.argv[1]))
