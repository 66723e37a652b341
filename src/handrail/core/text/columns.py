"""How many columns text takes on a screen, and folding it into rows of so many."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator


def cells(text: str) -> int:
    """How many columns the text takes; wide and combining characters counted as shown."""
    if text.isascii():
        return len(text)
    return sum(map(cells_of, text))


def cells_of(char: str) -> int:
    """How many columns one character takes."""
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def rows(text: str, width: int) -> Iterator[str]:
    """The lines of a text, each folded where it would leave the width: a terminal that folds
    by itself begins the rest in its first column, where it could be taken for another line.
    """
    for line in text.expandtabs(8).split("\n"):
        yield from _folded(line, width)


def _folded(line: str, width: int) -> Iterator[str]:
    start = used = 0
    for at, char in enumerate(line):
        used += _at_most(char)
        if used > width:
            yield line[start:at]
            start, used = at, _at_most(char)
    yield line[start:]


def _at_most(char: str) -> int:
    """How many columns any terminal gives a character: they do not agree on symbols, on what
    is wide only among wide letters, and on marks that belong onto another letter.
    """
    if char.isascii():
        return 1
    wide = unicodedata.east_asian_width(char) in "WFA" or unicodedata.category(char) == "So"
    return 2 if wide else 1
