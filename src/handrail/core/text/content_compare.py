"""Finds the lines of a large file that a change affects, without decoding or joining its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handrail.core.text.content import Content

_PIECE: Final = 1 << 16
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")


def changed_line_numbers(before: Content, after: Content) -> tuple[int, int] | None:
    """The first and last line of `before` that differ in `after`; for an insertion between two lines,
    these two lines. None if lines cannot be found in the bytes (UTF-16).
    """
    if next(_pieces(before), b"")[:2] in _WIDE:
        return None
    start = common_length(before, after)
    most = min(before.size, after.size) - start
    end = before.size - min(common_length(before, after, backwards=True), most)
    first = 1 + _count_newlines(before, 0, start)
    if start == end and (start == 0 or _count_newlines(before, start - 1, start)):
        return max(first - 1, 1), first
    # Includes the line after a removed line end: it may be joined to the line before it.
    return first, first + _count_newlines(before, start, end)


def _pieces(content: Content, *, backwards: bool = False) -> Iterator[bytes]:
    """Yield the bytes in pieces of equal size; the last piece may be shorter. `backwards` starts at the
    end.
    """
    kept = b""
    for part in reversed(content.parts) if backwards else content.parts:
        left = memoryview(part)
        while left:
            most = _PIECE - len(kept)
            if backwards:
                kept, left = left[-most:].tobytes() + kept, left[:-most]
            else:
                kept, left = kept + left[:most].tobytes(), left[most:]
            if len(kept) == _PIECE:
                yield kept
                kept = b""
    if kept:
        yield kept


def common_length(one: Content, two: Content, *, backwards: bool = False) -> int:
    """How many bytes two contents have in common at their beginning, or at their end."""
    total, step = 0, -1 if backwards else 1
    pairs = zip(_pieces(one, backwards=backwards), _pieces(two, backwards=backwards), strict=False)
    for mine, theirs in pairs:
        if mine != theirs:
            return total + _common_start(mine[::step], theirs[::step])
        total += len(mine)
    return total


def _common_start(one: bytes, two: bytes) -> int:
    low, high = 0, min(len(one), len(two))
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if one[:middle] == two[:middle] else (low, middle - 1)
    return low


def _count_newlines(content: Content, start: int, end: int) -> int:
    count = at = 0
    for piece in _pieces(content):
        if at >= end:
            break
        count += piece.count(b"\n", max(start - at, 0), end - at)
        at += len(piece)
    return count
