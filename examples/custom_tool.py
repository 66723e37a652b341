"""A function of your own becomes a tool: its types say what it reads.

Usage: HANDRAIL_MODEL=ollama:MODEL python custom_tool.py DIRECTORY, or any other name of a model.
"""

import asyncio
import os
import sys
from pathlib import Path

import handrail


@handrail.tool
def word_count(path: handrail.ReadPath) -> str:
    """Count the words of a file."""
    return str(len(Path(path).read_text(encoding="utf-8").split()))


async def main(workspace: str) -> None:
    model = os.environ["HANDRAIL_MODEL"]
    async with handrail.open(workspace, model=model, tools=[word_count]) as rt:
        result = await rt.agent().run("How many words has notes.txt?")
    print(result.text)


asyncio.run(main(sys.argv[1]))
