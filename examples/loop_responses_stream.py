"""The loop with OpenAI's Responses and streaming: calls that only read run while the model still writes.

Usage: OPENAI_API_KEY=KEY OPENAI_MODEL=MODEL python loop_responses_stream.py DIRECTORY
"""

import asyncio
import os
import sys
from typing import Any

import openai

import handrail


async def main(workspace: str) -> None:
    client = openai.AsyncOpenAI()
    items: list[Any] = [{"role": "user", "content": "Fix the spelling in notes.txt"}]
    async with handrail.open(workspace, mode="accept-edits") as rt:
        while True:
            events = await client.responses.create(
                model=os.environ["OPENAI_MODEL"],
                input=items,
                tools=rt.declare("openai-responses"),
                stream=True,
            )
            async with rt.stream(events) as turn:
                async for event in turn:
                    if event.type == "response.output_text.delta":
                        print(event.delta, end="", flush=True)
            items += turn.messages
            if turn.finish != "calls":
                break
    print()


asyncio.run(main(sys.argv[1]))
