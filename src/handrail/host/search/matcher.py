r"""Matching lines in Python, in time linear to the text whatever the pattern.

The engine is RE2. It differs from ripgrep's where patterns are unusual: `\d \w \s \b` know
ASCII only, a repetition goes up to 1000, `\A` and `\z` mean the file and not the line, and a
lone CR never ends a line. Look-around and back-references exist in neither.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Any, Final, NamedTuple

from handrail.core.ports import GrepMode, GrepQuery
from handrail.host.search.budget import Budget
from handrail.host.search.decode import PIECE
from handrail.host.search.limits import cut_line
from handrail.host.search.query import bad_pattern, understands_crlf

_LINE_BREAK: Final = re.compile(r"(?<!\\)(?:\\\\)*\\n")


class Matched(NamedTuple):
    """What a file holds: how often the pattern matches, the lines to show, how it ended."""

    times: int
    lines: list[tuple[int, bool, str]]
    turned_binary: bool


_NOTHING: Final = Matched(0, [], turned_binary=False)


class Matcher:
    """A query's pattern, ready to be used on many files."""

    def __init__(self, query: GrepQuery) -> None:
        self._query = query
        self._pattern = _compile(query)
        self._crlf = understands_crlf(query)

    def match(self, data: bytes, budget: Budget) -> Matched:
        """What the text of one file holds; nothing if it is binary."""
        nul = data.find(b"\0")
        if nul >= 0:
            if self._query.mode is GrepMode.COUNT:
                return _NOTHING
            data = data[: nul // PIECE * PIECE]
        if self._crlf:
            data = data.replace(b"\r\n", b"\n")
        found = self._find(data, budget)
        first = next(found, None)
        if first is None:
            return _NOTHING
        if self._query.mode is GrepMode.FILES:
            return Matched(1, [], turned_binary=False)
        spans = [first, *found]
        if self._query.mode is GrepMode.COUNT:
            return Matched(len(spans), [], turned_binary=False)
        return Matched(len(spans), self._around(data, spans), turned_binary=nul >= 0)

    def _find(self, data: bytes, budget: Budget) -> Iterator[range]:
        return self._groups(data, budget) if self._query.multiline else self._rows(data, budget)

    def _rows(self, data: bytes, budget: Budget) -> Iterator[range]:
        """The indexes of the lines that match, one by one."""
        position = number = 0
        while position < len(data) and not budget.over:
            found = self._pattern.search(data, position)
            if found is None or found.start() >= len(data):
                return
            number += data.count(b"\n", position, found.start())
            yield range(number, number + 1)
            end = data.find(b"\n", found.start())
            if end < 0:
                return
            position, number = end + 1, number + 1

    def _groups(self, data: bytes, budget: Budget) -> Iterator[range]:
        """The lines of each match; matches that share a line are one."""
        starts = _line_starts(data)
        group: range | None = None
        for found in self._pattern.finditer(data):
            start, end = found.span()
            if start >= len(data) or budget.over:
                break
            rows = range(_line_of(starts, start), _line_of(starts, max(start, end - 1)) + 1)
            if group is not None and rows.start < group.stop:
                group = range(group.start, max(group.stop, rows.stop))
                continue
            if group is not None:
                yield group
            group = rows
        if group is not None:
            yield group

    def _around(self, data: bytes, spans: list[range]) -> list[tuple[int, bool, str]]:
        rows = data.split(b"\n")
        if not rows[-1]:
            rows.pop()
        matched = {index for span in spans for index in span}
        shown = {
            index
            for span in spans
            for index in range(span.start - self._query.before, span.stop + self._query.after)
            if 0 <= index < len(rows)
        }
        return [
            (index + 1, index in matched, cut_line(rows[index].decode("utf-8", "replace")))
            for index in sorted(shown)
        ]


def _compile(query: GrepQuery) -> Any:
    # Imported here: it costs milliseconds, and most processes never search in Python.
    import re2  # noqa: PLC0415

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
    try:
        return re2.compile((flags + text).encode(), options)
    except re2.error as error:
        reason = error.args[0]
        words = reason.decode("utf-8", "replace") if isinstance(reason, bytes) else str(reason)
        raise bad_pattern(query, words.partition(": ")[0]) from error


def _line_starts(data: bytes) -> list[int]:
    lengths = (len(line) + 1 for line in data.split(b"\n")[:-1])
    return [0, *accumulate(lengths)]


def _line_of(starts: list[int], position: int) -> int:
    return bisect_right(starts, position) - 1
