"""The width of text on a terminal, and wrapping of text to a width."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator


def cells(text: str) -> int:
    """How many columns the text takes, with wide and combining characters."""
    if text.isascii():
        return len(text)
    return sum(map(character_width, text))


def character_width(char: str) -> int:
    """How many columns one character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def rows(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, wrapped to the width: after a space if there is one, otherwise inside
    the word. No character is dropped. If the terminal wrapped a line itself, the rest would start in the
    first column and look like another line.
    """
    for line in text.expandtabs(8).split("\n"):
        yield from _folded(line, width)


def _folded(line: str, width: int) -> Iterator[str]:
    start = used = 0
    for at, char in enumerate(line):
        used += most_columns(char)
        if used > width:
            space = line.rfind(" ", start, at) + 1
            end = space if space and line[start:space].strip() else at
            yield line[start:end]
            start, used = end, sum(map(most_columns, line[end : at + 1]))
    yield line[start:]


def most_columns(char: str) -> int:
    """The largest number of columns that any terminal uses for a character. Terminals disagree on
    symbols, on characters of ambiguous width, and on combining marks.
    """
    if char.isascii():
        return 1
    wide = unicodedata.east_asian_width(char) in "WFA" or unicodedata.category(char) == "So"
    return 2 if wide else 1
