"""Leftovers in a new text, asked directly: what they are called, and what is content."""

import pytest

from handrail.tools._lib.new_text.leftovers import find_leftover

TAG = "a tag of the call"
NUMBERS = "line numbers"
ENTITIES = "HTML entities"
QUOTES = "escaped quotes"


@pytest.mark.parametrize(
    ("old", "new", "path", "expected"),
    [
        ("x", "<new_string>y", "a.py", TAG),
        ("x", "  <new_str>\ny\n</new_str>", "a.html", TAG),
        ("<new_string>x", "<new_string>y", "a.py", None),
        ("x", "y</new_string>", "a.py", TAG),
        ("x", "y</new_string>\n", "a.html", TAG),
        ("x", "y\n</parameter>", "a.py", TAG),
        ("x", "y\n</ns:parameter>", "a.py", TAG),
        ("x", "y\n</parameter>", "a.xml", None),
        ("x", "<parameter>y</parameter>", "a.py", None),
        ("x</parameter>", "y</parameter>", "a.py", None),
        ("x", "y</parameter>z", "a.py", None),
        ("x", "y</p>", "a.py", None),
        ("x", "<![CDATA[y]]>", "a.py", "a CDATA wrapper"),
        ("x", "<![CDATA[y]]>", "a.xml", None),
        ("x", "<![CDATA[y", "a.py", None),
        ("x", "y]]>", "a.py", None),
        ("<![CDATA[x]]>", "<![CDATA[y]]>", "a.py", None),
        ("x", "y<|im_end|>", "a.py", "a token that ends a message"),
        ("x<|im_end|>", "y<|im_end|>", "a.py", None),
        ("x", "y<|im_end|>\nz", "a.py", None),
        ("x", "y\n>>>>>>> REPLACE", "a.py", "the marks of a search and a replacement"),
        ("x\n>>>>>>> REPLACE", "y\n>>>>>>> REPLACE", "a.py", None),
        ("x", "```\ny", "a.md", "one end of a code fence"),
        ("x", "y\n~~~", "a.md", "one end of a code fence"),
        ("x", "```\ny\n```", "a.md", None),
        ("x", "y\n```\nz", "a.md", None),
        ("x", "```", "a.md", None),
        ("```\nx", "```\ny", "a.md", None),
        ("", "<new_string>y", "a.py", None),
        ("x", " \n", "a.py", None),
    ],
)
def test_what_surrounds_the_text(old, new, path, expected):
    assert find_leftover(old, new, path) == expected


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("  a\n  b", "  a\n+  c\n  b", True),
        ("  a\n  b", "   a\n+  c\n   b", True),
        ("  a", "+  c", True),
        ("\ta", "+\tc", True),
        ("a", "+a\n+b", True),
        ("a", "+c", False),
        (" a", "+ c", False),
        ("  a", "  a\n+c", False),
        ("+a", "+b", False),
        ("  a\n  b", "  a\n+  c\n  other", False),
    ],
)
def test_the_marks_of_a_diff(old, new, expected):
    assert (find_leftover(old, new, "a.py") == "the marks of a diff") is expected
    assert find_leftover(old, new, "a.py", whole=False) is None


@pytest.mark.parametrize(
    ("old", "new", "line", "expected"),
    [
        ("a = 1", "7: a = 2", 7, NUMBERS),
        ("a = 1", "7\ta = 2\n8\tb", 7, NUMBERS),
        ("a = 1", "7\tb\n10\ta = 2", 7, NUMBERS),
        ("a = 1", "7\tb\n11\ta = 2", 7, None),
        ("a = 1", "7\tb\n7\ta = 2", 7, None),
        ("a = 1", "L7 | a = 2", 7, NUMBERS),
        ("a = 1", "8: a = 2", 7, None),
        ("a = 1", "7: a = 2", None, None),
        ("a = 1", "7: a = 2\nb", 7, None),
        ("a = 1", "7: b", 7, None),
        ("7: a = 1", "7: a = 2", 7, None),
    ],
)
def test_line_numbers(old, new, line, expected):
    assert find_leftover(old, new, "a.py", line) == expected
    assert find_leftover(old, new, "a.py", line, whole=False) is None


@pytest.mark.parametrize(
    ("old", "new", "path", "expected"),
    [
        ("a < b", "a &lt; c", "a.py", ENTITIES),
        ("if a > b", "while a &gt; c", "a.py", ENTITIES),
        ("a & b", "a &amp; c", "a.py", ENTITIES),
        ("a<b", "a&lt;c", "a.py", ENTITIES),
        # The beginning of the line is what is near the sign.
        ("f(a < b)", "a &lt; c", "a.py", ENTITIES),
        ("b < a", "a &lt; c", "a.py", None),
        # The sign alone is in every text.
        ("< b", "&lt; c", "a.py", None),
        ("a < b", "a &lt; c", "a.html", None),
        ("a < b &lt;", "a &lt; c", "a.py", None),
        ("a < b", "# a &lt; c", "a.py", None),
        ("a < b", '"a &lt; c"', "a.py", None),
        ("a < b", "<p>a &lt; c</p>", "a.py", None),
        ('f("a")', 'f(\\"b\\")', "a.py", QUOTES),
        ("f('a')", "f(\\'b\\')", "a.py", QUOTES),
        ('f("a", "\\"")', 'f(\\"b\\")', "a.py", None),
        ("f(a)", 'f(\\"b\\")', "a.py", None),
        ('f("a")', 'f(\\"b\\")', "a.sh", None),
    ],
)
def test_escapes(old, new, path, expected):
    assert find_leftover(old, new, path) == expected


def test_quotes_in_a_part_of_a_line_may_be_escaped():
    assert find_leftover('f("a")', 'f(\\"b\\")', "a.py", whole=False) is None
