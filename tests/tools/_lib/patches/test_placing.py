"""Where one hunk goes, and which hunks are refused although their lines fit somewhere."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8
from handrail.tools._lib.byte_text import ByteText, apply_splices
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.patches.model import PatchHunk, PatchLine
from handrail.tools._lib.patches.placing import (
    hunk_block,
    place_hunk,
    with_lost_marks,
    without_wide_marks,
)


def lines(text):
    return FileLines(ByteText(text.encode(), UTF8), "a.py")


def hunk(*written, **stated):
    return PatchHunk(tuple([PatchLine(one[0], one[1:]) for one in written]), **stated)


def placed(text, one):
    file = lines(text)
    found = place_hunk(file, one)
    return apply_splices(file.file.data, found.splices).tobytes().decode(), found


def refused(text, one):
    with pytest.raises(ProblemRaised) as raised:
        place_hunk(lines(text), one)
    return raised.value.problem


def numbered(count, **other):
    """Lines `line 1` to `line N`, with some of them replaced by number."""
    texts = {int(key[1:]): text for key, text in other.items()}
    return "".join([texts.get(one, f"line {one}") + "\n" for one in range(1, count + 1)])


@pytest.mark.parametrize(
    ("one", "expected"),
    [
        (hunk(" a", "-b", "+c"), ["keep a", "delete b", "insert c"]),
        (hunk("-a", "-b", "+b", "+c"), ["delete a", "keep b", "insert c"]),
        (hunk("-a", "-b", "+b", "+c", " d"), ["delete a", "keep b", "insert c", "keep d"]),
        # Only the newline after the last line changes: the line is replaced.
        (hunk("-a", "+a", old_ends=True), ["delete a", "insert a"]),
        (hunk("-a", "+a", new_ends=True), ["delete a", "insert a"]),
        (hunk("-a", "+a", old_ends=True, new_ends=True), ["keep a"]),
        (hunk("-a", "+a", " b", old_ends=True), ["keep a", "keep b"]),
    ],
)
def test_a_line_that_is_deleted_and_added_again_is_kept(one, expected):
    assert [f"{op.kind} {op.text}" for op in hunk_block(one).ops] == expected


@pytest.mark.parametrize(
    ("text", "one", "expected"),
    [
        ("a\nb\n", hunk(" a", "- b", "+ c"), ["a", "b", "c"]),
        ("a\nb\n", hunk("  a", "- b", "+ c"), ["a", "b", "c"]),
        ("a\nb\n", hunk(" x", "- b", "+ c"), ["x", "b", "c"]),
        ("a\nb\n", hunk("  x", "- b", "+ c"), [" x", "b", "c"]),
        # One mark without a blank, a line that is in the file with it, or nothing deleted.
        ("a\nb\n", hunk("- b", "+c"), [" b", "c"]),
        ("a\nb\n b\n", hunk("- b", "+ c"), [" b", " c"]),
        ("a\n", hunk("- b", "+ c"), [" b", " c"]),
        ("a\nb\n", hunk(" a", "+ c"), ["a", " c"]),
        # An empty line has no blank to lose.
        ("a\nb\n", hunk("- b", "+", "+ c"), ["b", "", "c"]),
    ],
)
def test_a_blank_after_every_mark_is_no_indentation(text, one, expected):
    (found,) = without_wide_marks([one], lines(text))

    assert [line.text for line in found.lines] == expected


@pytest.mark.parametrize(
    ("text", "one", "expected"),
    [
        (" a\nb\n", hunk(" a", "-b", "+c"), [" a", "b", "c"]),
        (" a\na\nb\n", hunk(" a", "-b", "+c"), ["a", "b", "c"]),
        # The rest of the hunk is not in the file as it is: it is indented less as well.
        (" a\n b\n", hunk(" a", "-b", "+c"), ["a", "b", "c"]),
        # Nothing else is old: what is added must be indented by the same steps.
        ("    a\n", hunk("    a", "+    c"), ["    a", "    c"]),
        ("    a\n", hunk("    a", "+        c"), ["    a", "        c"]),
        ("    a\n", hunk("    a", "+   c"), ["   a", "   c"]),
    ],
)
def test_a_context_line_without_its_mark_is_completed(text, one, expected):
    assert [line.text for line in with_lost_marks(one, lines(text)).lines] == expected


@pytest.mark.parametrize(
    ("one", "code"),
    [
        (hunk(" a", "+b"), "no_match"),
        (hunk(" a", "+b", counted=True), None),
        (hunk(" a", "-b"), None),
        (hunk(" a", "+c"), None),
    ],
)
def test_a_plus_that_the_file_has_itself_is_doubtful(one, code):
    file = lines("a\n+b\n+\n")

    if code is None:
        assert with_lost_marks(one, file) == one
        return
    with pytest.raises(ProblemRaised) as raised:
        with_lost_marks(one, file)
    assert raised.value.problem.code == code


@pytest.mark.parametrize(
    ("line", "goes"),
    [(1, False), (21, False), (22, True), (30, True), (38, True), (39, False), (None, True)],
)
def test_brackets_are_evidence_up_to_eight_lines_from_the_stated_line(line, goes):
    text = numbered(60, l30="()")
    one = hunk("-()", "+[]", line=line)

    if goes:
        assert placed(text, one)[0] == text.replace("()", "[]")
    else:
        assert refused(text, one).code == "no_match"


@pytest.mark.parametrize(
    ("old", "heading", "goes"),
    [("(ab)", "", False), ("(abc)", "", True), ("(ab)", "line 3", True)],
)
def test_three_letters_or_a_heading_are_evidence(old, heading, goes):
    text = numbered(60, l30=old)
    one = hunk(f"-{old}", "+x", line=5, heading=heading)

    if goes:
        after, found = placed(text, one)
        assert after == text.replace(old, "x")
        assert found.shift == 25
    else:
        assert refused(text, one).code == "no_match"


@pytest.mark.parametrize(
    ("stated", "there", "goes"),
    [
        # Line 9 names three lines; all three are at line 40.
        (9, ("alpha", "beta", "other"), False),
        (9, ("alpha", "other", "gamma"), False),
        (9, ("alpha", "other", "others"), True),
        (9, ("  alpha", "beta  ", "other"), False),
        # Up to eight lines away it is no twin.
        (32, ("alpha", "beta", "other"), True),
        (31, ("alpha", "beta", "other"), False),
        (48, ("alpha", "beta", "other"), True),
        (49, ("alpha", "beta", "other"), False),
        (1, ("alpha", "beta", "other"), False),
        (0, ("alpha", "beta", "other"), True),
        (None, ("alpha", "beta", "other"), True),
    ],
)
def test_a_twin_at_the_stated_line_is_not_passed_over(stated, there, goes):
    marked = {f"l{(stated or 9) + number}": text for number, text in enumerate(there)}
    text = numbered(60, **{**marked, "l40": "alpha", "l41": "beta", "l42": "gamma"})
    one = hunk(" alpha", " beta", "-gamma", "+delta", line=stated)

    if goes:
        after, found = placed(text, one)
        assert after.splitlines()[39:42] == ["alpha", "beta", "delta"]
        assert found.shift == (0 if stated is None else 40 - stated)
    else:
        problem = refused(text, one)
        assert problem.code == "ambiguous"
        assert f"line {stated}" in problem.message
        assert "line 40" in problem.message


@pytest.mark.parametrize(
    ("there", "goes"),
    [
        # Two of three lines are a twin, two of four are not; blank lines do not count.
        (("alpha", "beta", "x", "y"), True),
        (("alpha", "beta", "gamma", "y"), False),
        (("alpha", "x", "y", "z"), True),
    ],
)
def test_a_twin_has_two_thirds_of_the_lines(there, goes):
    marked = {f"l{9 + number}": text for number, text in enumerate(there)}
    full = {"l40": "alpha", "l41": "beta", "l42": "gamma", "l43": "delta"}
    text = numbered(60, **{**marked, **full})
    one = hunk(" alpha", " beta", " gamma", "-delta", "+new", line=9)

    if goes:
        assert placed(text, one)[0].splitlines()[42] == "new"
    else:
        assert refused(text, one).code == "ambiguous"


def test_one_equal_line_at_the_end_of_the_file_is_no_twin():
    text = numbered(60, l40="alpha", l41="beta", l60="alpha")
    one = hunk(" alpha", "-beta", "+new", line=60)

    assert placed(text, one)[0].splitlines()[40] == "new"


@pytest.mark.parametrize(
    ("text", "one", "expected", "shift"),
    [
        # Literal at the stated line: the same lines elsewhere do not matter.
        ("a\nb\na\n", hunk("-a", "+c", line=3), "a\nb\nc\n", 0),
        ("a\nb\na\n", hunk("-a", "+c", line=1), "c\nb\na\n", 0),
        ("x\na\n", hunk("-a", "+c", line=1), "x\nc\n", 1),
        # Lines that only add go below the line that is stated.
        ("a\nb\n", hunk("+c", line=1, numbered=True), "a\nc\nb\n", 0),
        ("a\nb\n", hunk("+c", line=0, numbered=True), "c\na\nb\n", 0),
        ("a\nb\n", hunk("+c", anchors=("a",)), "a\nc\nb\n", 0),
        ("a\nb\n", hunk("+c", at_end=True), "a\nb\nc\n", 0),
        ("a\n\nb\n", hunk("-", "+c", line=2), "a\nc\nb\n", 0),
        ("a\nb\n", hunk(" a", "-b", "+c", new_ends=True), "a\nc", 0),
        ("a\nb", hunk(" a", "-b", "+c", old_ends=True), "a\nc\n", 0),
        # A heading chooses between equal places.
        (
            "def f():\n    x\ndef g():\n    x\n",
            hunk("-    x", "+    y", heading="def g():"),
            "def f():\n    x\ndef g():\n    y\n",
            0,
        ),
    ],
)
def test_a_hunk_goes_where_its_lines_and_hints_say(text, one, expected, shift):
    after, found = placed(text, one)

    assert after == expected
    assert (found.note, found.shift) == ("", shift)


@pytest.mark.parametrize(
    ("text", "one", "code"),
    [
        ("a\nb\na\n", hunk("-a", "+c"), "ambiguous"),
        ("a\nb\na\n", hunk("-a", "+c", line=2), "ambiguous"),
        ("a\n\nb\n", hunk("-", "+c", line=1), "no_match"),
        ("a\nb\n", hunk("-c", "+d"), "no_match"),
        # The line number and the heading name different places.
        (
            "def f():\n    x\n" + "#\n" * 30 + "def g():\n    x\n",
            hunk("-    x", "+    y", line=3, heading="def g():"),
            "ambiguous",
        ),
        # Exactly here, and except for blanks at the stated line.
        ("  abcd\nb\nabcd\n", hunk("-abcd", "+x", line=1), "ambiguous"),
        ("a\nb\n", hunk(" a", " b", "+b", "-b"), "no_match"),
    ],
)
def test_a_hunk_without_one_place_is_refused(text, one, code):
    assert refused(text, one).code == code


def test_a_place_that_fits_except_for_blanks_is_noted():
    after, found = placed("f( a )\nb\n", hunk("-f(a)", "+f(c)", " b", number=3, line=1))

    assert after == "f( c )\nb\n"
    assert found.note.startswith("hunk 3 fits at line 1 with ")
    assert found.note.endswith(" ignored")
