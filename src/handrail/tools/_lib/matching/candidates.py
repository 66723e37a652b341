"""All places whose lines have the content of a block, each with a tier: how exactly they agree.

One search over squeezed lines finds all of them. Each place is then compared line by line, so that
the best tier of competing places is known.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from enum import IntEnum
from itertools import islice, pairwise
from typing import Final, NamedTuple

from handrail.tools._lib.matching.blank_meaning import has_same_blanks
from handrail.tools._lib.matching.indentation import (
    IndentPair,
    lacks_first_indent,
    leading_blanks,
    learn_indents,
)
from handrail.tools._lib.matching.lines import FileLines, LineBlock, LineOp
from handrail.tools._lib.matching.nesting import is_nested_alike
from handrail.tools._lib.matching.normalize import canonical, fold_quotes, squeeze

_MOST: Final = 1_000
# Up to this many searches are cheaper than an index of all lines.
_SEARCHES: Final = 4
_RARE: Final = 16


class Tier(IntEnum):
    """How exactly a place agrees with a call, best first."""

    EXACT = 0
    BLANK_LINES = 1
    LINE_ENDS = 2
    INDENTATION = 3
    WHITESPACE = 4
    TYPOGRAPHY = 5
    QUOTES = 6
    COMMENTS = 7

    @property
    def words(self) -> str:
        """What was ignored in the comparison, for the model."""
        return _WORDS[self]


_WORDS: Final = {
    Tier.EXACT: "nothing",
    Tier.BLANK_LINES: "blank lines",
    Tier.LINE_ENDS: "blanks at line ends",
    Tier.INDENTATION: "indentation",
    Tier.WHITESPACE: "whitespace around lines",
    Tier.TYPOGRAPHY: "spacing and typographic characters",
    Tier.QUOTES: "the style of quotes",
    Tier.COMMENTS: "small differences in comments",
}


class Candidate(NamedTuple):
    """A place: the line of the file for each old line; None for a blank line that the file lacks."""

    tier: Tier
    lines: tuple[int | None, ...]

    @property
    def first(self) -> int:
        """The first line that agrees."""
        return next(line for line in self.lines if line is not None)

    @property
    def end(self) -> int:
        """The line after the last that agrees."""
        return next(line for line in reversed(self.lines) if line is not None) + 1

    @property
    def stated(self) -> int:
        """The line from which a hunk counts, also if that is a blank line that the file lacks."""
        return next(line - at for at, line in enumerate(self.lines) if line is not None)


def block_keys(block: LineBlock) -> tuple[list[LineOp], list[str], list[str]]:
    """Return the old lines of a block, their squeezed texts, and those that are not blank."""
    old = [op for op in block.ops if op.kind != "insert"]
    keys = squeeze("\n".join([op.text for op in old])).split("\n")
    return old, keys, [key for key in keys if key]


def find_candidates(file: FileLines, block: LineBlock) -> list[Candidate]:
    """Return all places, in the order of the file."""
    old, keys, solid = block_keys(block)
    if not solid:
        return []
    places = _places(file, solid)
    return [fit for at in places if (fit := _candidate(file, old, keys, at)) is not None]


def find_candidate_at(file: FileLines, block: LineBlock, line: int) -> Candidate | None:
    """The place whose first line is `line` (0-based), None if the block does not fit there."""
    old, keys, solid = block_keys(block)
    if not solid:
        return None
    before = next(index for index, key in enumerate(keys) if key)
    at = bisect_left(file.solid, line + before)
    if file.solid_keys[at : at + len(solid)] != solid:
        return None
    candidate = _candidate(file, old, keys, at)
    return candidate if candidate is not None and candidate.stated == line else None


def find_candidates_over(
    file: FileLines, block: LineBlock, first: int, end: int
) -> list[Candidate]:
    """Return the places that include all solid lines from `first` up to `end` (0-based)."""
    old, keys, solid = block_keys(block)
    if not solid:
        return []
    highest = bisect_left(file.solid, first)
    lowest = max(bisect_left(file.solid, end) - len(solid), 0)
    places = [
        at
        for at in range(lowest, highest + 1)
        if file.solid_keys[at : at + 1] == solid[:1]
        and file.solid_keys[at : at + len(solid)] == solid
    ]
    fits = [fit for at in places if (fit := _candidate(file, old, keys, at)) is not None]
    return [fit for fit in fits if fit.first <= first and end <= fit.end]


def _candidate(
    file: FileLines, old: Sequence[LineOp], keys: Sequence[str], at: int
) -> Candidate | None:
    lines = align_lines(file, keys, at)
    tier = _tier(file, old, lines)
    return Candidate(tier, lines) if tier is not None else None


def align_lines(file: FileLines, keys: Sequence[str], at: int) -> tuple[int | None, ...]:
    """Return the file's line for each key; the first solid key is the file's solid line `at`."""
    lines: list[int | None] = []
    before = next(index for index, key in enumerate(keys) if key)
    lines += _blanks_above(file, file.solid[at], before)
    free = last = file.solid[at]
    for key in keys[before:]:
        if key:
            last = file.solid[at]
            lines.append(last)
            at += 1
            free = last + 1
        elif free < len(file) and not file.squeezed[free]:
            lines.append(free)
            free += 1
        else:
            lines.append(None)
    return tuple(lines)


def _places(file: FileLines, solid: Sequence[str]) -> Iterator[int]:
    """Yield the positions in the file's solid lines at which these lines follow, up to a limit."""
    file.searches += 1
    if file.searches > _SEARCHES:
        return islice(_by_index(file, solid), _MOST)
    return _by_scan(file, solid)


def _by_index(file: FileLines, solid: Sequence[str]) -> Iterator[int]:
    """Like `_places`, by the positions of the rarest line, or of the rarest pair of lines."""
    rarest = min(range(len(solid)), key=lambda at: len(file.solid_with(solid[at])))
    positions = file.solid_with(solid[rarest])
    if len(positions) > _RARE and len(solid) > 1:
        pairs = list(pairwise(solid))
        rarest = min(range(len(pairs)), key=lambda at: len(file.solid_with_pair(*pairs[at])))
        positions = file.solid_with_pair(*pairs[rarest])
    needle, keys = list(solid), file.solid_keys
    for position in positions:
        first = position - rarest
        if first >= 0 and keys[first : first + len(needle)] == needle:
            yield first


def _by_scan(file: FileLines, solid: Sequence[str]) -> Iterator[int]:
    text = file.joined
    needle = "\n" + "\n".join(solid) + "\n"
    line, counted_to, count = 0, 0, 0
    at = text.find(needle)
    while at >= 0 and count < _MOST:
        line += text.count("\n", counted_to, at)
        counted_to = at
        yield line
        count += 1
        at = text.find(needle, at + 1)


def _blanks_above(file: FileLines, first: int, count: int) -> list[int | None]:
    present = 0
    while present < min(count, first) and not file.squeezed[first - present - 1]:
        present += 1
    missing: list[int | None] = [None] * (count - present)
    return missing + list(range(first - present, first))


def _tier(file: FileLines, old: Sequence[LineOp], lines: Sequence[int | None]) -> Tier | None:
    worst = Tier.EXACT
    for op, line in zip(old, lines, strict=True):
        if line is None or (not op.text.strip()) != (not file.texts[line].strip()):
            continue
        tier = _agreement(op.text, file.texts[line])
        if tier is None or (tier is Tier.QUOTES and op.kind == "delete"):
            return None
        changes = op.kind == "delete"
        if tier is Tier.TYPOGRAPHY and not has_same_blanks(
            op.text, file.texts[line], file.path, changes=changes
        ):
            return None
        worst = max(worst, tier)
    if worst is Tier.EXACT and lines != tuple(range(lines[0] or 0, (lines[0] or 0) + len(lines))):
        return Tier.BLANK_LINES
    if worst >= Tier.WHITESPACE:
        if is_shifted(indent_pairs(file, old, lines)):
            return Tier.INDENTATION if worst is Tier.WHITESPACE else worst
        if not is_nested_alike(file, old, lines):
            return None
    return worst


def _agreement(call: str, line: str) -> Tier | None:
    if call == line:
        return Tier.EXACT
    if call.rstrip() == line.rstrip():
        return Tier.LINE_ENDS
    if call.strip() == line.strip():
        return Tier.WHITESPACE
    first, second = canonical(call), canonical(line)
    if first == second:
        return Tier.TYPOGRAPHY
    return Tier.QUOTES if fold_quotes(first) == fold_quotes(second) else None


def indent_pairs(
    file: FileLines, old: Sequence[LineOp], lines: Sequence[int | None]
) -> list[IndentPair]:
    """Return the indentation of every solid line, in the call and in the file."""
    return [
        IndentPair(leading_blanks(op.text), leading_blanks(file.texts[line]))
        for op, line in zip(old, lines, strict=True)
        if line is not None and op.text.strip()
    ]


def is_shifted(pairs: Sequence[IndentPair]) -> bool:
    """Return whether all lines, the first possibly excepted, differ in indentation in the same way."""
    return bool(learn_indents(pairs)) or lacks_first_indent(pairs)
