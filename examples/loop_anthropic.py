"""A loop of your own with the `anthropic` package.

Usage: ANTHROPIC_API_KEY=KEY ANTHROPIC_MODEL=MODEL python loop_anthropic.py DIRECTORY
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
            response = await client.messages.create(
                model=os.environ["ANTHROPIC_MODEL"],
                max_tokens=4096,
                messages=messages,
                tools=rt.declare("anthropic"),
            )
            messages.append({"role": "assistant", "content": response.content})
            answers = await rt.answer(response)
            if not answers:
                break
            messages += answers
    print("".join(block.text for block in response.content if block.type == "text"))


asyncio.run(main(sys.argv[1]))
