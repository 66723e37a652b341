"""Which slips are undone, on what evidence, and when the new text forbids it."""

import pytest

from handrail.tools._lib.matching.ellipsis import is_elision
from handrail.tools._lib.matching.indentation import IndentPair, lacks_first_indent, learn_indents
from handrail.tools._lib.matching.input_repairs import find_repairs
from handrail.tools._lib.matching.normalize import canonical, fold_quotes, squeeze


def undone(old, new):
    """The pairs with one slip undone."""
    return [(one.old, one.new) for one in next(find_repairs(old, new))]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("```py\na\n```", "```py\nb\n```", ("a", "b")),
        ("```\na\n```", "b", ("a", "b")),
        ("     9\ta\n    10\tb", "     9\ta\n    10\tc", ("a\nb", "a\nc")),
        ("9→a\n10→b", "x", ("a\nb", "x")),
        ("9: a\n10:\n11: b", "9: a\n10:\n11: c", ("a\n\nb", "a\n\nc")),
        ("9|a\n10|b", "9|a\nnew\n10|b", ("a\nb", "a\nnew\nb")),
        ("a\\nb", "a\\nc", ("a\nb", "a\nc")),
        ("a\\nb", "a\nc", ("a\nb", "a\nc")),
        ('f(\\"a\\")', 'g(\\"a\\")', ('f("a")', 'g("a")')),
        ('f(\\"a\\")', 'g("a")', ('f("a")', 'g("a")')),
        ("a &lt; b", "a &lt;= b", ("a < b", "a <= b")),
        ("&amp;lt;", "&amp;gt;", ("&lt;", "&gt;")),
        ("-a\n b", "+c\n b", ("a\nb", "c\nb")),
        (r"r'\\d'", r"r'\\w'", (r"r'\d'", r"r'\w'")),
    ],
)
def test_a_slip_is_undone_in_both_texts(old, new, expected):
    assert expected in undone(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        # Nothing in the old text speaks for a slip.
        ("a\nb", "```\na\n```"),
        ("a b", "9: a b"),
        # Numbers that do not count.
        ("1: a\n1: b", "c"),
        ("3: a\n2: b", "c"),
        # A new line that is numbered otherwise than those that stay.
        ("9: a\n10: b", "9: a\n77: c\n10: b"),
        # Numbers set off in another way would be pasted.
        ("9| a\n10| b", "9: a\n10: c"),
        # Marks of only one kind are a list.
        ("- a\nb", "+ a\nb"),
    ],
)
def test_nothing_is_undone_without_evidence(old, new):
    assert undone(old, new) == []


def test_numbers_in_data_are_not_taken_for_line_numbers_in_the_new_text():
    assert ("2927\n2928", "2927") in undone("30 2927\n31 2928", "2927")


def test_a_new_line_with_a_line_feed_in_a_string_can_be_read_in_two_ways():
    assert undone("a\\nb", 'a\\nprint("x\\n")\\nb') == []


def test_quotes_that_are_escaped_only_in_part_are_left_alone():
    assert undone('say(\\"a\\")\nb', 'say(\\"a\\")\nx = "\\"" + c\nb') == [
        ('say("a")\nb', 'say("a")\nx = "\\"" + c\nb')
    ]


def test_two_slips_are_undone_one_after_the_other():
    levels = list(find_repairs("```\n9\ta &lt; b\n10\tc\n```", "x"))

    assert ("a < b\nc", "x") not in [(one.old, one.new) for one in levels[0]]
    assert ("a &lt; b\nc", "x") in [(one.old, one.new) for one in levels[1]]


@pytest.mark.parametrize(
    "line",
    [
        "...",
        "    …",
        "# ...",
        "// ... existing code ...",
        "/* ... */",
        "<!-- ... -->",
        "[...]",
        "... rest of the function ...",
        "{/* ... */}",
        "-- ...",
    ],
)
def test_dots_alone_or_in_a_comment_stand_for_lines_left_out(line):
    assert is_elision(line)


@pytest.mark.parametrize(
    "line",
    ["...args", "f(...)", "  ...rest,", "x = ...", '"..."', "a...b", "# wait", "loading..."],
)
def test_dots_in_code_stand_for_themselves(line):
    assert not is_elision(line)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("f( a,b )", "f(a, b)"),
        ("a  =  b", "a=b"),
        ("\u201cit\u2019s\u201d", '"it\'s"'),
        ("a\u00a0\u2013 b", "a - b"),
        ("a\u200bb", "ab"),
        ("x\u2026", "x..."),
    ],
)
def test_lines_that_say_the_same_have_one_key(one, two):
    assert canonical(one) == canonical(two)
    assert squeeze(one) == squeeze(two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a b", "ab"),
        ("a - -b", "a--b"),
        ("x = 1", "x = 11"),
        ("Name", "name"),
        ("a == b", "a = = b"),
        ("'a'", '"a"'),
        ("a.b", "a,b"),
        ("not a", "nota"),
    ],
)
def test_lines_that_say_something_else_do_not(one, two):
    assert canonical(one) != canonical(two)


def test_the_kind_of_quotes_is_a_matter_of_its_own():
    assert fold_quotes(canonical("f('a')")) == fold_quotes(canonical('f("a")'))


def results(pairs, indent):
    return {rule(indent) for rule in learn_indents([IndentPair(*pair) for pair in pairs])}


@pytest.mark.parametrize(
    ("pairs", "indent", "expected"),
    [
        ([("  ", "  ")], "        ", {"        "}),
        ([("", "    "), ("  ", "      ")], "    ", {"        "}),
        ([("    ", ""), ("      ", "  ")], "        ", {"    "}),
        ([("    ", "\t"), ("        ", "\t\t")], "            ", {"\t\t\t"}),
        ([("\t", "  "), ("\t\t", "    ")], "\t\t\t", {"      "}),
        ([("  ", "    "), ("    ", "        ")], "      ", {"            "}),
        ([("", "\t"), ("    ", "\t\t")], "        ", {"\t\t\t"}),
        ([(" \t", "  \t"), ("", " ")], "\t", {" \t"}),
        ([("\t  ", "\t\t  ")], "\t", {"\t\t"}),
        # A single depth leaves open whether it was moved or is counted otherwise.
        ([("  ", "    ")], "    ", {"      ", "        "}),
    ],
)
def test_indentation_is_learnt_from_lines_in_both(pairs, indent, expected):
    assert results(pairs, indent) == expected


@pytest.mark.parametrize(
    "pairs",
    [
        [("", ""), ("", "    ")],
        [("  ", "    "), ("    ", "    ")],
        [("", "  "), ("    ", "    ")],
        # Blanks before tabs are not the call's indentation, moved.
        [("\t", " \t")],
        [("\t", "  \t"), ("\t\t", "  \t\t")],
        # Neither half a step nor one that goes back.
        [("  ", "   "), ("    ", "      ")],
        [("  ", "    "), ("    ", "  ")],
    ],
)
def test_lines_that_disagree_teach_nothing(pairs):
    assert learn_indents([IndentPair(*pair) for pair in pairs]) == []


def test_a_first_line_without_indentation_is_told_from_a_flattened_text():
    assert lacks_first_indent([IndentPair("", "  "), IndentPair("    ", "    ")])
    assert not lacks_first_indent([IndentPair("", "  "), IndentPair("", "    ")])
