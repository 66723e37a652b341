"""What models get wrong, through the tool: applied as meant to the byte, or refused untouched."""

import pytest
from tests.tools.slips.fits import FITS
from tests.tools.slips.refused import REFUSED

# Line numbers tell twins apart, and a file with a mark or half a line is no copy of itself.
TWICE = [
    slip
    for slip in FITS
    if isinstance(slip.before, str) and slip.before.endswith("\n") and "number" not in slip.name
]


def as_bytes(text):
    return text.encode() if isinstance(text, str) else text


@pytest.mark.feature("E17")
@pytest.mark.parametrize("slip", FITS, ids=lambda slip: slip.name)
async def test_a_call_is_applied_as_it_was_meant(workspace, slip):
    workspace.write(slip.path, slip.before)

    await workspace.change("edit_file", path=slip.path, old_string=slip.old, new_string=slip.new)

    assert workspace.read(slip.path) == as_bytes(slip.after)


@pytest.mark.feature("E13")
@pytest.mark.parametrize("slip", REFUSED, ids=lambda slip: slip.name)
async def test_a_call_that_is_not_certain_is_refused(workspace, slip):
    workspace.write(slip.path, slip.before)

    problem = await workspace.problem(
        "edit_file", path=slip.path, old_string=slip.old, new_string=slip.new
    )

    assert problem.code == slip.code
    assert workspace.read(slip.path) == as_bytes(slip.before)


@pytest.mark.parametrize("slip", TWICE, ids=lambda slip: slip.name)
async def test_a_second_copy_of_the_place_leaves_nothing_certain(workspace, slip):
    workspace.write(slip.path, slip.before * 2)

    problem = await workspace.problem(
        "edit_file", path=slip.path, old_string=slip.old, new_string=slip.new
    )

    assert problem.code in ("ambiguous", "no_match")
    assert workspace.read(slip.path) == as_bytes(slip.before * 2)


@pytest.mark.feature("E17")
async def test_the_answer_says_what_was_ignored(workspace):
    workspace.write("a.py", "def f():\n    return 1\n")

    plan = await workspace.change(
        "edit_file", path="a.py", old_string="    return 1 ", new_string="    return 2"
    )

    assert plan.text.startswith("a.py: 1 replacement at")
    assert plan.data == {"path": "a.py", "replacements": 1, "line": 2, "tier": "line_ends"}


@pytest.mark.feature("E17")
async def test_the_answer_says_what_was_undone(workspace):
    workspace.write("a.py", "def f():\n    return 1\n")

    plan = await workspace.change(
        "edit_file", path="a.py", old_string="1: def f():\n2:   return 1", new_string="pass"
    )

    assert "(line numbers undone, indentation ignored)" in plan.text
    assert plan.data["tier"] == "repaired+indentation"


async def test_an_ambiguous_call_is_shown_every_place_it_fits(workspace):
    workspace.write("a.py", "if a:\n    go()\nend()\n\nif b:\n        go()\nstop()\n")

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string="  go()", new_string="  run()"
    )
    by_lines = await workspace.problem(
        "edit_file", path="a.py", old_string="      go() ", new_string="run()"
    )

    assert problem.code == "ambiguous"
    assert "at lines 2, 6" in by_lines.message
    assert "     3\tend()" in by_lines.message
    assert "     7\tstop()" in by_lines.message


async def test_a_large_file_is_edited_by_exact_text_only(workspace, monkeypatch):
    monkeypatch.setattr("handrail.tools._lib.matching.pair._MOST_BYTES", 10)
    workspace.write("a.py", "alpha = 1\nbeta = 2\n")

    problem = await workspace.problem(
        "edit_file", path="a.py", old_string="alpha = 1 ", new_string="x"
    )

    assert (problem.code, "too large" in problem.message) == ("no_match", True)
