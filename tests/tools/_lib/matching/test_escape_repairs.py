r"""Escapes that were passed on once too often or once too rarely: what is repaired, and what not."""

import pytest

from handrail.tools._lib.matching.escape_repairs import (
    repair_escaped_letters,
    repair_escaped_lines,
    repair_escaped_quotes,
    repair_escaped_tabs,
    repair_lost_escapes,
)


def pairs(repairs):
    return [(one.old, one.new) for one in repairs]


def named(repairs):
    return [(one.old, one.new, one.how) for one in repairs]


@pytest.mark.parametrize(
    ("old", "new", "repaired"),
    [
        # Nothing to repair.
        ("a", "b", []),
        ("a\nb\\n", "c", []),
        # Both readings are the same without strings.
        (r"a\nb", r"a\nc", [("a\nb", "a\nc")] * 3),
        (r"a\r\nb", "c", [("a\r\nb", "c"), ("a\nb", "c"), ("a\\r\nb", "c")]),
        (r"a\n\tb", "c", [("a\n\tb", "c"), ("a\n\tb", "c"), ("a\n\\tb", "c")]),
        # The new text has real lines.
        (r"a\nb", "a\nc", [("a\nb", "a\nc")] * 2),
        # All quotes are escaped together with the line feeds: one level, and no other reading.
        (r"f(\"x\")\ng", r"f(\"y\")\ng", [('f("x")\ng', 'f("y")\ng')]),
        # A quote that is not escaped: a line feed in a string may be meant.
        (
            r'f("a\nb")\ng',
            r'f("c\nd")\nh',
            [],
        ),
        (
            r'f("a")\ng',
            r'f("a")\nh',
            [('f("a")\ng', 'f("a")\nh')] * 2,
        ),
        (
            r'f("a\nb")\ng',
            "h",
            [('f("a\nb")\ng', "h"), ('f("a\\nb")\ng', "h")],
        ),
        (
            r"a\u00e9\nb",
            r"\/\t",
            [("aé\nb", "/\t"), ("a\\u00e9\nb", "\\/\\t"), ("a\\u00e9\nb", "\\/\\t")],
        ),
    ],
)
def test_escaped_line_feeds(old, new, repaired):
    assert pairs(repair_escaped_lines(old, new)) == repaired


def test_a_repair_says_what_the_slip_was():
    found = [one.how for one in repair_escaped_lines(r"a\nb", r"a\nc")]

    assert found == ["one level of escaping", "escaped line feeds", "escaped line feeds"]


@pytest.mark.parametrize(
    ("old", "new", "repaired"),
    [
        ("a", "b", []),
        ("\ta\\t", "b", []),
        (r"\ta", r"\tb", [("\ta", "\tb")]),
        (r"\t\ta", r"\t\tb", [("\t\ta", "\t\tb")]),
        ("\\ta\n\\tb", "c", [("\ta\n\tb", "c")]),
        # The new text has real tabs already.
        (r"\ta", "\tb", [("\ta", "\tb")]),
        # In the middle of a line, it must be in what both share.
        (r"a\tb", r"a\tc", [("a\tb", "a\tc")]),
        (r"a\tb", r"c\td", []),
        (r"a\tb", "x\ty", [("a\tb", "x\ty")]),
        (r"a\tb", "c", [("a\tb", "c")]),
        (r"\ta\tb", r"\ta\tc", [("\ta\\tb", "\ta\\tc"), ("\ta\tb", "\ta\tc")]),
        (r"\ta\tb", r"\tx\ty", [("\ta\\tb", "\tx\\ty")]),
        # Half of an escape is shared.
        (r"a\tb", r"a\nb\tb", []),
    ],
)
def test_escaped_tabs(old, new, repaired):
    assert pairs(repair_escaped_tabs(old, new)) == repaired
    assert {one.how for one in repair_escaped_tabs(old, new)} <= {"escaped tabs"}


@pytest.mark.parametrize(
    ("old", "new", "repaired"),
    [
        ("a", "b", []),
        (r"\"a\"", r"\"b\"", [('"a"', '"b"', "escaped quotes")]),
        (r"\'a\'", "b", [("'a'", "b", "escaped quotes")]),
        (r"\`a\`", r"\`b", [("`a`", "`b", "escaped quotes")]),
        # One quote without a backslash: they are meant.
        (r'\"a"', "b", []),
        # A new line that has both kinds is not understood, unless it is an old line.
        (r"\"a\" \'b\'", "\\\"a\\\" 'b'", []),
        ("\\\"a\\\"\n\\'x\\'", "\\\"a\\\"\n'y'", [("\"a\"\n'x'", "\"a\"\n'y'", "escaped quotes")]),
        (r"\"a\"", '"b"', [('"a"', '"b"', "escaped quotes")]),
        # Other signs, alone and with quotes.
        (r"a\_b", r"a\_c", [("a_b", "a_c", "escaped signs")]),
        (
            r"\"a\_b\"",
            "c",
            [('"a\\_b"', "c", "escaped quotes"), ('"a_b"', "c", "escaped signs")],
        ),
        (r"a\*b", "c", [("a*b", "c", "escaped signs")]),
        (r"a\*b/", "c", []),
        (r"\${a}", "c", [("${a}", "c", "escaped signs")]),
        (r"\$1", "c", []),
        # Doubled backslashes.
        (r"a\\b", r"c\\d", [("a\\b", "c\\d", "one level of escaping")]),
        (r"a\\b", r"c\d", []),
        (r"a\\b\c", r"c\\d", []),
        (r"a\\\\b", "c", [(r"a\\b", "c", "one level of escaping")]),
        (
            r"a\\b \"c",
            "d",
            [(r'a\\b "c', "d", "escaped quotes"), ('a\\b "c', "d", "one level of escaping")],
        ),
    ],
)
def test_escaped_quotes_and_signs(old, new, repaired):
    assert named(repair_escaped_quotes(old, new)) == repaired


@pytest.mark.parametrize(
    ("old", "new", "repaired"),
    [
        ("a", "b", []),
        (r"caf\u00e9", r"th\u00e9", [("café", "thé")]),
        (r"caf\u00e9", "tea", [("café", "tea")]),
        # A letter of which the old text has none.
        (r"caf\u00e9", r"\u00e8", []),
        ("café", r"th\u00e9", []),
        # ASCII, surrogates and escaped backslashes.
        (r"\u0041", "b", []),
        (r"\ud83d", "b", []),
        (r"\\u00e9", "b", []),
        (r"\u0080", "b", [("\x80", "b")]),
    ],
)
def test_escaped_letters(old, new, repaired):
    assert pairs(repair_escaped_letters(old, new)) == repaired
    assert {one.how for one in repair_escaped_letters(old, new)} <= {"escaped letters"}


@pytest.mark.parametrize(
    ("old", "new", "repaired"),
    [
        ("a", "b", []),
        ('f("a\nb")', 'f("c\nd")', [(r'f("a\nb")', r'f("c\nd")', "line feeds inside strings")]),
        ('f("a\nb\nc")\ng', "h", [('f("a\\nb\\nc")\ng', "h", "line feeds inside strings")]),
        # No line ends inside a string.
        ('f("a")\ng', "h", []),
        # A string that is never closed, and one that is meant to have lines.
        ('f("a\nb)', "c", []),
        ('f("a\nb")', 'f("c', []),
        ('"""a\nb"""', "c", []),
        # A single backslash for two.
        (r"a\d", r"a\d", [(r"a\\d", r"a\\d", "lost backslashes")]),
        (r"a\d", "b", [(r"a\\d", "b", "lost backslashes")]),
        (r"a\d", r"b\d", []),
        (r"a\\d", "b", []),
        ("a\\d\nb", "a\\d\nc", [("a\\\\d\nb", "a\\\\d\nc", "lost backslashes")]),
    ],
)
def test_lost_escapes(old, new, repaired):
    assert named(repair_lost_escapes(old, new)) == repaired
