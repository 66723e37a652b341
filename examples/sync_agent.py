"""The same without `async`, for scripts and notebooks."""

import os
import sys

import handrail.sync

with handrail.sync.open(sys.argv[1], model=os.environ["HANDRAIL_MODEL"], mode="accept-edits") as rt:
    result = rt.agent().run("Fix the spelling in notes.txt")
    print(result.status, result.text, sep=": ")
    print(rt.undo().text.splitlines()[0])
