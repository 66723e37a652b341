r"""Matching lines in Python, in time linear to the text whatever the pattern.

The engine is RE2. It differs from ripgrep's where patterns are unusual: `\d \w \s \b` know
ASCII only, a repetition goes up to 1000, `\A` and `\z` mean the file and not the line, and a
lone CR never ends a line. Look-around and back-references exist in neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final, NamedTuple

from handrail.core.ports import GrepMode, GrepQuery
from handrail.host.search.decode import PIECE
from handrail.host.search.fallback.budget import Budget
from handrail.host.search.fallback.match_context import Span, line_end, lines_around
from handrail.host.search.limits import MAX_HITS
from handrail.host.search.query import bad_pattern, understands_crlf

_LINE_BREAK: Final = re.compile(r"(?<!\\)(?:\\\\)*\\n")


class Matched(NamedTuple):
    """What a file holds: how often the pattern matches, the lines to show, how it ended."""

    times: int
    lines: list[tuple[int, bool, str]]
    turned_binary: bool


# Linear is not fast: what a pattern takes follows its own length as well, and its groups.
_LONGEST: Final = 10_000
_MOST_GROUPS: Final = 100
_NOTHING: Final = Matched(0, [], turned_binary=False)


class Matcher:
    """A query's pattern, ready to be used on many files."""

    def __init__(self, query: GrepQuery) -> None:
        self._query = query
        self._pattern = _compile(query)
        self._crlf = understands_crlf(query)

    def match(self, data: bytes, budget: Budget) -> Matched:
        """What the text of one file holds; nothing if it is binary."""
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
            return Matched(len(lines), lines, turned_binary=nul >= 0 and bool(lines))
        found = islice(spans, 1) if mode is GrepMode.FILES else spans
        return Matched(sum(1 for _ in found), [], turned_binary=False)

    def _rows(self, data: bytes, budget: Budget) -> Iterator[Span]:
        """The lines that match, one by one."""
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
            yield Span(number, start, end)
            position, number = end + 1, number + 1

    def _groups(self, data: bytes, budget: Budget) -> Iterator[Span]:
        """The lines of each match; matches that share a line are one."""
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
                yield Span(group[0], group[1], line_end(data, group[2]))
            skipped = data.count(b"\n", seen, at)
            start = data.rfind(b"\n", seen, at) + 1 if skipped else start
            number, seen = number + skipped, at
            group = (number, start, last)
        if group is not None:
            yield Span(group[0], group[1], line_end(data, group[2]))


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
