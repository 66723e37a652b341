"""Which errors are new. Line numbers do not count: an edit above moves all of them.

A file that was broken before is not blamed on the change: most parsers stop at the first
error, so one that shows up later may have been there all along.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.syntax import SyntaxFault
from handrail.host.syntax.source import Source

_NUMBER: Final = re.compile(r"\d+")
_Near = tuple[str, str, str]


def new_faults(
    old: Sequence[SyntaxFault], before: Source, now: Sequence[SyntaxFault], after: Source
) -> list[SyntaxFault]:
    """The errors of `after` that `before`, with its own errors, does not explain."""
    if not old:
        return list(now)
    known = Counter(map(_what, old))
    places = set(_all_places(before))
    fresh: list[SyntaxFault] = []
    for fault in now:
        if known[_what(fault)]:
            known[_what(fault)] -= 1
        elif _place(after, fault.line) not in places:
            fresh.append(fault)
    return fresh


def _what(fault: SyntaxFault) -> tuple[str, str]:
    return _NUMBER.sub("0", fault.message), fault.text


def _place(source: Source, line: int) -> _Near:
    return source.line(line - 1), source.line(line), source.line(line + 1)


def _all_places(source: Source) -> Iterator[_Near]:
    lines = ["", *(source.line(number) for number in range(1, len(source.lines) + 1)), ""]
    yield from zip(lines, lines[1:], lines[2:], strict=False)
