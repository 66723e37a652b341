import time

import pytest

from handrail.cli.render import screen


def test_nothing_is_painted_where_nobody_looks(capsys):
    assert screen.paint("x", screen.TextStyle.BAD) == "x"


@pytest.mark.parametrize(
    ("text", "room", "shown"),
    [
        ("short", 5, "short"),
        ("longer", 5, "long…"),
        ("日本語", 6, "日本語"),
        ("日本語", 5, "日本…"),
        ("e\u0301e\u0301", 2, "e\u0301e\u0301"),
    ],
)
def test_text_is_cut_by_the_columns_it_takes(text, room, shown):
    assert screen.truncate(text, room) == shown
    assert screen.cells(screen.truncate(text, room)) <= room


def test_a_table_fits_its_width(monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    rows = [("a", "x" * 200), ("日本", "y")]

    lines = list(screen.table(rows, ("NAME", "TEXT")))

    assert lines[0] == "NAME  TEXT"
    assert lines[1] == "a     " + "x" * 53 + "…"
    assert lines[2] == "日本  y"


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, "0 bytes"), (999, "999 bytes"), (1500, "1.5 kB"), (2_500_000, "2.5 MB"), (3e9, "3.0 GB")],
)
def test_sizes_are_told_in_words(count, words):
    assert screen.format_size(count) == words


def test_moments_of_today_need_no_date():
    now = time.time_ns()

    assert [len(text) for text in screen.format_times([now, now])] == [8, 8]
    assert [len(text) for text in screen.format_times([now, now - 3 * 86_400 * 10**9])] == [19, 19]


def test_folded_text_is_safe_and_stays_behind_its_indent(monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")

    lines = list(screen.wrap("a \x1b[2J " + "word " * 20, "  "))

    assert len(lines) > 1
    assert all(line.startswith("  ") and len(line) <= 40 for line in lines)
    assert "\x1b" not in "".join(lines)


def test_on_a_narrow_terminal_the_last_column_gets_lines_of_its_own(monkeypatch):
    monkeypatch.setenv("COLUMNS", "48")
    rows = [("06:13:39", "a" * 30, "folder/b.txt"), ("06:13:40", "c", "")]

    lines = list(screen.table(rows, ("TIME", "CALL", "FILE")))

    assert lines == [
        "TIME      CALL",
        "    FILE",
        "06:13:39  " + "a" * 30,
        "    folder/b.txt",
        "06:13:40  c",
    ]


def test_of_a_long_path_the_end_is_shown():
    assert screen.truncate_path("some/long/folder/name.py", 12) == "…der/name.py"
    assert screen.truncate_path("path=some/long/folder/name.py", 12) == "path=some/l…"


@pytest.mark.parametrize("width", [48, 80])
@pytest.mark.parametrize("word", ["x" * 75 + "verified", "検" * 90, "\u2800" * 60 + "verified"])
def test_no_part_of_a_long_word_begins_before_the_indent(word, width):
    rows = list(screen.wrap(f"no tool named {word}", "  ", width))

    assert len(rows) > 1
    assert all(row.startswith("  ") and screen.cells(row) <= width for row in rows)
    assert "\u2800" not in "".join(rows)
