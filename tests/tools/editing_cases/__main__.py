"""`python -m tests.tools.editing_cases [GROUP]`: every case through the public tools, as a table;
with a group, also what each of its failures was.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from tests.tools.editing_cases.edit_cases import edit_cases
from tests.tools.editing_cases.judging import RIGHT, judge, left_in, put, table
from tests.tools.editing_cases.patch_cases import patch_cases

import handrail.sync


def main() -> None:
    verdicts = []
    for case in [*patch_cases(), *edit_cases()]:
        if len(sys.argv) > 1 and not case.group.startswith(sys.argv[1]):
            continue
        with tempfile.TemporaryDirectory() as root:
            put(Path(root), case.before)
            settings = {"mode": "accept-edits", "allow_delete": True}
            with handrail.sync.open(root, store=":memory:", config=settings) as runtime:
                result = runtime.call(case.tool, case.arguments)
            verdict = judge(case, case.before, left_in(Path(root)))
        verdicts.append((case.group, verdict))
        if len(sys.argv) > 1 and verdict not in RIGHT:
            print(case.group, "|", case.name, "|", verdict, "|", result.text[:300])
    print(table(verdicts))


if __name__ == "__main__":
    main()
