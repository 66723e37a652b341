"""A loop of your own with the `openai` package: ask, run the calls, send their results back.

Usage: OPENAI_API_KEY=KEY OPENAI_MODEL=MODEL python loop_openai.py DIRECTORY
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
            response = await client.chat.completions.create(
                model=os.environ["OPENAI_MODEL"], messages=messages, tools=rt.declare("openai")
            )
            messages.append(response.choices[0].message)
            answers = await rt.answer(response)
            if not answers:
                break
            messages += answers
    print(response.choices[0].message.content)


asyncio.run(main(sys.argv[1]))
