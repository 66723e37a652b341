"""The positions of lines: where newlines are, which lines are taken, and what is remembered."""

import os

import pytest

from handrail.core.text.encoding import TextForm
from handrail.host.files.line_index import (
    BLOCK,
    BUDGET,
    LONGEST_LINE,
    IndexClosed,
    LineIndex,
    NewlineScanner,
    UnreadableHole,
    split_lines,
)

UTF8 = TextForm("utf-8")
LE, BE = TextForm("utf-16-le"), TextForm("utf-16-be")


@pytest.mark.parametrize("form", [UTF8, LE, BE])
def test_newlines_are_counted_and_found(form):
    scanner, data = NewlineScanner(form), form.encode("ab\nc\n\nd")

    assert scanner.count(data, 0, len(data)) == 3
    assert scanner.count(data, 3 * form.unit, len(data)) == 2
    assert [scanner.after(data, nth) // form.unit for nth in range(4)] == [0, 3, 5, 6]


@pytest.mark.parametrize("form", [LE, BE])
def test_the_bytes_of_a_newline_across_two_characters_are_none(form):
    # U+0A41 and U+0100, U+410A and U+0001: 0A 00 stands between two characters.
    data = form.encode("\u0a41\u0100\u410a\u0001\u0a00\u000ax\n")
    scanner = NewlineScanner(form)

    assert scanner.count(data, 0, len(data)) == 2
    assert scanner.after(data, 1) == 12
    assert scanner.after(data, 2) == len(data)


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("", []),
        ("a", ["a"]),
        ("a\n", ["a"]),
        ("a\n\nb", ["a", "", "b"]),
        ("a\r\nb\r", ["a", "b\r"]),
        ("a\rb\n", ["a\rb"]),
        ("\n", [""]),
    ],
)
def test_lines_end_with_lf_or_cr_lf(text, lines):
    assert split_lines(text) == lines


@pytest.mark.parametrize("width", [1, 9, 700, BLOCK - 1, BLOCK, BLOCK + 1])
def test_the_lines_that_were_asked_for_are_taken(opened, width):
    number = max(3 * 17 * BLOCK // (width + 1), 40)
    lines = [b"%0*d\n" % (width, at % 10) for at in range(number)]
    data = b"".join(lines)
    handle, index = opened(data), LineIndex(UTF8)
    for first, count in [(1, 2), (number // 2, 3), (number, 1), (number - 1, 5), (2, 1), (1, 1)]:
        taken = index.take(handle, first, count)

        assert taken.raw == b"".join(lines[first - 1 : first - 1 + count])
        assert taken.start == len(data[: (first - 1) * (width + 1)])
        assert not taken.cut


@pytest.mark.parametrize(
    ("data", "total"),
    [
        (b"a\nb\n", 2),
        (b"a\nb", 2),
        (b"", 0),
        (b"\n", 1),
        (b"a" * 16 * BLOCK, 1),
        (b"\n" * 16 * BLOCK, 16 * BLOCK),
    ],
)
def test_the_number_of_lines_is_known_after_the_end_was_read(opened, data, total):
    index = LineIndex(UTF8)
    assert index.total is None

    beyond = index.take(opened(data), total + 5, 1)

    assert beyond.raw == b""
    assert (beyond.start, beyond.cut) == (0, False)
    assert index.total == total


def test_a_mark_at_the_start_is_no_line(opened):
    form = TextForm("utf-8", b"\xef\xbb\xbf")
    empty, one = LineIndex(form), LineIndex(form)

    empty.take(opened(b"\xef\xbb\xbf"), 5, 1)
    one.take(opened(b"\xef\xbb\xbfa"), 5, 1)

    assert (empty.total, one.total) == (0, 1)


def test_no_lines_are_nothing(opened):
    assert LineIndex(UTF8).take(opened(b"a\nb\n"), 1, 0).raw == b""


def test_a_line_longer_than_the_budget_is_cut(opened):
    taken = LineIndex(UTF8).take(opened(b"a\n" + b"x" * (BUDGET + 5 * BLOCK)), 2, 1)

    assert taken == (2, b"x" * LONGEST_LINE, True)


def test_lines_within_the_budget_are_whole(opened):
    line = b"x" * 999 + b"\n"
    taken = LineIndex(UTF8).take(opened(line * 3000), 1, 3000)

    assert not taken.cut
    assert BUDGET - len(line) < len(taken.raw) <= BUDGET + BLOCK
    assert len(taken.raw) % len(line) == 0


def test_the_last_line_may_have_no_end(opened):
    handle = opened(b"a\nb")

    assert LineIndex(UTF8).take(handle, 2, 1) == (2, b"b", False)
    assert LineIndex(UTF8).take(handle, 1, 9) == (0, b"a\nb", False)
    assert LineIndex(UTF8).take(handle, 3, 1).raw == b""


def test_counting_can_be_stopped_and_goes_on_from_there(opened):
    handle, index = opened(b"a\n" * 20 * BLOCK), LineIndex(UTF8)

    with pytest.raises(IndexClosed):
        index.take(handle, 5, 1, lambda: True)
    assert index.take(handle, 20 * BLOCK, 1, lambda: False).raw == b"a\n"
    # What is known already needs no counting.
    assert index.take(handle, 7, 1, lambda: True).raw == b"a\n"


def test_a_file_that_became_shorter_is_an_error(opened, tmp_path):
    handle, index = opened(b"a\n" * BLOCK), LineIndex(UTF8)
    index.take(handle, BLOCK, 1)
    os.truncate(tmp_path / "file0", 10)

    with pytest.raises(ValueError):
        index.take(handle, BLOCK, 1)


def test_a_hole_ends_counting(opened, tmp_path):
    handle = opened(b"a\n" * 10)
    os.truncate(tmp_path / "file0", 100 * 16 * BLOCK)
    index = LineIndex(UTF8)

    assert index.take(handle, 3, 2).raw == b"a\na\n"
    with pytest.raises(UnreadableHole):
        index.take(handle, 20, 1)
    assert index.total is None
