"""What keys do to the line that is typed."""

import pytest

from handrail.cli.commands.agent import line_editor
from handrail.cli.commands.agent.line_editor import LineEditor


@pytest.mark.parametrize(
    ("keys", "text"),
    [
        ("abc", "abc"),
        ("abc\x7f", "ab"),
        ("abc\x1b[D\x1b[DX", "aXbc"),
        ("abc\x01\x1b[CX", "aXbc"),
        ("abc\x1b[CX", "abcX"),
        ("abc\x01\x1b[DX", "Xabc"),
        ("abc\x01\x7fX", "Xabc"),
        ("abc\x1b[3~X", "abcX"),
        ("abc\x1b[D\x04", "ab"),
        ("one\x17\x17X", "X"),
        ("a\tb", "a b"),
        ("abc\x1b[A", "abc"),
        ("abc\x01X\x05Y", "XabcY"),
        ("abc\x1b[H\x1b[3~", "bc"),
        ("one two  \x17", "one "),
        ("one two\x1b[D\x1b[D\x15", "wo"),
        ("one two\x1b[D\x1b[D\x0b", "one t"),
        ("a\x1b[24~b\x1bxc\x00", "abc"),
        ("zwölf 表示\x7f", "zwölf 表"),
        ("a\x1b[200~b\r\nc\x04\x1b[201~d", "ab\n\ncd"),
    ],
)
@pytest.mark.parametrize("chopping", [1, 2, 100])
def test_keys_edit_the_line(keys, text, chopping):
    editor, data = LineEditor(), keys.encode()
    entered = [
        line
        for at in range(0, len(data), chopping)
        for line in editor.feed(data[at : at + chopping])
    ]

    assert (entered, editor.text) == ([], text)


def test_lines_are_entered_recalled_and_input_ends():
    editor = LineEditor()

    assert editor.feed(b"one\rtwo\n") == ["one", "two"]
    assert editor.feed(b"\x1b[A\x1b[A") == []
    assert editor.text == "one"
    editor.feed(b"\x1b[B\x1b[B")
    assert editor.text == ""
    assert editor.feed(b"\x04") == [None]


def test_older_and_newer_lines_are_recalled_one_at_a_time():
    editor = LineEditor()
    editor.feed(b"one\rtwo\r \rthree\r")

    recalled = []
    for key in (b"\x1b[A",) * 4 + (b"\x1b[B",) * 3:
        editor.feed(key)
        recalled.append(editor.text)

    assert recalled == ["three", "two", "one", "one", "two", "three", ""]


def test_a_line_ends_at_its_limit(monkeypatch):
    monkeypatch.setattr(line_editor, "_MOST_CHARS", 3)
    editor = LineEditor()

    editor.feed(b"abcd\x7fe")

    assert editor.text == "abe"


@pytest.mark.parametrize(
    ("keys", "room", "shown", "column"),
    [
        ("abcde", 6, "abcde", 5),
        ("abcde", 5, "bcde", 4),
        ("abcde", 3, "de", 2),
        ("abcdef", 3, "ef", 2),
        ("abcde\x01", 5, "abcde", 0),
        ("abcde\x01", 4, "abcd", 0),
        ("abcde\x1b[D\x1b[D", 4, "abcd", 3),
        ("表示幅\x01", 4, "表示", 0),
        ("表示幅\x01", 5, "表示", 0),
        ("表示幅", 5, "示幅", 4),
        ("\x1b[200~a\rb\x1b[201~", 9, "a↵b", 3),
    ],
)
def test_the_part_of_the_line_around_the_cursor_is_shown(keys, room, shown, column):
    editor = LineEditor()
    editor.feed(keys.encode())

    assert editor.show(room) == (shown, column)


@pytest.mark.parametrize("room", [10, 40])
def test_the_cursor_is_always_in_the_shown_part(room):
    editor = LineEditor()
    editor.feed("an entry that is longer than the room 表示幅".encode())

    for _ in range(60):
        shown = editor.show(room)
        assert 0 <= shown.column < room
        assert len(shown.text) <= room
        editor.feed(b"\x1b[D")
    assert editor.show(room).column == 0
