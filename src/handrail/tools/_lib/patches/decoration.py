"""Decoration that models put around the `***` lines of a patch, and quote marks before all lines.

A `***` line is recognised with the same decoration as the first one, or with none. A line that
is part of a file keeps its mark (`+`, `-` or a blank), so the two cannot be confused.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Final

# Stars, then the words; what may stand before them is a quote mark, a heading, a comment, the
# sign of a list, or the beginning of code or bold text.
_MARK: Final = re.compile(
    r"(?P<lead>[ \t]*(?:(?:>|#{1,6}|//|[*•]|\d{1,3}\.)[ \t]+)*[`_*]*?)"
    r"\*{3}[ \t]*"
    r"(?:(?P<fixed>begin patch|end patch|end of file)(?:[ \t]*:)?"
    r"|(?P<verb>\w+ file|move to)(?P<colon>:|(?=[ \t]))[ \t`*]*(?P<name>.*?))"
    r"[ \t`*]*",
    re.IGNORECASE,
)
_FIXED: Final = {
    "begin patch": "*** Begin Patch",
    "end patch": "*** End Patch",
    "end of file": "*** End of File",
}
_VERBS: Final = ("add file", "update file", "delete file", "move to")
_UNIFIED: Final = re.compile(r"diff --git |@@|--- |\+\+\+ ")
_QUOTE: Final = re.compile(r"[ \t]*>[ ]?")


def remove_decoration(lines: Sequence[str]) -> list[str]:
    """The lines with every `***` line in its plain spelling; a unified diff as it is."""
    found = [_MARK.fullmatch(line) for line in lines]
    at = next((at for at, mark in enumerate(found) if mark and _opens_patch(mark)), len(lines))
    first = found[at] if at < len(lines) else None
    if first is None or any(_UNIFIED.match(line) for line in lines[:at]):
        return list(lines)
    allowed = ("", first["lead"])
    return [
        _plain(mark) if mark is not None and mark["lead"] in allowed else line
        for line, mark in zip(lines, found, strict=True)
    ]


def remove_quote_marks(
    lines: Sequence[str], starts: Callable[[Sequence[str], int], bool]
) -> list[str]:
    """The lines without the `>` before each, if a patch begins behind one and all go on so.

    `starts` tells whether a patch begins at a line.
    """
    bare = [_QUOTE.sub("", line, count=1) for line in lines]
    quoted = [_QUOTE.match(line) is not None for line in lines]
    first = next((at for at in range(len(lines)) if quoted[at] and starts(bare, at)), None)
    if first is None:
        return list(lines)
    end = next((at for at in range(first, len(lines)) if not quoted[at]), len(lines))
    if any(line.strip() for line in lines[end:]):
        return list(lines)
    return bare[first:end]


def _opens_patch(mark: re.Match[str]) -> bool:
    return (mark["fixed"] or "").lower() == "begin patch" or mark["verb"] is not None


def _plain(mark: re.Match[str]) -> str:
    if mark["fixed"]:
        return _FIXED[mark["fixed"].lower()]
    verb = mark["verb"].lower()
    if verb not in _VERBS and not mark["colon"]:
        return mark[0]
    words = "Move to" if verb == "move to" else verb.title()
    return f"*** {words}: {mark['name']}"
