"""Your code answers the questions: edits of notes are fine, everything else is refused.

Usage: HANDRAIL_MODEL=ollama:MODEL python approval_callback.py DIRECTORY, or any other name of a model.
"""

import asyncio
import os
import sys

import handrail


def decide(request: handrail.ApprovalRequest) -> handrail.Reply:
    """Allow edits of notes."""
    if request.tool == "edit_file" and "notes.txt" in request.preview:
        return handrail.Reply(handrail.Answer.YES, "callback")
    return handrail.Reply(handrail.Answer.NO, "callback", reason="only notes.txt may be changed")


async def main(workspace: str) -> None:
    model = os.environ["HANDRAIL_MODEL"]
    async with handrail.open(workspace, model=model, approver=decide) as rt:
        result = await rt.agent().run("Fix the spelling in notes.txt")
    print(result.text)
    print("changed:", ", ".join(result.report.changes))


asyncio.run(main(sys.argv[1]))
