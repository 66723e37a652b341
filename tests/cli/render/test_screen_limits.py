"""Text on a screen: what fits, what is folded where, and what stands where there is no screen."""

import io

import pytest

from handrail.cli.render import screen
from handrail.cli.render.screen import TextStyle


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def columns(monkeypatch):
    """Sets the width of the screen; None: there is no screen."""

    def set_width(width):
        if width is None:
            monkeypatch.delenv("COLUMNS", raising=False)
        else:
            monkeypatch.setenv("COLUMNS", str(width))

    return set_width


@pytest.mark.parametrize(
    ("variables", "stream", "coloured"),
    [
        ({}, Terminal(), True),
        ({}, io.StringIO(), False),
        ({"NO_COLOR": "1"}, Terminal(), False),
        ({"NO_COLOR": ""}, Terminal(), True),
        ({"TERM": "dumb"}, Terminal(), False),
    ],
)
def test_colour_is_used_on_a_terminal_unless_it_is_unwanted(
    monkeypatch, variables, stream, coloured
):
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in variables.items():
        monkeypatch.setenv(name, value)

    assert screen.use_colour(stream) is coloured


def test_what_is_painted_on_a_terminal(monkeypatch):
    monkeypatch.setattr(screen, "use_colour", lambda: True)

    assert screen.paint("a", TextStyle.BAD) == "\x1b[31ma\x1b[0m"
    assert screen.paint("", TextStyle.BAD) == ""
    assert list(screen.colour_diff("-a\n--- a/x\n+++ b/x\n@@ 1 @@\n-a\n+b\n c")) == [
        "-a",
        "\x1b[1m--- a/x\x1b[0m",
        "\x1b[1m+++ b/x\x1b[0m",
        "\x1b[36m@@ 1 @@\x1b[0m",
        "\x1b[31m-a\x1b[0m",
        "\x1b[32m+b\x1b[0m",
        " c",
    ]


@pytest.mark.parametrize(("given", "width"), [(None, 120), (100, 100), (40, 40), (39, 40)])
def test_the_width_of_a_screen(columns, given, width):
    columns(given)

    assert screen.terminal_width() == width


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "ab…"),
        ("日本", 4, "日本"),
        ("日本語", 4, "日…"),
        ("日本語", 5, "日本…"),
        ("abcd", 1, "…"),
    ],
)
def test_text_is_shortened_only_if_it_does_not_fit(text, room, shown):
    assert screen.truncate(text, room) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("/a/b/c/d.py", "…/d.py"),
        ("see /a/b/c", "see /…"),
        ("x=/a/b/c", "x=/a/…"),
        ("abcdefgh", "abcde…"),
    ],
)
def test_of_a_path_the_beginning_is_left_out(text, shown):
    assert screen.truncate_path(text, 6) == shown


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 bytes"),
        (999, "999 bytes"),
        (1000, "1.0 kB"),
        (999_900, "999.9 kB"),
        (1_000_000, "1.0 MB"),
        (1_000_000_000, "1.0 GB"),
        (2_500_000_000_000, "2500.0 GB"),
    ],
)
def test_a_size_has_a_unit_that_fits(count, text):
    assert screen.format_size(count) == text


def test_a_noun_follows_its_number():
    assert [screen.count_noun(n, "call") for n in (0, 1, 2, 1000)] == [
        "0 calls",
        "1 call",
        "2 calls",
        "1,000 calls",
    ]


def test_a_time_for_programs_is_in_utc_with_milliseconds():
    assert screen.iso_utc(1_700_000_000_123_000_000) == "2023-11-14T22:13:20.123Z"
    assert screen.iso_utc(0) == "1970-01-01T00:00:00.000Z"


@pytest.mark.parametrize(("width", "length"), [(79, 8), (80, 19)])
def test_times_of_today_lose_their_date_on_a_narrow_screen(columns, width, length):
    import time

    columns(width)

    [shown] = screen.column_times([time.time_ns()])
    [old] = screen.column_times([0])

    assert len(shown) == length
    assert len(old) == 19


@pytest.mark.parametrize(
    ("line", "width", "rows"),
    [
        ("one two three", 13, ["one two three"]),
        ("one two three", 12, ["one two", "three"]),
        ("one two three", 7, ["one two", "three"]),
        ("one two three", 6, ["one", "two", "three"]),
        ("  one two three", 9, ["  one two", "    three"]),
        ("  a  one two three", 12, ["  a  one two", "     three"]),
        ("  abcd  one two", 12, ["  abcd  one", "        two"]),
        ("  abcde  one two", 12, ["  abcde", "    one two"]),
        ("  abcdefgh  one two", 12, ["  abcdefgh", "    one two"]),
        ("abcdefghijkl mn", 6, ["abcdefghijkl", "mn"]),
        ("\x1b[1mone\x1b[0m two three", 12, ["\x1b[1mone\x1b[0m two", "three"]),
        ("", 5, [""]),
    ],
)
def test_a_line_is_wrapped_between_words_and_keeps_its_columns(line, width, rows):
    assert screen.wrap_columns(line, width) == rows


@pytest.mark.parametrize(
    ("line", "width", "rows"),
    [
        ("abcdef", 6, ["abcdef"]),
        ("abcdefg", 6, ["ab", "    cd", "    ef", "    g"]),
        ("│ abcdef", 8, ["│ abcdef"]),
        ("│ abcdefg", 8, ["│ abcdef", "│ g"]),
    ],
)
def test_no_part_of_a_folded_line_begins_in_the_first_column(line, width, rows):
    assert screen.fold_line(line, width) == rows


def test_without_a_screen_a_line_stays_as_it_is(columns):
    columns(None)
    line = "word " * 60

    assert screen.wrap_columns(line) == [line]
    assert screen.fold_line(line) == [line]
    assert screen.fold_coloured(line) == [line]


def test_a_coloured_line_loses_its_colour_only_if_it_does_not_fit(columns):
    columns(40)
    fits, too_long = "\x1b[1m" + "a" * 40 + "\x1b[0m", "\x1b[1m" + "a" * 41 + "\x1b[0m"

    assert screen.fold_coloured(fits) == [fits]
    assert screen.fold_coloured(too_long) == ["a" * 36, "    " + "a" * 5]


@pytest.mark.parametrize(
    ("width", "lines"),
    [
        (40, ["A       B", "1       x", "333333  " + "y" * 32]),
        (47, ["A       B", "1       x", "333333  " + "y" * 39]),
        (48, ["A       B", "1       x", "333333  " + "y" * 40]),
    ],
)
def test_the_last_column_of_a_table_takes_the_rest(columns, width, lines):
    columns(width)
    rows = [["1", "x"], ["333333", "y" * 40]]

    shown = list(screen.table(rows, ["A", "B"]))

    expected = [
        one[: width - 1] + "…" if len(one) == width and width < 48 else one for one in lines
    ]
    assert shown == expected


def test_columns_that_do_not_fit_stand_on_lines_of_their_own(columns):
    columns(40)
    rows = [["a" * 30, "b" * 20, "c"], ["x", "y", ""]]

    assert list(screen.table(rows, ["A", "B", "C"])) == [
        "A",
        "    B                     C",
        "a" * 30,
        "    " + "b" * 20 + "  c",
        "x",
        "    y",
    ]


@pytest.mark.parametrize(
    ("text", "indent", "width", "lines"),
    [
        ("abc", "", 3, ["abc"]),
        ("abcd", "", 3, ["abc", "d"]),
        ("abc", "  ", 5, ["  abc"]),
        ("abc", "  ", 3, ["  a", "  b", "  c"]),
        ("abc", "  ", 2, ["  a", "  b", "  c"]),
        ("abc", "  ", 1, ["  a", "  b", "  c"]),
        ("a\n\nb", "> ", 10, ["> a", ">", "> b"]),
        ("a\n\nb", "  ", 10, ["  a", "  ", "  b"]),
    ],
)
def test_wrapped_text_has_room_for_one_column_at_least(text, indent, width, lines):
    assert list(screen.wrap(text, indent, width)) == lines


def test_text_is_wrapped_at_the_width_of_the_terminal(columns):
    columns(40)
    assert list(screen.wrap("a" * 19 + " " + "b" * 19, "  ")) == ["  " + "a" * 19, "  " + "b" * 19]
    assert len(list(screen.wrap("a" * 18 + " " + "b" * 19, "  "))) == 1
