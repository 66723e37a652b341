"""How many columns text takes on a screen, and folding it into rows of so many."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator


def cells(text: str) -> int:
    """How many columns the text takes; wide and combining characters counted as shown."""
    if text.isascii():
        return len(text)
    return sum(map(character_width, text))


def character_width(char: str) -> int:
    """How many columns one character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def rows(text: str, width: int) -> Iterator[str]:
    """Yield the lines of a text, folded to the width: after a space if there is one, otherwise
    inside the word. No character is dropped. A terminal that folds by itself begins the rest in
    its first column, where it could be taken for another line.
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
    """How many columns any terminal gives a character: they do not agree on symbols, on what
    is wide only among wide letters, and on marks that belong onto another letter.
    """
    if char.isascii():
        return 1
    wide = unicodedata.east_asian_width(char) in "WFA" or unicodedata.category(char) == "So"
    return 2 if wide else 1
