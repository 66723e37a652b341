"""Edits and patches whose right outcome is known from how they were made: applied to the byte,
or refused with every file as it was. `python -m tests.tools.editing_cases` prints the rates.
"""

import pytest
from tests.tools.editing_cases.edit_cases import edit_cases
from tests.tools.editing_cases.judging import RIGHT, judge, left_in, put
from tests.tools.editing_cases.patch_cases import patch_cases

from handrail.core.problems import ProblemRaised

CASES = [*patch_cases(), *edit_cases()]
GROUPS = list(dict.fromkeys(case.group for case in CASES))


def test_there_are_enough_cases():
    assert len(CASES) >= 1_000
    assert len({(case.group, case.name) for case in CASES}) == len(CASES)


@pytest.mark.finding("F61")
@pytest.mark.parametrize("group", GROUPS)
async def test_every_case_is_applied_to_the_byte_or_refused(workspace, group):
    failed = []
    for case in [one for one in CASES if one.group == group]:
        put(workspace.root, case.before)
        try:
            await workspace.change(case.tool, **case.arguments)
        except ProblemRaised as raised:
            assert raised.problem.code in ("no_match", "ambiguous", "already_applied", "not_found")
        verdict = judge(case, case.before, left_in(workspace.root))
        if verdict not in RIGHT:
            failed.append((case.name, verdict))

    assert failed == []


@pytest.mark.finding("F61")
def test_nested_anchors_choose_the_place_through_the_front_door(tmp_path):
    import handrail.sync

    (tmp_path / "a.py").write_bytes(
        b"class A:\n    def go(self):\n        x = 1\n\nclass B:\n    def go(self):\n        x = 1\n"
        b"\nclass C:\n    def go(self):\n        x = 1\n"
    )
    patch = (
        "*** Begin Patch\n*** Update File: a.py\n@@ class B:\n@@     def go(self):\n"
        "-        x = 1\n+        x = 2\n*** End Patch\n"
    )
    settings = {"mode": "accept-edits"}
    with handrail.sync.open(tmp_path, store=":memory:", config=settings) as runtime:
        result = runtime.call("apply_patch", {"patch": patch})

    assert result.ok
    assert (tmp_path / "a.py").read_bytes() == (
        b"class A:\n    def go(self):\n        x = 1\n\nclass B:\n    def go(self):\n        x = 2\n"
        b"\nclass C:\n    def go(self):\n        x = 1\n"
    )
