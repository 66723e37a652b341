"""The work of a patch grows with its hunks plus the file's lines, and that of a list of edits
with its length. Counted in function calls, so that no clock is involved.
"""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.support.counting import count_calls

from handrail.tools._lib.byte_text import Splice, apply_splices, compose_all

KINDS = ["right numbers", "wrong numbers", "no numbers", "anchors", "insertions", "other blanks"]


def source(count):
    return [
        f"    value_{at} = compute({at}, other_{at % 7})" if at % 5 else f"def function_{at}(a, b):"
        for at in range(count)
    ]


def hunk(lines, at, kind):
    above, line, below = lines[at - 1 : at + 2]
    blank = " " if kind == "other blanks" else ""
    numbers = {"right numbers": at, "wrong numbers": at + 900}
    where = f" -{numbers[kind]},3 +{numbers[kind]},3 @@" if kind in numbers else ""
    if kind == "anchors":
        where = f" {lines[at - at % 5]}"
    if kind == "insertions":
        return [f"@@{where}", f" {above}", f" {line}", "+    fresh = 1", f" {below}"]
    return [f"@@{where}", f" {above}{blank}", f"-{line}{blank}", f"+{line}0", f" {below}"]


def patch(lines, hunks, kind):
    step = len(lines) // hunks // 5 * 5
    parts = [hunk(lines, number * step + 2, kind) for number in range(hunks)]
    return "\n".join(["--- a/x.py", "+++ b/x.py", *[line for part in parts for line in part], ""])


async def steps(workspace, tool, **arguments):
    """How many functions are called for a plan, our own and built-in ones."""
    prepared, args, ctx = workspace.prepare(tool, arguments)
    with count_calls() as count:
        await prepared.plan(args, ctx)
    return count.calls


@pytest.mark.finding("F71")
@pytest.mark.parametrize("kind", KINDS)
async def test_the_work_of_a_patch_is_a_sum_of_hunks_and_lines(workspace, kind):
    few, many = source(1_000), source(10_000)
    workspace.write("x.py", "\n".join(few) + "\n")
    hunks_alone = await steps(workspace, "apply_patch", patch=patch(few, 100, kind))
    workspace.write("x.py", "\n".join(many) + "\n")
    lines_alone = await steps(workspace, "apply_patch", patch=patch(many, 6, kind))

    both = await steps(workspace, "apply_patch", patch=patch(many, 100, kind))

    assert both < 1.2 * (hunks_alone + lines_alone)


@pytest.mark.finding("F71")
async def test_the_work_of_hunks_that_build_on_each_other_is_no_product_either(workspace):
    lines = source(4_000)
    changed = [f"{line}0" if at % 40 == 2 else line for at, line in enumerate(lines)]
    workspace.write("x.py", "\n".join(lines) + "\n")
    once = await steps(workspace, "apply_patch", patch=patch(lines, 100, "no numbers"))
    # The second half can only be found once the first half is done.
    again = patch(changed, 100, "no numbers").split("\n", 2)[2]

    twice = await steps(workspace, "apply_patch", patch=patch(lines, 100, "no numbers") + again)

    assert twice < 3.5 * once


@pytest.mark.finding("F71")
async def test_the_work_of_many_edits_grows_with_their_number(workspace):
    lines = source(8_000)
    workspace.write("x.py", "\n".join(lines) + "\n")

    def edits(count):
        return [
            {"old_string": f"value_{5 * at + 1} =", "new_string": f"other_{5 * at + 1} ="}
            for at in range(count)
        ]

    few = await steps(workspace, "edit_file", path="x.py", edits=edits(100))
    many = await steps(workspace, "edit_file", path="x.py", edits=edits(1_600))

    assert many < 20 * few


@st.composite
def sequences(draw):
    """Some content, and steps of splices, each on the result of the one before."""
    data = current = draw(st.binary(max_size=12))
    found = []
    for _ in range(draw(st.integers(1, 4))):
        bounds = draw(st.lists(st.integers(0, len(current)), max_size=6, unique=True).map(sorted))
        pairs = list(pairwise(bounds))[::2]
        step = tuple([Splice(*pair, draw(st.binary(max_size=3))) for pair in pairs])
        current = apply_splices(current, step).tobytes()
        found.append(step)
    return data, found, current


@given(sequences())
@settings(deadline=None)
def test_composed_splices_do_what_all_steps_do(sequence):
    data, steps_made, after = sequence

    composed = compose_all(steps_made)

    assert apply_splices(data, composed).tobytes() == after
    assert all(one.end <= two.start for one, two in pairwise(composed))
