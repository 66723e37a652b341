"""Edits that would join a line with the one above or below it, as a lost line feed does."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.tools._lib.byte_text import ByteText, Splice

# What may end a statement, and what may begin one: a line feed was between them.
_ENDS: Final = "_\"'`)]};:"
_BEGINS: Final = "_\"'`@#$<"


def joins_neighbours(old: str, new: str) -> bool:
    """Whether lines that stay would be joined with the lines above and below, which are not shown.

    A line feed before and after the old text alone comes from quoting it then.
    """
    before, after = old.strip("\r"), new.strip("\r")
    if before[:1] != "\n" or before[-1:] != "\n" or "\n" not in after.strip("\n"):
        return False
    kept = {line.strip() for line in before.split("\n")} - {""}
    return "\n" not in (after[0], after[-1]) and any(
        line.strip() in kept for line in after.split("\n")
    )


def joins_lines(file: ByteText, start: int, end: int, old: str, new: str) -> bool:
    """Whether only the old text has a line feed at its beginning or its end, and two lines of which
    each says something by itself would become one.

    A blank at the place in the new text says that they are to be joined.
    """
    if not new.strip():
        return False
    old, new = old.replace("\r\n", "\n"), new.replace("\r\n", "\n")
    if old[-1:] == "\n" != new[-1:] and _ends_line(new[-1]):
        stop = file.line_end(end) or len(file.data)
        below = file.shown(file.data[end:stop]).lstrip()
        if below and _begins_line(below[0]):
            return True
    if old[:1] == "\n" != new[:1] and _begins_line(new[0]):
        first = file.line_start(start) or 0
        above = file.shown(file.data[first:start])
        return bool(above.strip()) and _ends_line(above[-1])
    return False


def joins_any_lines(
    file: ByteText, splices: Sequence[Splice], old: str, new: str, *, more: bool
) -> bool:
    """Whether `joins_lines` is true of a splice, or, with `more`, of an occurrence of the same
    bytes after the last splice.

    Without a word in it, the old text is what separates lines: they are meant to be joined.
    """
    framed = old[:1] in ("\r", "\n") or old[-1:] == "\n"
    if not framed or not any(map(str.isalnum, old)):
        return False
    if any(joins_lines(file, one.start, one.end, old, new) for one in splices):
        return True
    last = splices[-1]
    before = file.data[last.start : last.end]
    at = file.find(before, last.end) if more else -1
    while at >= 0:
        end = at + len(before)
        if joins_lines(file, at, end, old, new):
            return True
        at = file.find(before, end)
    return False


def _ends_line(char: str) -> bool:
    # Some scripts are written without blanks between words.
    return (char.isascii() and char.isalnum()) or char in _ENDS


def _begins_line(char: str) -> bool:
    return (char.isascii() and char.isalnum()) or char in _BEGINS
