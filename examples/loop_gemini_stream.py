"""The loop with the Gemini API and streaming: the events of the stream are handed over as dicts.

Usage: GEMINI_API_KEY=KEY GEMINI_MODEL=MODEL python loop_gemini_stream.py DIRECTORY
"""

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator
from typing import Any

import httpx2

import handrail

URL = os.environ.get("GEMINI_BASE_URL", "https://generativelanguage.googleapis.com/v1beta")


async def stream_events(client: httpx2.AsyncClient, asked: Any) -> AsyncIterator[dict[str, Any]]:
    target = f"{URL}/models/{os.environ['GEMINI_MODEL']}:streamGenerateContent?alt=sse"
    async with client.stream("POST", target, json=asked) as reply:
        reply.raise_for_status()
        async for line in reply.aiter_lines():
            if line.startswith("data:"):
                yield json.loads(line.removeprefix("data:"))


async def main(workspace: str) -> None:
    key = {"x-goog-api-key": os.environ["GEMINI_API_KEY"]}
    task = "Fix the spelling in notes.txt"
    contents: list[Any] = [{"role": "user", "parts": [{"text": task}]}]
    async with (
        httpx2.AsyncClient(headers=key, timeout=120) as client,
        handrail.open(workspace, mode="accept-edits") as rt,
    ):
        while True:
            asked = {"contents": contents, "tools": rt.declare("gemini")}
            async with rt.stream(stream_events(client, asked), provider="gemini") as turn:
                async for event in turn:
                    content = event["candidates"][0].get("content", {})
                    for part in content.get("parts", []):
                        print(part.get("text", ""), end="", flush=True)
            contents += turn.messages
            if turn.finish != "calls":
                break
    print()


asyncio.run(main(sys.argv[1]))
