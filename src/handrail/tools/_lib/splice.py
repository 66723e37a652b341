"""Bytes put in place of others: the new content, and the hunks that show the change.

Neither copies or decodes what stays the same, so an edit in 50 MB costs what a small one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from typing import Final, NamedTuple

from handrail.core.text.content import Buffer, Content
from handrail.tools._lib.bytetext import ByteText
from handrail.tools._lib.diff import CONTEXT, MAX_SHOWN, Hunk, split_lines

# Beyond this many pieces one copy is cheaper than handing them on one by one.
_MAX_PARTS: Final = 64
# A line longer than this is shown only around the change.
_LONG: Final = 1_000
_AROUND: Final = 200


class Splice(NamedTuple):
    """Bytes `start` to `end` of a file become `new`."""

    start: int
    end: int
    new: bytes


def spliced(data: bytes, splices: Sequence[Splice]) -> Content:
    """The content after all splices, which are in order and do not overlap."""
    view = memoryview(data)
    parts: list[Buffer] = []
    at = 0
    for splice in splices:
        parts += (view[at : splice.start], splice.new)
        at = splice.end
    parts.append(view[at:])
    if len(parts) > _MAX_PARTS:
        return Content(b"".join(parts))
    return Content(*[part for part in parts if len(part)])


def composed(earlier: Sequence[Splice], later: Sequence[Splice]) -> tuple[Splice, ...]:
    """Splices of the first content that do what `earlier`, and on their result `later`, do.

    Both are in order. Splices that touch become one; the work is linear in their number.
    """
    result: list[Splice] = []
    grown = at = behind = 0
    while at < len(earlier) or behind < len(later):
        group = _Group(earlier, later, at, behind, grown)
        result += group.splices()
        at, behind, grown = group.at, group.behind, group.grown
    return tuple(result)


def composed_all(steps: Sequence[Sequence[Splice]]) -> tuple[Splice, ...]:
    """Splices of the first content that do what all steps do, each on the result of the last."""
    if not steps:
        return ()
    rest = list(steps)
    while len(rest) > 1:
        pairs = zip_longest(rest[::2], rest[1::2], fillvalue=())
        rest = [composed(one, two) if two else one for one, two in pairs]
    return tuple(rest[0])


class _Group:
    """Splices of two steps that overlap or touch, in positions between the two steps."""

    def __init__(
        self,
        earlier: Sequence[Splice],
        later: Sequence[Splice],
        at: int,
        behind: int,
        grown: int,
    ) -> None:
        starts = [earlier[at].start + grown] if at < len(earlier) else []
        starts += [later[behind].start] if behind < len(later) else []
        self._start = self._end = min(starts)
        self._grown_before = grown
        self.at, self.behind, self.grown = at, behind, grown
        self._pieces: list[tuple[int, Splice]] = []
        self._later: list[Splice] = []
        while self._take_earlier(earlier) or self._take_later(later):
            pass

    def splices(self) -> list[Splice]:
        """What the group does to the first content."""
        if not self._later:
            return [splice for _, splice in self._pieces]
        parts: list[bytes] = []
        position = self._start
        pieces = iter(self._pieces)
        piece = next(pieces, None)
        for splice in [*self._later, None]:
            stop = self._end if splice is None else splice.start
            while piece is not None:
                low, old = piece
                parts.append(old.new[max(position - low, 0) : max(stop - low, 0)])
                if low + len(old.new) > stop:
                    break
                piece = next(pieces, None)
            if splice is not None:
                parts.append(splice.new)
                position = splice.end
        start, end = self._start - self._grown_before, self._end - self.grown
        return [Splice(start, end, b"".join(parts))]

    def _take_earlier(self, earlier: Sequence[Splice]) -> bool:
        if self.at >= len(earlier) or earlier[self.at].start + self.grown > self._end:
            return False
        splice = earlier[self.at]
        low = splice.start + self.grown
        self._pieces.append((low, splice))
        self._end = max(self._end, low + len(splice.new))
        self.grown += len(splice.new) - (splice.end - splice.start)
        self.at += 1
        return True

    def _take_later(self, later: Sequence[Splice]) -> bool:
        if self.behind >= len(later) or later[self.behind].start > self._end:
            return False
        self._later.append(later[self.behind])
        self._end = max(self._end, later[self.behind].end)
        self.behind += 1
        return True


def hunks_of(file: ByteText, splices: Sequence[Splice], line: int) -> list[Hunk]:
    """What the first few hundred splices change, with some lines around them.

    `line` is the number of the line in which the first splice begins.
    """
    hunks: list[Hunk] = []
    grown = seen = 0
    for group, low, high in _blocks(file, splices[:MAX_SHOWN]):
        if hunks:
            line += file.lines_between(seen, low.at)
        else:
            line -= file.lines_between(low.at, group[0].start)
        seen = low.at
        before = _shown_lines(file, file.data[low.at : high.at], low, high)
        after = _shown_lines(file, _after(file.data, group, low.at, high.at), low, high)
        hunks.append(Hunk(before, after, line, line + grown))
        grown += len(after) - len(before)
    return hunks


class _Edge(NamedTuple):
    at: int
    clipped: bool


_Block = tuple[list[Splice], _Edge, _Edge]


def _blocks(file: ByteText, splices: Sequence[Splice]) -> list[_Block]:
    blocks: list[_Block] = []
    for splice in splices:
        low, high = _upper_edge(file, splice.start), _lower_edge(file, splice.end)
        if blocks and low.at < blocks[-1][2].at:
            group, first, _ = blocks[-1]
            group.append(splice)
            blocks[-1] = (group, first, high)
        else:
            blocks.append(([splice], low, high))
    return blocks


def _upper_edge(file: ByteText, position: int) -> _Edge:
    start = file.line_start(position, position - _LONG)
    if start is None:
        cut = position - _AROUND
        return _Edge(cut - cut % file.width, clipped=True)
    for _ in range(CONTEXT):
        above = file.line_start(start - file.width, start - _LONG) if start else None
        if above is None:
            break
        start = above
    return _Edge(start, clipped=False)


def _lower_edge(file: ByteText, position: int) -> _Edge:
    if position >= file.width and file.data.startswith(file.lf, position - file.width):
        end: int | None = position
    else:
        end = file.line_end(position, position + _LONG)
    if end is None:
        cut = position + _AROUND
        return _Edge(cut - cut % file.width, clipped=True)
    for _ in range(CONTEXT):
        below = file.line_end(end, end + _LONG)
        if below is None:
            break
        end = below
    return _Edge(end, clipped=False)


def _after(data: bytes, group: Sequence[Splice], low: int, high: int) -> bytes:
    parts: list[bytes] = []
    at = low
    for splice in group:
        parts += (data[at : splice.start], splice.new)
        at = splice.end
    return b"".join([*parts, data[at:high]])


def _shown_lines(file: ByteText, data: bytes, low: _Edge, high: _Edge) -> list[str]:
    text = file.shown(data)
    if low.clipped:
        text = "…" + text
    if high.clipped:
        text += "…\n"
    return split_lines(text)
