"""Which lines of a file come closest to a text that is not in it; for an error message.

Bounded: it looks at the first part of the file and at few candidates.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from handrail.tools._lib.byte_text import ByteText
from handrail.tools._lib.tool_base import clip, number_lines

_MAX_BYTES: Final = 2_000_000
_MAX_LINES: Final = 12
_MAX_REPEATS: Final = 50
_MAX_COMPARED: Final = 3_000
_ALIKE: Final = 0.6
_WIDTH: Final = 300


def nearest_lines(file: ByteText, text: str) -> str | None:
    """The closest lines with their numbers; None if no line is similar."""
    lines = _lines(file.shown(file.data[:_MAX_BYTES]))
    wanted = _lines(text.strip("\r\n"))
    start = _by_votes(lines, wanted)
    if start is None:
        start = _by_likeness(lines, wanted)
    if start is None:
        return None
    count = min(len(wanted), _MAX_LINES)
    shown = [clip(line, _WIDTH) for line in lines[start : start + count]]
    return "\n".join(number_lines(shown, start + 1))


def _lines(text: str) -> list[str]:
    return text.replace("\r\n", "\n").replace("\r", "\n").split("\n")


def _by_votes(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    # Each wanted line that stands in the file, blanks aside, votes for where the text begins.
    places: dict[str, list[int]] = {}
    names = {"".join(line.split()) for line in wanted} - {""}
    for number, line in enumerate(lines):
        name = "".join(line.split())
        if name in names:
            places.setdefault(name, []).append(number)
    votes: Counter[int] = Counter()
    for index, line in enumerate(wanted):
        for number in places.get("".join(line.split()), ())[:_MAX_REPEATS]:
            votes[max(number - index, 0)] += 1
    return votes.most_common(1)[0][0] if votes else None


def _by_likeness(lines: Sequence[str], wanted: Sequence[str]) -> int | None:
    index, longest = max(enumerate(wanted), key=lambda pair: len(pair[1]))
    needle = longest.strip()[:_WIDTH]
    matcher = SequenceMatcher(autojunk=False, b=needle)
    best, start = _ALIKE, None
    for number, line in enumerate(lines[:_MAX_COMPARED]):
        matcher.set_seq1(line.strip()[:_WIDTH])
        if matcher.real_quick_ratio() > best and matcher.quick_ratio() > best:
            ratio = matcher.ratio()
            if ratio > best:
                best, start = ratio, max(number - index, 0)
    return start
