"""The lines that a change touches, found in bytes that are held in any parts."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.text import content_compare
from handrail.core.text.content import Content
from handrail.core.text.content_compare import changed_line_numbers

lines = st.lists(st.text("ab", max_size=2), max_size=8)


def in_parts(text: str, sizes: list[int]) -> Content:
    data, parts = text.encode(), []
    for size in sizes:
        parts.append(memoryview(data)[:size])
        data = data[size:]
    return Content(*parts, data)


@given(lines, lines, lines, lines, st.lists(st.integers(0, 9), max_size=4))
def test_lines_outside_the_numbers_are_the_same(head, old, new, tail, sizes):
    before, after = ("\n".join([*head, *some, *tail]) for some in (old, new))
    size, content_compare._PIECE = content_compare._PIECE, 5
    try:
        found = changed_line_numbers(in_parts(before, sizes), in_parts(after, sizes[::-1]))
    finally:
        content_compare._PIECE = size

    assert found is not None
    first, last = found
    was, now = before.split("\n"), after.split("\n")
    left = was[last:]
    assert was[: first - 1] == now[: first - 1]
    assert before == after or not left or now[-len(left) :] == left


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("a\nb\nc\n", "a\nB\nc\n", (2, 2)),
        ("a\nb\nc\n", "a\nb\nnew\nc\n", (2, 3)),
        ("a\nb\nc\n", "new\na\nb\nc\n", (1, 1)),
        ("a\nb\nc\n", "A\nb\nC\n", (1, 3)),
    ],
)
def test_numbers_are_those_of_the_lines_before(before, after, found):
    assert changed_line_numbers(in_parts(before, [2]), in_parts(after, [3])) == found


def test_bytes_do_not_tell_lines_of_utf_16_apart():
    before, after = (Content(text.encode("utf-16")) for text in ("a\nb\n", "a\nB\n"))

    assert changed_line_numbers(before, after) is None
