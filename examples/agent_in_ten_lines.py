"""A task from start to end, and what came of it.

Usage: HANDRAIL_MODEL=ollama:MODEL python agent_in_ten_lines.py DIRECTORY, or any other name of a model.
"""

import asyncio
import os
import sys

import handrail


async def main(workspace: str) -> None:
    model = os.environ["HANDRAIL_MODEL"]
    async with handrail.open(workspace, model=model, mode="accept-edits") as rt:
        result = await rt.agent().run("Fix the spelling in notes.txt")
    print(result.status, result.text, sep=": ")
    print("changed:", ", ".join(result.report.changes))


asyncio.run(main(sys.argv[1]))
