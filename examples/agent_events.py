"""The events of a task as they come: text of the model, calls, the end.

Usage: HANDRAIL_MODEL=ollama:MODEL python agent_events.py DIRECTORY, or any other name of a model.
"""

import asyncio
import os
import sys

import handrail


async def main(workspace: str) -> None:
    model = os.environ["HANDRAIL_MODEL"]
    async with handrail.open(workspace, model=model, mode="accept-edits") as rt:
        async for event in rt.agent().stream("Fix the spelling in notes.txt"):
            fields = event.to_dict()
            match fields["type"]:
                case "model_text":
                    print(fields["text"], end="", flush=True)
                case "tool_call_start":
                    print(f"\n> {fields['summary']}")
                case "agent_end":
                    print(f"\n{fields['status']} after {fields['turns']} turns")


asyncio.run(main(sys.argv[1]))
