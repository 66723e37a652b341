"""The same without `async`, for scripts and notebooks.

Usage: HANDRAIL_MODEL=ollama:MODEL python sync_agent.py DIRECTORY, or any other name of a model.
"""

import os
import sys

import handrail.sync

with handrail.sync.open(sys.argv[1], model=os.environ["HANDRAIL_MODEL"], mode="accept-edits") as rt:
    agent = rt.agent()
    result = agent.run("Fix the spelling in notes.txt")
    print(result.status, result.text, sep=": ")
    print("reverted:", ", ".join(agent.undo_task().changes))
