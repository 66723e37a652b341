"""Which lines of a large file a change touches, found without decoding or joining its bytes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from handrail.core.text.content import Content

_PIECE: Final = 1 << 16
_WIDE: Final = (b"\xff\xfe", b"\xfe\xff")


def changed_line_numbers(before: Content, after: Content) -> tuple[int, int] | None:
    """The first and last line of `before` that differ in `after`; an insertion between two lines
    is given as both. None if bytes alone do not tell lines apart (UTF-16).
    """
    if next(_pieces(before), b"")[:2] in _WIDE:
        return None
    start = _count_common(before, after)
    most = min(before.size, after.size) - start
    end = before.size - min(_count_common(before, after, backwards=True), most)
    first = 1 + _count_newlines(before, 0, start)
    if start == end and (start == 0 or _count_newlines(before, start - 1, start)):
        return max(first - 1, 1), first
    # With the line after a line end that goes: it may be joined to what comes before.
    return first, first + _count_newlines(before, start, end)


def _pieces(content: Content, *, backwards: bool = False) -> Iterator[bytes]:
    """The bytes in pieces of one size, whatever parts they are held in; the last is shorter.
    `backwards` begins with the piece at the end.
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


def _count_common(one: Content, two: Content, *, backwards: bool = False) -> int:
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
