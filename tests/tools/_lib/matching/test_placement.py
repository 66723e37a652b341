"""Which lines an anchor opens, and which of several places the hints choose."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8
from handrail.tools._lib.byte_text import ByteText
from handrail.tools._lib.matching.candidates import Candidate, Tier
from handrail.tools._lib.matching.lines import (
    FileLines,
    LineBlock,
    LineOp,
    PlacementHints,
    diff_texts,
)
from handrail.tools._lib.matching.placement import (
    ambiguous_problem,
    filter_beneath,
    find_block,
    find_result,
    lines_inside,
    nesting_depth,
    no_match_problem,
)


def lines(text):
    return FileLines(ByteText(text.encode(), UTF8), "a.py")


def beneath(text, anchors, firsts):
    candidates = None if firsts is None else [Candidate(Tier.EXACT, (one,)) for one in firsts]
    return [one.first for one in filter_beneath(lines(text), candidates, anchors)]


NESTED = (
    "class A:\n"  # 0
    "    def f(self):\n"  # 1
    "        x\n"  # 2
    "    def g(self):\n"  # 3
    "        x\n"  # 4
    "class B:\n"  # 5
    "    def f(self):\n"  # 6
    "        x\n"  # 7
    "end\n"  # 8
)


@pytest.mark.parametrize(
    ("anchors", "firsts", "expected"),
    [
        ((), None, []),
        ((), [2, 4], [2, 4]),
        (("  ", ""), [2, 4], [2, 4]),
        # Without candidates: directly below every line that the anchor may mean.
        (("class A:",), None, [1]),
        (("def f(self):",), None, [2, 7]),
        (("class B:", "def f(self):"), None, [7]),
        (("class A:", "def f(self):"), None, [2]),
        # A line that begins with the anchor, once the anchor has four characters.
        (("clas",), None, [1, 6]),
        (("def g",), [2, 4], [4]),
        # Of several candidates: those inside what the anchor opens.
        (("class A:",), [2, 4, 7], [2, 4]),
        (("class B:",), [2, 4, 7], [7]),
        (("def f(self):",), [2, 4, 7], [2, 7]),
        (("class A:", "def g(self):"), [2, 4, 7], [4]),
        # A single candidate may be anywhere below the anchor, or at it, but not above.
        (("class A:",), [7], [7]),
        (("class B:",), [5], [5]),
        (("class B:",), [4], []),
        # The first line after the block still counts, because lines may be added at its end.
        (("class B:",), [7, 8], [7, 8]),
        (("class A:",), [5, 7], [5]),
        # The anchor opens nothing: everything below it.
        (("end",), [2, 8], [8]),
        (("class B:", "end"), [8], [8]),
    ],
)
def test_an_anchor_chooses_what_is_beneath_it(anchors, firsts, expected):
    assert beneath(NESTED, anchors, firsts) == expected


@pytest.mark.parametrize(
    ("text", "anchors", "firsts", "words"),
    [
        (NESTED, ("class C:",), [2, 4], ("'class C:'",)),
        # Three characters are too few to be a part of a line.
        (NESTED, ("def",), [2, 4], ("'def'",)),
        # The second anchor is named with the line of the first one, which may be the first line.
        (NESTED, ("class A:", "def h(self):"), [2, 4], ("follows line 1 ", "'def h(self):'")),
        (NESTED, ("class B:", "def g(self):"), [2, 4], ("follows line 6 ", "'def g(self):'")),
        (NESTED, ("absent", "class A:"), [2, 4], ("'absent'",)),
        # An anchor that is repeated does not mean the same line again.
        ("def a():\n    x\n", ("def a():", "def a():"), None, ("follows line 1 ",)),
        ("a = 1\nb = 2\n", ("a = 1", "a = 1"), None, ("follows line 1 ",)),
        # What the anchor opens has no such lines; the ones further down are not meant.
        ("def a():\n    y\ndef b():\n    x\n    x\n", ("def a():",), [3, 4], ("4, 5",)),
    ],
)
def test_an_anchor_without_its_lines_is_refused(text, anchors, firsts, words):
    with pytest.raises(ProblemRaised) as raised:
        beneath(text, anchors, firsts)

    assert raised.value.problem.code == "no_match"
    assert all(word in raised.value.problem.message for word in words)


@pytest.mark.parametrize(
    ("text", "anchors", "expected"),
    [
        # Siblings with the same first word may follow each other, deeper ones may not.
        ("def a():\n    x\ndef b():\n    x\n", ("def a():", "def b():"), [3]),
        ("def a():\n    x\ndef b():\n    x\n", ("def a():", "  def b():"), None),
        ("def a():\n    x\nif b:\n    x\n", ("def a():", "if b:"), None),
        # Below a line that opens nothing, the next such line.
        ("one\ntwo\nthree\ntwo\n", ("one", "two"), [2]),
        ("one\ntwo\none\ntwo\n", ("one", "two"), [2, 4]),
        ("two\none\n", ("one", "two"), None),
        ("# A\n## B\nx\n# C\n## B\ny\n", ("# C", "## B"), [5]),
        ("# A\ntext\n# C\n", ("# A", "text"), [2]),
    ],
)
def test_each_anchor_is_searched_below_the_one_before(text, anchors, expected):
    if expected is not None:
        assert beneath(text, anchors, None) == expected
        return
    with pytest.raises(ProblemRaised):
        beneath(text, anchors, None)


@pytest.mark.parametrize(
    ("text", "anchor", "inside", "outside"),
    [
        ("def a():\n    x\n\ny\nz\n", 0, [1, 2, 3], [4]),
        ("def a()\n{\n    x\n}\ny\n", 0, [1, 2], [4]),
        ("f(\n    x\n)\ny\nz\n", 0, [1, 2, 3], [4]),
        ("a = [\n    x\n]\n# note\ny\nz\n", 0, [1, 2, 3, 4], [5]),
        ("# A\nx\n## B\ny\n# C\nz\n", 0, [1, 2, 3, 4], [5]),
        ("# A\nx\n## B\ny\n# C\nz\n", 2, [3, 4], [5]),
        ("#### A\nx\n#### B\nz\n", 0, [1, 2], [3]),
        ("a\n    b", 0, [1, 2], [3]),
    ],
)
def test_a_line_opens_a_block_by_indentation_or_heading(text, anchor, inside, outside):
    file = lines(text)

    assert [lines_inside(file, anchor, one) for one in inside] == [True] * len(inside)
    assert [lines_inside(file, anchor, one) for one in outside] == [False] * len(outside)


@pytest.mark.parametrize(("line", "depth"), [("x", 0), ("  x", 2), ("\tx", 8), (" \tx", 8)])
def test_depth_counts_columns(line, depth):
    assert nesting_depth(lines(f"{line}\n"), 0) == depth


@pytest.mark.parametrize(
    ("stated", "expected"),
    [
        # Equal lines are at 11 and 51: nearer by four times and not off by more than eight.
        (11, 10),
        (51, 50),
        (19, 10),
        (20, None),
        (3, 10),
        (2, None),
        (43, 50),
        (42, None),
        (59, 50),
        (60, None),
        (31, None),
    ],
)
def test_a_stated_line_is_off_by_eight_lines_at_most(stated, expected):
    text = "".join([f"line {one}\n" if one not in (10, 50) else "same\n" for one in range(70)])
    hints = PlacementHints(line=stated)

    try:
        found = find_block(lines(text), diff_texts("same", "other"), hints)
    except ProblemRaised as raised:
        assert raised.problem.code == "ambiguous"
        found = None

    assert (None if found is None else found.first) == expected


@pytest.mark.parametrize(("stated", "expected"), [(2, 0), (3, None), (4, None), (5, 5), (6, 5)])
def test_a_stated_line_must_be_four_times_nearer(stated, expected):
    text = "same\nb\nc\nd\ne\nsame\n"

    try:
        found = find_block(lines(text), diff_texts("same", "other"), PlacementHints(line=stated))
    except ProblemRaised:
        found = None

    assert (None if found is None else found.first) == expected


@pytest.mark.parametrize(
    ("text", "ops", "hints", "expected"),
    [
        ("a\n\n\nb\n", ["keep", "insert"], PlacementHints(line=2), (1, 2, (1,))),
        ("a\n\n\nb\n", ["keep", "keep", "insert"], PlacementHints(line=2), (1, 3, (1, 2))),
        ("a\n\n\nb\n", ["keep", "keep", "insert"], PlacementHints(line=3), None),
        ("a\n\n\nb\n", ["keep", "insert"], PlacementHints(line=1), None),
        ("a\nb\n", ["insert"], PlacementHints(line=3), (2, 2, ())),
        ("a\nb\n", ["insert"], PlacementHints(line=4), None),
        ("a\nb\n", ["insert"], PlacementHints(line=2, after=1), (1, 1, ())),
        ("a\nb\n", ["insert"], PlacementHints(line=2, after=2), None),
        ("a\nb\n", ["keep", "insert"], PlacementHints(at_end=True), (2, 2, (None,))),
        ("", ["keep", "insert"], PlacementHints(), (0, 0, (None,))),
        ("a\nb\na\n", ["insert"], PlacementHints(anchors=("a",)), None),
    ],
)
def test_blank_lines_go_where_only_the_hints_say(text, ops, hints, expected):
    block = LineBlock(
        tuple([LineOp(kind, "new" if kind == "insert" else "") for kind in ops])  # type: ignore[arg-type]
    )

    found = find_block(lines(text), block, hints)

    if expected is None:
        assert found is None
    else:
        assert found is not None
        assert (found.first, found.last, found.lines, found.tier) == (*expected, Tier.EXACT)


@pytest.mark.parametrize(
    ("text", "old", "new", "line"),
    [
        # Eleven characters may be there by chance, twelve are not.
        ("start\nlonger text\n", "old", "longer text", None),
        ("start\nlonger texts\n", "old", "longer texts", 1),
        ("start\nabcdef\nabcdef\n", "old", "abcdef\nabcdef", 1),
        ("start\nlonger texts\nlonger texts\n", "old", "longer texts", None),
        ("start\nlonger texts\n", "longer texts\nold", "longer texts", None),
        ("start\n  longer texts\n", "old", "longer texts", None),
        ("start\nlonger texts \n", "old", "longer texts", 1),
    ],
)
def test_a_result_that_is_there_is_found_once_it_is_no_chance(text, old, new, line):
    assert find_result(lines(text), diff_texts(old, new)) == line


def test_a_block_that_is_not_there_says_what_is():
    made = no_match_problem(lines("a\nthe new content\n"), diff_texts("old", "the new content"))
    near = no_match_problem(lines("value = 10\n"), diff_texts("value = 11", "x"))
    nothing = no_match_problem(lines(""), diff_texts("value = 11", "x"))

    assert (made.problem.code, near.problem.code, nothing.problem.code) == (
        "already_applied",
        "no_match",
        "no_match",
    )
    assert "line 2" in made.problem.message
    assert "value = 10" in near.problem.message
    assert "nearest" not in nothing.problem.message


@pytest.mark.parametrize(
    ("count", "shown", "more"), [(2, "1, 4", ""), (5, "1, 4, 7, 10, 13", ""), (7, "13", "2 more")]
)
def test_places_are_shown_with_two_lines_around_them(count, shown, more):
    file = lines("same\nb\nc\n" * count)
    places = [3 * one for one in range(count)]

    message = ambiguous_problem(file, diff_texts("same", "x"), places).problem.message

    assert f"{shown}:" in message
    assert f" {count} places" in message
    assert ("more places" in message) is bool(more)
    assert more in message
    first, second = message.split("\n...\n")[:2]
    assert [one.split("\t")[0].strip() for one in first.splitlines()[1:]] == ["1", "2", "3"]
    assert [one.split("\t")[0].strip() for one in second.splitlines()[:5]] == list("23456")
