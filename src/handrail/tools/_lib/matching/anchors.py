"""Which places lie beneath the lines that a hunk names above itself."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.candidates import Candidate, Tier
from handrail.tools._lib.matching.indents import indent_of
from handrail.tools._lib.matching.keys import canonical, squeeze
from handrail.tools._lib.matching.lines import FileLines

_SHOWN: Final = 5
_HEADING: Final = re.compile(r"(#{1,6}) ")


def beneath(
    file: FileLines, found: Sequence[Candidate] | None, anchors: Sequence[str]
) -> list[Candidate]:
    """The candidates below the last anchor; `no_match` if an anchor is not in the file.

    Where several are, those inside what the anchor opens win. With None for candidates, the
    places right below the anchor itself.
    """
    wanted = [anchor for anchor in anchors if anchor.strip()]
    if not wanted:
        return list(found or ())
    one_place = found is not None and len({one.first for one in found}) < 2
    lines = _anchored(file, wanted, one_place=one_place)
    if found is None:
        return [Candidate(Tier.EXACT, (line + 1,)) for line in lines]
    below = [one for one in found if any(line <= one.first for line in lines)]
    if one_place:
        return below
    within = [
        one
        for one in below
        if any(line <= one.first and inside(file, line, one.first) for line in lines)
    ]
    if below and not within and any(_opens(file, line) for line in lines):
        # What the anchor opens has changed; a twin of it further down is not meant.
        places = ", ".join([str(one.first + 1) for one in below[:_SHOWN]])
        raise ProblemRaised(
            "no_match",
            f"the lines to change are not inside {wanted[-1].strip()!r} in {file.path!r}, but "
            f"further down, at line {places}",
            hint="read the lines, and name the line above the change that they belong to",
        )
    return within or below


def _anchored(file: FileLines, anchors: Sequence[str], *, one_place: bool) -> list[int]:
    """The lines that the last anchor may mean, each anchor sought below the one before it.
    `one_place`: the lines of the hunk are found in one place only.
    """
    lines: list[int] = []
    for number, anchor in enumerate(anchors):
        found = _lines_like(file, anchor)
        above = lines[0] if number else -1
        if number:
            anywhere = one_place or _may_follow(anchors[number - 1], anchor)
            lines = _next_anchors(file, lines, found, anywhere=anywhere)
        else:
            lines = found
        if not lines:
            raise ProblemRaised(
                "no_match",
                f"no line {anchor.strip()!r} is in {file.path!r}"
                if above < 0
                else f"no line {anchor.strip()!r} follows line {above + 1} of {file.path!r}, "
                "inside what that opens",
                hint="name a line above the change exactly as it is in the file",
            )
    return lines


def _next_anchors(
    file: FileLines, above: Sequence[int], found: Sequence[int], *, anywhere: bool
) -> list[int]:
    """The lines of an anchor inside what the anchor above it opens.

    If there are none: the next line below an anchor that opens nothing, and below one that does,
    any line if that may be meant (`anywhere`).
    """
    nested = [line for line in found if any(_nested(file, one, line) for one in above)]
    if nested:
        return nested
    below = [line for line in found if line > above[0]]
    if any(_opens(file, one) for one in above):
        return below if anywhere else []
    first = [next((line for line in below if line > one), None) for one in above]
    return sorted({line for line in first if line is not None})


def _may_follow(above: str, anchor: str) -> bool:
    """Whether an anchor may name what comes after the one above it, and not a part of that: both
    begin with the same word (`def a`, `def b`), and it is not indented more.
    """
    same_word = above.split(maxsplit=1)[0] == anchor.split(maxsplit=1)[0]
    return same_word and len(indent_of(anchor)) <= len(indent_of(above))


def _nested(file: FileLines, anchor: int, line: int) -> bool:
    """Whether a line lies deeper than an earlier one, and within what that one opens."""
    if line <= anchor:
        return False
    outer, inner = (_HEADING.match(file.texts[one].strip()) for one in (anchor, line))
    if outer is not None:
        deeper = inner is None or len(inner[1]) > len(outer[1])
    else:
        deeper = depth(file, line) > depth(file, anchor)
    return deeper and inside(file, anchor, line)


def _lines_like(file: FileLines, anchor: str) -> list[int]:
    """The lines that say what an anchor says, or if there are none, those that contain it."""
    key, squeezed = canonical(anchor), squeeze(anchor).strip("\n")
    same = [file.solid[position] for position in file.solid_with(squeezed)]
    whole = [line for line in same if canonical(file.texts[line]) == key]
    if whole or len(key) < 4:
        return whole
    return [line for line in _containing(file, squeezed) if key in canonical(file.texts[line])]


def _containing(file: FileLines, squeezed: str) -> Iterator[int]:
    """The solid lines whose squeezed text contains this one."""
    text = file.joined
    at, position, seen = text.find(squeezed), 0, 1
    while at >= 0 and squeezed:
        position += text.count("\n", seen, at)
        yield file.solid[position]
        seen = at
        end = text.find("\n", at)
        at = text.find(squeezed, end)


def inside(file: FileLines, anchor: int, first: int) -> bool:
    """Whether a line still belongs to what an earlier line opens, by indentation or heading."""
    if anchor not in file.scopes:
        file.scopes[anchor] = _scope_end(file, anchor)
    return first <= file.scopes[anchor]


def _scope_end(file: FileLines, anchor: int) -> int:
    """The first line that does not belong to what a line opens."""
    below = range(bisect_right(file.solid, anchor), len(file.solid))
    lines = (file.solid[position] for position in below)
    heading = _HEADING.match(file.texts[anchor].strip())
    opened = depth(file, anchor)
    for line in lines:
        text = file.texts[line]
        if heading is not None:
            mark = _HEADING.match(text)
            ends = mark is not None and len(mark[1]) <= len(heading[1])
        else:
            closes = text.lstrip().startswith(("{", ")", "]", "#"))
            ends = depth(file, line) <= opened and not closes
        if ends:
            return line
    return len(file)


def _opens(file: FileLines, line: int) -> bool:
    position = bisect_right(file.solid, line)
    below = file.solid[position] if position < len(file.solid) else None
    return below is not None and depth(file, below) > depth(file, line)


def depth(file: FileLines, line: int) -> int:
    """How far a line is indented."""
    return len(indent_of(file.texts[line]).expandtabs())
