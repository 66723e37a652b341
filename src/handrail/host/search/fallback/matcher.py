r"""Matches lines in Python, in time linear in the size of the text for any pattern.

The engine is RE2. It differs from ripgrep's engine for unusual patterns: `\d \w \s \b` know ASCII
only, a repetition goes up to 1000, `\A` and `\z` mean the file and not the line, and a lone CR
never ends a line. Look-around and back-references exist in neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from handrail.core.ports.machine import GrepMode, GrepQuery
from handrail.host.search.decode import PIECE
from handrail.host.search.fallback.tree_walk import SearchBudget
from handrail.host.search.limits import MAX_HITS, MAX_LINE, cut_line
from handrail.host.search.results import bad_pattern, understands_crlf

# A line of more bytes has more characters than are shown.
_ENOUGH: Final = 4 * MAX_LINE + 4


class MatchSpan(NamedTuple):
    """The lines of a match: the number of the first, start and end offset."""

    number: int
    start: int
    end: int


def line_end(data: bytes, position: int) -> int:
    """Return the end of the line at a position, without its line break."""
    end = data.find(b"\n", position)
    return len(data) if end < 0 else end


def lines_around(
    data: bytes, spans: Iterable[MatchSpan], before: int, after: int
) -> Iterator[tuple[int, bool, str]]:
    """Return the lines to show: number, whether the line matched, text."""
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
    """The position of the next line that was not shown: its number and offset."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._number = 1
        self._at = 0

    def move(self, span: MatchSpan, before: int) -> None:
        """Move to `count` lines before a span, but never backwards."""
        number, at = span.number, span.start
        while before > 0 and at > self._at:
            at = max(self._at, self._data.rfind(b"\n", self._at, at - 1) + 1)
            number -= 1
            before -= 1
        self._number, self._at = number, at

    def take(
        self, most: int, until: int, *, matched: bool = False
    ) -> Iterator[tuple[int, bool, str]]:
        """Yield the lines from this position that begin before `until`."""
        while most > 0 and self._at < until:
            end = line_end(self._data, self._at)
            text = self._data[self._at : min(end, self._at + _ENOUGH)]
            yield self._number, matched, cut_line(text.decode("utf-8", "replace"))
            self._number, self._at = self._number + 1, end + 1
            most -= 1


_LINE_BREAK: Final = re.compile(r"(?<!\\)(?:\\\\)*\\n")


class FileMatches(NamedTuple):
    """The matches in a file: their number, the lines to show, and whether the file is binary."""

    times: int
    lines: list[tuple[int, bool, str]]
    turned_binary: bool


# Linear time can still be long: it also depends on the pattern's length and groups.
_LONGEST: Final = 10_000
_MOST_GROUPS: Final = 100
_NOTHING: Final = FileMatches(0, [], turned_binary=False)


class Matcher:
    """A query's compiled pattern."""

    def __init__(self, query: GrepQuery) -> None:
        self._query = query
        self._pattern = _compile(query)
        self._crlf = understands_crlf(query)

    def match(self, data: bytes, budget: SearchBudget) -> FileMatches:
        """Return the matches in the text of one file; none if the file is binary."""
        mode = self._query.mode
        nul = data.find(b"\0")
        if nul >= 0:
            if mode is GrepMode.COUNT:
                return _NOTHING
            data = data[: nul // PIECE * PIECE]
        if self._crlf:
            data = data.replace(b"\r\n", b"\n")
        spans = self._groups(data, budget) if self._query.multiline else self._rows(data, budget)
        if mode is GrepMode.CONTENT:
            around = lines_around(data, spans, self._query.before, self._query.after)
            lines = list(islice(around, MAX_HITS + 1))
            return FileMatches(len(lines), lines, turned_binary=nul >= 0 and bool(lines))
        found = islice(spans, 1) if mode is GrepMode.FILES else spans
        return FileMatches(sum(1 for _ in found), [], turned_binary=False)

    def _rows(self, data: bytes, budget: SearchBudget) -> Iterator[MatchSpan]:
        """Yield the matching lines one by one."""
        position, number = 0, 1
        while position < len(data) and not budget.over:
            found = self._pattern.search(data, position)
            if found is None or found.start() >= len(data):
                return
            at = found.start()
            skipped = data.count(b"\n", position, at)
            start = data.rfind(b"\n", position, at) + 1 if skipped else position
            number += skipped
            end = line_end(data, at)
            yield MatchSpan(number, start, end)
            position, number = end + 1, number + 1

    def _groups(self, data: bytes, budget: SearchBudget) -> Iterator[MatchSpan]:
        """Yield the lines of each match; matches that share a line are merged."""
        number, start, seen = 1, 0, 0
        group: tuple[int, int, int] | None = None
        for found in self._pattern.finditer(data):
            at, end = found.span()
            if at >= len(data) or budget.over:
                break
            last = max(at, end - 1)
            if group is not None and data.find(b"\n", group[2], at) < 0:
                group = (group[0], group[1], max(group[2], last))
                continue
            if group is not None:
                yield MatchSpan(group[0], group[1], line_end(data, group[2]))
            skipped = data.count(b"\n", seen, at)
            start = data.rfind(b"\n", seen, at) + 1 if skipped else start
            number, seen = number + skipped, at
            group = (number, start, last)
        if group is not None:
            yield MatchSpan(group[0], group[1], line_end(data, group[2]))


def _compile(query: GrepQuery) -> Any:
    # Imported here: RE2 costs milliseconds to import, and most processes never search in Python.
    import re2

    options = re2.Options()
    options.log_errors = False
    options.never_nl = not query.multiline
    options.case_sensitive = not query.ignore_case
    text = query.pattern
    if query.literal:
        text = re2.escape(text)
    elif not query.multiline and _LINE_BREAK.search(text):
        raise bad_pattern(query, 'the literal "\\n" is not allowed')
    flags = "(?ms)" if query.multiline else "(?m)"
    if len(text) > _LONGEST and not query.literal:
        raise bad_pattern(query, f"it is longer than {_LONGEST:,} letters")
    try:
        compiled = re2.compile((flags + text).encode(), options)
    except re2.error as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise bad_pattern(query, words.partition(": ")[0]) from error
    if compiled.groups > _MOST_GROUPS:
        raise bad_pattern(query, f"it has more than {_MOST_GROUPS} groups")
    return compiled
