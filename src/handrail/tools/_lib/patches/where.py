"""What an `@@` line says about where its hunk belongs."""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from handrail.tools._lib.patches.model import malformed

_RANGES: Final = re.compile(
    r"@@\s*-(\d{1,9})(?:,(\d{1,9}))?\s+\+(\d{1,9})(?:,(\d{1,9}))?\s*(?:@@(?P<heading>.*))?$"
)
_ONE_LINE: Final = re.compile(r"(?:lines?\s*)?[-+]?(\d{1,9})(?:\s*[-,]\s*\d{1,9})?", re.IGNORECASE)
# `...`, `… existing code …`, or signs only: a place is left open, not named.
_PLACEHOLDER: Final = re.compile(r"[\W_]*|(?:\.{3}|…).*(?:\.{3}|…)")

# Not inside a word: `@@total` is a name in some languages.
_SEPARATOR: Final = re.compile(r"(?:^|\s)@@(?:\s|$)")


class Where(NamedTuple):
    """Line and counts as written, None where there are none; see `Hunk` for the words."""

    line: int | None = None
    old_count: int | None = None
    new_count: int | None = None
    anchors: tuple[str, ...] = ()
    heading: str = ""


def where(text: str) -> Where:
    """Read an `@@` line."""
    if text.startswith("@@@"):
        raise malformed(
            "the patch is a combined diff of a merge, which says nothing about one old file",
            "send a diff against one version",
        )
    ranges = _RANGES.match(text)
    if ranges is not None:
        line, old, _, new = ranges.groups()[:4]
        heading = (ranges["heading"] or "").strip()
        return Where(int(line), _count(old), _count(new), heading=heading)
    inner = text[2:].strip().removesuffix("@@")
    words = [part.strip() for part in _SEPARATOR.split(inner)]
    named = tuple([word for word in words if not _PLACEHOLDER.fullmatch(word)])
    if len(named) == 1 and (number := _ONE_LINE.fullmatch(named[0])):
        return Where(int(number[1]))
    return Where(anchors=named)


def _count(text: str | None) -> int:
    return 1 if text is None else int(text)
