"""A chat backend: many conversations share one runtime, its record and its permissions.

Usage: HANDRAIL_MODEL=ollama:MODEL python many_conversations.py DIRECTORY, or any other name of a model.
"""

import asyncio
import os
import sys

import handrail


async def main(workspace: str) -> None:
    async with handrail.open(workspace, model=os.environ["HANDRAIL_MODEL"]) as rt:
        agents = {user: rt.agent() for user in ("ada", "grace", "barbara")}

        async def ask(user: str, text: str) -> str:
            return (await agents[user].run(text)).text

        answers = await asyncio.gather(*(ask(user, f"I am {user}") for user in agents))
        for user, answer in zip(agents, answers, strict=True):
            print(f"{user}: {answer} (session {agents[user].session})")


asyncio.run(main(sys.argv[1]))
