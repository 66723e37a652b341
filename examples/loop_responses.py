"""A loop of your own with OpenAI's Responses: ask, run the calls, send their results back.

Usage: OPENAI_API_KEY=KEY OPENAI_MODEL=MODEL python loop_responses.py DIRECTORY
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
            response = await client.responses.create(
                model=os.environ["OPENAI_MODEL"],
                input=items,
                tools=rt.declare("openai-responses"),
            )
            items += response.output
            answers = await rt.answer(response)
            if not answers:
                break
            items += answers
    print(response.output_text)


asyncio.run(main(sys.argv[1]))
