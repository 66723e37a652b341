"""A loop of your own with the Gemini API, by plain HTTP: ask, run the calls, send their results back.

Usage: GEMINI_API_KEY=KEY GEMINI_MODEL=MODEL python loop_gemini.py DIRECTORY
"""

import asyncio
import os
import sys
from typing import Any

import httpx2

import handrail

URL = os.environ.get("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com/v1beta")


async def main(workspace: str) -> None:
    key = {"x-goog-api-key": os.environ["GEMINI_API_KEY"]}
    target = f"{URL}/models/{os.environ['GEMINI_MODEL']}:generateContent"
    task = "Fix the spelling in notes.txt"
    contents: list[Any] = [{"role": "user", "parts": [{"text": task}]}]
    async with (
        httpx2.AsyncClient(headers=key, timeout=120) as client,
        handrail.open(workspace, mode="accept-edits") as rt,
    ):
        while True:
            asked = {"contents": contents, "tools": rt.declare("gemini")}
            reply = await client.post(target, json=asked)
            response = reply.raise_for_status().json()
            content = response["candidates"][0]["content"]
            contents.append(content)
            answers = await rt.answer(response)
            if not answers:
                break
            contents += answers
    print("".join(part.get("text", "") for part in content["parts"]))


asyncio.run(main(sys.argv[1]))
