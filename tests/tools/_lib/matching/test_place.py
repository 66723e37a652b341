"""Where a block belongs, and what a hunk may say about it beside its lines."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8
from handrail.tools._lib.byte_text import ByteText, apply_splices
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.lines import (
    FileLines,
    LineBlock,
    LineOp,
    PlacementHints,
    diff_texts,
)
from handrail.tools._lib.matching.placement import place_block
from handrail.tools._lib.matching.replay import replay_block


def lines_of(text, path="a.py"):
    return FileLines(ByteText(text.encode(), UTF8), path)


def after(text, block, hints=None, **how):
    file = lines_of(text)
    splices = replay_block(file, block, place_block(file, block, hints or PlacementHints()), **how)
    return apply_splices(file.file.data, splices).tobytes().decode()


def refused(text, block, hints=None):
    with pytest.raises(ProblemRaised) as raised:
        place_block(lines_of(text), block, hints or PlacementHints())
    return raised.value.problem


TWICE = "def a():\n    x = 1\n\ndef b():\n    x = 1\n"
BLOCK = diff_texts("    x = 1", "    x = 2")


@pytest.mark.parametrize(
    ("text", "old", "tier"),
    [
        ("a\nb\n", "a\nb", Tier.EXACT),
        ("a\n\nb\n", "a\nb", Tier.BLANK_LINES),
        ("a \nb\n", "a\nb", Tier.LINE_ENDS),
        ("  a\n    b\n", "a\n  b", Tier.INDENTATION),
        ("\ta\n\t\tb\n", "    a\n        b", Tier.INDENTATION),
        ("  a\n  b\n", "  a\nb", Tier.WHITESPACE),
        ("f(a)\nb\n", "f( a )\nb", Tier.TYPOGRAPHY),
        ("it\u2019s\nb\n", "it's\nb", Tier.TYPOGRAPHY),
        ("f('a')\nb\n", 'f("a")\nb', Tier.QUOTES),
        ("# the first\na\nb\nc\n", "# the frist\na\nb\nc", Tier.COMMENTS),
    ],
)
def test_a_place_is_found_in_the_strictest_way_that_fits(text, old, tier):
    file = lines_of(text, "a.c" if tier is Tier.WHITESPACE else "a.py")
    assert place_block(file, diff_texts(old, f"{old}\nnew")).tier is tier


def test_a_stricter_place_wins_over_looser_ones():
    text = "  f(a)\n  g()\n--\nf(a)\ng()\n--\nf( a )\ng()\n"

    found = place_block(lines_of(text), diff_texts("f(a)\ng()", "f(b)\ng()"))

    assert (found.first, found.last, found.tier) == (3, 5, Tier.EXACT)


@pytest.mark.parametrize(
    ("line", "first"), [(2, 1), (5, 4), (3, None), (4, None), (None, None), (60, None)]
)
def test_a_stated_line_decides_between_equals_only_if_it_is_clearly_nearer(line, first):
    text = TWICE + "x = 3\n" * 10
    hints = PlacementHints(line=line)

    if first is None:
        assert refused(text, BLOCK, hints).code == "ambiguous"
    else:
        assert place_block(lines_of(text), BLOCK, hints).first == first


def test_a_stated_line_that_is_near_one_place_and_far_from_the_other_decides():
    text = "x = 1\n" + "y = 2\n" * 40 + "x = 1\n"

    assert (
        place_block(lines_of(text), diff_texts("x = 1", "x = 2"), PlacementHints(line=36)).first
        == 41
    )


def test_a_stated_line_is_no_reason_to_refuse_the_only_place():
    assert (
        place_block(lines_of("a\nb\n"), diff_texts("b", "c"), PlacementHints(line=900)).first == 1
    )


@pytest.mark.parametrize(
    ("anchors", "first"),
    [
        (("def a():",), 1),
        (("def b():",), 4),
        (("def b",), 4),
        (("def a():", "def b():"), 4),
    ],
)
def test_an_anchor_restricts_to_what_it_opens(anchors, first):
    assert place_block(lines_of(TWICE), BLOCK, PlacementHints(anchors=anchors)).first == first


METHODS = (
    "class A:\n    def f(self):\n        return 1\n\n\n"
    "class B:\n    def h(self):\n        return 1\n\n\n"
    "def f(self):\n    return 1\n"
)


@pytest.mark.finding("F61")
@pytest.mark.parametrize("inner", ["    def f(self):", "def f(self):", "\tdef f(self):"])
def test_an_anchor_is_not_followed_out_of_what_the_one_above_it_opens(inner):
    block = diff_texts("        return 1", "        return 2")

    assert refused(METHODS, block, PlacementHints(anchors=("class B:", inner))).code == "no_match"
    assert (
        place_block(lines_of(METHODS), block, PlacementHints(anchors=("class A:", inner))).first
        == 2
    )


@pytest.mark.finding("F61")
def test_nothing_is_inserted_outside_of_what_the_anchor_above_opens():
    anchors = ("class B:", "    def f(self):")
    adding = diff_texts("", "        x = 1")

    with pytest.raises(ProblemRaised) as raised:
        place_block(lines_of(METHODS), adding, PlacementHints(anchors=anchors))

    assert raised.value.problem.code == "no_match"


def test_a_heading_is_an_anchor_for_what_stands_under_it():
    text = "# One\n\nsame\n\n## Part\n\nsame\n\n# Two\n\nsame\n"
    block = diff_texts("same", "other")

    assert place_block(lines_of(text), block, PlacementHints(anchors=("# Two",))).first == 10
    assert place_block(lines_of(text), block, PlacementHints(anchors=("## Part",))).first == 6
    assert refused(text, block, PlacementHints(anchors=("# One",))).code == "ambiguous"


def test_an_anchor_that_is_not_in_the_file_refuses():
    problem = refused(TWICE, BLOCK, PlacementHints(anchors=("def c():",)))

    assert problem.code == "no_match"
    assert "'def c():'" in problem.message


def test_a_twin_below_what_the_anchor_opens_is_not_meant():
    text = "def a():\n    y = 1\n\ndef b():\n    x = 1\n\ndef c():\n    x = 1\n"

    problem = refused(text, BLOCK, PlacementHints(anchors=("def a():",)))

    assert problem.code == "no_match"
    assert "further down, at line" in problem.message


def test_the_end_of_the_file_decides_between_equals():
    assert place_block(lines_of(TWICE), BLOCK, PlacementHints(at_end=True)).first == 4


def test_lines_before_a_given_one_are_not_considered():
    assert place_block(lines_of(TWICE), BLOCK, PlacementHints(after=2)).first == 4
    assert refused(TWICE, BLOCK, PlacementHints(after=5)).code == "no_match"


def test_a_refusal_shows_the_places_or_the_nearest_lines():
    assert "at lines 2, 5" in refused(TWICE, BLOCK).message
    problem = refused("def a():\n    x = 10\n    y = 2\n", diff_texts("    x = 1\n    y = 2", "z"))
    assert "2\t    x = 10" in problem.message


@pytest.mark.parametrize(
    ("hints", "expected"),
    [
        (PlacementHints(line=2), "a\nnew\nb\n"),
        (PlacementHints(line=1), "new\na\nb\n"),
        (PlacementHints(at_end=True), "a\nb\nnew\n"),
        (PlacementHints(anchors=("a",)), "a\nnew\nb\n"),
    ],
)
def test_lines_without_context_go_where_they_are_told(hints, expected):
    assert after("a\nb\n", LineBlock((LineOp("insert", "new"),)), hints) == expected


def test_lines_without_context_or_word_of_their_place_are_refused():
    assert refused("a\nb\n", LineBlock((LineOp("insert", "new"),))).code == "no_match"


def test_an_empty_file_takes_lines_anywhere():
    assert after("", LineBlock((LineOp("insert", "new"),))) == "new\n"


@pytest.mark.parametrize(
    ("text", "final", "expected"),
    [
        ("a\nb", None, "a\nc"),
        ("a\nb", True, "a\nc\n"),
        ("a\nb\n", False, "a\nc"),
        ("a\nb\n", None, "a\nc\n"),
    ],
)
def test_the_end_of_the_last_line_is_kept_or_set(text, final, expected):
    assert after(text, diff_texts("a\nb", "a\nc"), final_newline=final) == expected


def test_deleting_the_end_of_a_file_without_a_final_newline_leaves_none():
    assert after("a\nb\nc", diff_texts("a\nb\nc", "a")) == "a"


def test_blank_lines_between_lines_that_are_replaced_one_by_one_stay():
    assert after("a\n\nb\n\nc\n", diff_texts("a\nb\nc", "1\n2\nc")) == "1\n\n2\n\nc\n"


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        ("  end()\n  more()\ndef g():", "  end()\n  more()\n\ndef g():\n"),
        ("  end()\n@mark\ndef g():", "  end()\n\n@mark\ndef g():\n"),
    ],
)
def test_new_lines_beside_an_unmentioned_blank_line_join_whom_they_are_indented_like(new, expected):
    assert after("  end()\n\ndef g():\n", diff_texts("  end()\ndef g():", new)) == expected


def test_a_drift_in_several_comments_needs_several_lines():
    comments = ["# the first line", "# the second line", "# the third line"]
    code = [f"x{n} = {n}" for n in range(12)]
    said = [line.replace("the", "teh") for line in comments[:2]]
    text = "\n".join([*comments, *code]) + "\n"

    many = "\n".join([*said, comments[2], *code])
    few = "\n".join([*said, comments[2], *code[:2]])

    assert place_block(lines_of(text), diff_texts(many, f"{many}\nx")).tier is Tier.COMMENTS
    assert refused(text, diff_texts(few, f"{few}\nx")).code == "no_match"


@pytest.mark.parametrize(
    ("path", "line", "said", "fits"),
    [
        ("a.py", "# see the note", "# see teh note", True),
        ("a.c", "#define NOTE", "#define NTOE", False),
        ("a.c", " * the note", " * teh note", True),
        ("a.md", "The note is here.", "The ntoe is here.", True),
        ("a.js", "#note = 1", "#ntoe = 1", False),
        ("a.js", "// the Note", "// the note", True),
        ("a.js", "// a note", "// a letter", False),
        ("a.js", "// note 12", "// note 13", False),
        ("a.js", "// a note here", "// a here", False),
        ("a.unknown", "-- the note", "-- the ntoe", True),
    ],
)
def test_only_comments_may_be_mistyped_and_only_by_a_letter(path, line, said, fits):
    file = FileLines(ByteText(f"{line}\na\nb\nc\nd\n".encode(), UTF8), path)
    block = diff_texts(f"{said}\na\nb\nc\nd", f"{said}\na\nb\nc\ne")

    if fits:
        assert place_block(file, block).tier is Tier.COMMENTS
    else:
        with pytest.raises(ProblemRaised):
            place_block(file, block)


def test_a_mistyped_sentence_in_a_doc_string_is_forgiven_and_code_in_a_fence_is_not():
    python = 'def f():\n    """The sum.\n\n    Adds all numbers.\n    """\n    return 1\n'
    old = python.replace("numbers", "nubmers")
    assert place_block(lines_of(python), diff_texts(old, old + "x")).tier is Tier.COMMENTS

    text = "text\n```\nrun the tests\n```\nmore\nand more\nend\n"
    file = FileLines(ByteText(text.encode(), UTF8), "a.md")
    old = text.replace("tests", "tsets")
    with pytest.raises(ProblemRaised):
        place_block(file, diff_texts(old, old + "x"))


@pytest.mark.parametrize(
    ("own", "said"), [("caf\u00e9", "cafe\u0301"), ("cafe\u0301", "caf\u00e9")], ids=["one", "two"]
)
def test_a_letter_with_an_accent_stays_as_the_file_spells_it(own, said):
    text = f"{own} = f({own}, 1)\n"

    kept = after(text, diff_texts(f"{said} = f({said}, 1)", f"{said} = f({said}, 2)"))
    plain = after(text, diff_texts(f"{said} = f({said}, 1)", f"{said} = f(cafe, 1)"))

    assert kept == f"{own} = f({own}, 2)\n"
    assert plain == f"{own} = f(cafe, 1)\n"
