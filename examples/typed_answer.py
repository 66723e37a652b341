"""An answer of a type: the last message of the model is validated, and repaired if it must be.

Usage: HANDRAIL_MODEL=ollama:MODEL python typed_answer.py DIRECTORY, or any other name of a model.
"""

import asyncio
import os
import sys

from pydantic import BaseModel

import handrail


class Review(BaseModel):
    """What the model is asked to return."""

    summary: str
    problems: list[str]


async def main(workspace: str) -> None:
    async with handrail.open(workspace, model=os.environ["HANDRAIL_MODEL"]) as rt:
        result = await rt.agent().run("Review notes.txt", output=Review)
    review = result.output
    assert isinstance(review, Review), result.problem
    print(review.summary)
    for problem in review.problems:
        print("-", problem)


asyncio.run(main(sys.argv[1]))
