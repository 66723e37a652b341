"""How wide text is on a terminal, and how it is wrapped."""

import pytest

from handrail.core.text.columns import cells, character_width, most_columns, rows


@pytest.mark.parametrize(
    ("text", "width"),
    [("", 0), ("abc", 3), ("\u00e9", 1), ("e\u0301", 1), ("\u4f60\u597d", 4), ("a\uff21b", 4)],
)
def test_the_width_of_text(text, width):
    assert cells(text) == width


@pytest.mark.parametrize(("char", "width"), [("a", 1), ("\u0301", 0), ("\u4f60", 2), ("\u00b1", 1)])
def test_the_width_of_a_character(char, width):
    assert character_width(char) == width


@pytest.mark.parametrize(
    ("char", "width"),
    [
        ("a", 1),
        ("\u00ee", 1),
        ("\u0439", 2),
        ("\u00b1", 2),
        ("\u4f60", 2),
        ("\u2713", 2),
        ("\u0301", 2),
    ],
)
def test_the_most_that_a_terminal_uses(char, width):
    assert most_columns(char) == width


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [
        ("", 5, [""]),
        ("abcde", 5, ["abcde"]),
        ("abcdef", 5, ["abcde", "f"]),
        ("abc def", 5, ["abc ", "def"]),
        ("abc def ghi", 7, ["abc ", "def ghi"]),
        ("abcd efghijk", 5, ["abcd ", "efghi", "jk"]),
        ("      abc", 5, ["     ", " abc"]),
        (" abcdef", 5, [" abcd", "ef"]),
        ("a\nb", 5, ["a", "b"]),
        ("a\n\nb\n", 5, ["a", "", "b", ""]),
        ("\ta", 20, ["        a"]),
        ("\u4f60\u597d\u4e16", 4, ["\u4f60\u597d", "\u4e16"]),
        ("a\u4f60\u597d", 4, ["a\u4f60", "\u597d"]),
        ("aa bb cc dd", 5, ["aa ", "bb ", "cc dd"]),
    ],
)
def test_text_is_wrapped_after_a_space_or_inside_a_word(text, width, expected):
    assert list(rows(text, width)) == expected
    assert "".join(rows(text, width)) == text.replace("\t", " " * 8).replace("\n", "")
