"""Marks that only a new text has: which are refused, and which are content."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import UTF8
from handrail.tools._lib.byte_text import ByteText, Splice
from handrail.tools._lib.new_text.marks import refuse_marked

TWO = "a = 1\nb = 2"
THREE = "a = 1\nb = 2\nc = 3"


def is_refused(old, new, path="a.py"):
    data = old.encode()
    try:
        refuse_marked(ByteText(data, UTF8), Splice(0, len(data), new.encode()), old, new, path)
    except ProblemRaised as raised:
        return raised.problem.code == "invalid_arguments"
    return False


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        ("101\ta = 1\n102\tb = 5", True),
        ("101\ta = 1\n102\tx = 4\n103\tb = 2", True),
        ("101\ta = 1\n104\tb = 5", True),
        ("101\ta = 1\n105\tb = 5", False),
        ("102\ta = 1\n101\tb = 5", False),
        ("101\ta = 1\n101\tb = 5", False),
        ("101\tx = 1\n102\ty = 5", False),
        ("101\ta = 1\nb = 5", False),
        ("101\ta = 1\n102\tb = 2\nc = 5", False),
    ],
)
def test_numbers_of_several_lines(new, refused):
    assert is_refused(TWO, new) is refused


@pytest.mark.parametrize(
    ("new", "refused"),
    [
        ("<<<<<<< HEAD\na = 1\n=======\na = 5\n>>>>>>> new", True),
        ("<<<<<<< HEAD\na = 1\nb = 2\n=======\na = 5\n>>>>>>> new", True),
        ("<<<<<<< HEAD\na = 1\nx = 2\n=======\na = 5\n>>>>>>> new", False),
        ("<<<<<<< HEAD\nx = 1\na = 1\n=======\na = 5\n>>>>>>> new", False),
        ("<<<<<<< HEAD\nx = 1\n=======\na = 5\n>>>>>>> new", False),
        ("<<<<<<< HEAD\n=======\na = 5\n>>>>>>> new", False),
        ("<<<<<<< HEAD\na = 1\n>>>>>>> new", False),
        ("<<<<<<< HEAD\na = 1\n=======\na = 5\n>>>>>>> new\nc = 3", False),
        ("c = 3\n<<<<<<< HEAD\na = 1\n=======\na = 5\n>>>>>>> new", False),
    ],
)
def test_marks_of_a_search_and_a_replacement(new, refused):
    assert is_refused(TWO, new) is refused


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (TWO, "a = 1\\nb = 2", True),
        (THREE, "a = 1\\nb = 2\\nx = 3", True),
        (THREE, "a = 1\\nx = 3", False),
        (TWO, "x = 1\\ny = 2", False),
        (TWO, "a = 1\\\\nb = 2", False),
        (TWO, "a = 1\\nb = 2\nc = 3\\nd = 4", False),
        ("a = 1", "a = 1\\nb = 2", True),
        ("a", "a\\nb", False),
        ("a\\nb = 1", "a\\nb = 1\\nc", False),
    ],
)
def test_line_feeds_as_a_backslash_and_an_n(old, new, refused):
    assert is_refused(old, new) is refused


@pytest.mark.parametrize(
    ("old", "new", "path", "refused"),
    [
        (TWO, "```\nx = 1\n```", "a.py", True),
        (TWO, "~~~python\nx = 1\ny = 2\n~~~", "a.py", True),
        (TWO, "```\nx = 1\n~~~", "a.py", False),
        (TWO, "```\n```", "a.py", False),
        (TWO, "```\nx = 1\n```", "a.md", False),
        (TWO, "```\nx = 1\n```", "a.ex", False),
        (TWO, "```\na = 1\n```", "a.ex", True),
        (TWO, "```\nx = 1\na = 1\n```", "a.ex", True),
        ("```\na = 1", "```\nx = 1\n```", "a.py", False),
    ],
)
def test_a_fence_around_the_text(old, new, path, refused):
    assert is_refused(old, new, path) is refused


@pytest.mark.parametrize(
    ("old", "new", "refused"),
    [
        (TWO, "-a = 1\n+a = 5", True),
        (TWO, "-a = 1\n+a = 5\n b = 2", True),
        (TWO, "-x = 1\n+a = 5", False),
        (TWO, "-a = 1\n+a = 5\nb = 2", False),
        ("- a\n- b", "- a\n+ b", False),
    ],
)
def test_marks_of_a_diff(old, new, refused):
    assert is_refused(old, new) is refused


@pytest.mark.parametrize(("old", "new"), [("", "1\ta\n2\tb"), ("\n", "1\ta\n2\tb"), (TWO, "\n")])
def test_where_nothing_is_replaced_or_left_there_are_no_marks(old, new):
    assert not is_refused(old, new)
