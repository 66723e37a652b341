"""Bytes put in place of others: the new content, and the hunks that show the change.

Neither copies or decodes what stays the same, so an edit in 50 MB costs what a small one does.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.core.content import Buffer, Content
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
    """Splices of the first content that do what `earlier`, and on their result `later`, do."""
    splices = list(earlier)
    # From the back, so that positions further up stay valid.
    for splice in reversed(later):
        splices = _with(splices, splice)
    return tuple(splices)


def _with(splices: Sequence[Splice], later: Splice) -> list[Splice]:
    above: list[Splice] = []
    below: list[Splice] = []
    grown = 0
    start, end, new = later.start, later.end, later.new
    first = last = None
    for splice in splices:
        low = splice.start + grown
        high = low + len(splice.new)
        grown_after = grown + len(splice.new) - (splice.end - splice.start)
        if high < later.start:
            above.append(splice)
            grown = grown_after
        elif low > later.end:
            below.append(splice)
        else:
            new = splice.new[: max(later.start - low, 0)] + new
            new += splice.new[later.end - low :] if later.end < high else b""
            first = min(splice.start, later.start - grown) if first is None else first
            last = max(splice.end, later.end - grown_after)
            grown = grown_after
    start = later.start - grown if first is None else first
    end = later.end - grown if last is None else last
    return [*above, Splice(start, end, new), *below]


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
