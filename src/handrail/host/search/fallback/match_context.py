"""The lines of matches with the lines around them, each once and in order.

Works on positions in the text: a file of a hundred million lines is never split.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from handrail.host.search.limits import MAX_LINE, cut_line

# More bytes than this are more characters than we show, whatever they are.
_ENOUGH: Final = 4 * MAX_LINE + 4


class Span(NamedTuple):
    """The lines of a match: the number of the first, and where they begin and end in the text."""

    number: int
    start: int
    end: int


def line_end(data: bytes, position: int) -> int:
    """Where the line that holds a position ends, without its line break."""
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end


def lines_around(
    data: bytes, spans: Iterable[Span], before: int, after: int
) -> Iterator[tuple[int, bool, str]]:
    """The lines to show: number, whether it matched, text."""
    cursor = _Cursor(data)
    owed = 0
    for span in spans:
        yield from cursor.take(owed, span.start)
        cursor.move(span, before)
        yield from cursor.take(before, span.start)
        yield from cursor.take(len(data), span.end + 1, matched=True)
        owed = after
    yield from cursor.take(owed, len(data))


class _Cursor:
    """The next line that was not shown yet: its number and where it begins."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._number = 1
        self._at = 0

    def move(self, span: Span, before: int) -> None:
        """Go to so many lines before a span, or to where we are if that is nearer."""
        number, at = span.number, span.start
        while before > 0 and at > self._at:
            at = max(self._at, self._data.rfind(b"\n", self._at, at - 1) + 1)
            number -= 1
            before -= 1
        self._number, self._at = number, at

    def take(
        self, most: int, until: int, *, matched: bool = False
    ) -> Iterator[tuple[int, bool, str]]:
        """Lines from here on that begin before a position."""
        while most > 0 and self._at < until:
            end = line_end(self._data, self._at)
            text = self._data[self._at : min(end, self._at + _ENOUGH)]
            yield self._number, matched, cut_line(text.decode("utf-8", "replace"))
            self._number, self._at = self._number + 1, end + 1
            most -= 1
