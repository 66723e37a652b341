"""Pairs in which a line of dots replaces omitted lines: placed piece by piece, in order."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from itertools import product
from typing import Final

from handrail.tools._lib.matching.candidates import Candidate, find_candidates
from handrail.tools._lib.matching.lines import FileLines, LineBlock, PairLines, diff_lines
from handrail.tools._lib.matching.placement import (
    Placement,
    ambiguous_problem,
    lines_inside,
    nesting_depth,
)

# Dots alone, dots around words, or dots after the mark of a comment; a spread operator or a
# variadic argument is none of these.
_DOTS: Final = re.compile(
    r"\s*(?:[\[(<]?(?:\.{3,}|…)[\])>]?|(?:\.{3}|…)\s[\w ,'()-]{1,60}(?:\.{3}|…)"
    r"|(?://|#|--|;+|%|/\*|<!--|\*|\{/\*)\s*(?:\.{3,}|…)[\w ,'()-]{0,60}(?:\.{3}|…)?)"
    r"\s*(?:\*/\}?|-->)?\s*"
)
_MOST: Final = 20_000
_LEAST: Final = 10


def find_elided(file: FileLines, texts: PairLines) -> list[tuple[LineBlock, Placement]]:
    """The pieces that change something, with their places; empty if nothing is left out or
    a piece has no place. `ambiguous` if the pieces fit in more than one way.
    """
    before, after = _pieces(texts.old), _pieces(texts.new)
    if len(before) < 2 or len(before) != len(after):
        return []
    blocks = [diff_lines(*pair) for pair in zip(before, after, strict=True)]
    pairs = [block for block in blocks if block.ops]
    if not all(map(_telling, pairs)):
        return []
    places = [find_candidates(file, block) for block in pairs]
    ways = list(_in_order(file, pairs, places))
    if not ways:
        return []
    if len(ways) > 1:
        raise ambiguous_problem(file, pairs[0], sorted({way[0].first for way in ways}))
    changed = [block for block in pairs if block.changes]
    return [
        (block, Placement(one.first, one.end, one.tier, one.lines))
        for block, one in zip(changed, ways[0], strict=True)
    ]


def _telling(block: LineBlock) -> bool:
    """Whether a piece can be recognised; more is asked of one that changes something."""
    known = sum(len(line.strip()) for line in block.old)
    return known >= (_LEAST if block.changes else 1)


def _pieces(lines: Sequence[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if is_elision(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces


def is_elision(line: str) -> bool:
    """Whether a line only says that lines are left out."""
    return ("..." in line or "…" in line) and _DOTS.fullmatch(line) is not None


def _in_order(
    file: FileLines, blocks: Sequence[LineBlock], places: Sequence[Sequence[Candidate]]
) -> Iterator[tuple[Candidate, ...]]:
    """The distinct ways to place the pieces that change something."""
    count = 1
    for found in places:
        count *= len(found)
    if not 0 < count <= _MOST:
        return
    seen: set[tuple[int, ...]] = set()
    for way in product(*places):
        if not _follow(file, blocks, way):
            continue
        changed = tuple([one for block, one in zip(blocks, way, strict=True) if block.changes])
        key = tuple([one.first for one in changed])
        if key not in seen:
            seen.add(key)
            yield changed


def _follow(file: FileLines, blocks: Sequence[LineBlock], way: Sequence[Candidate]) -> bool:
    for block, above, below in zip(blocks[1:], way, way[1:], strict=False):
        if above.end > below.first or (block.changes and not _reached(file, above, below)):
            return False
    return True


def _reached(file: FileLines, above: Candidate, below: Candidate) -> bool:
    """Whether a piece still belongs to what the piece above it opens.

    Otherwise a twin further down would take the place of a body that is not there any more.
    """
    lines = [line for line in range(above.first, above.end) if file.squeezed[line]]
    least = min(lines, key=lambda line: (nesting_depth(file, line), -line))
    if nesting_depth(file, least) >= nesting_depth(file, below.first):
        return True
    after = file.solid[bisect_right(file.solid, least)]
    if nesting_depth(file, after) > nesting_depth(file, least):
        return lines_inside(file, least, below.first)
    between = range(above.end, below.first)
    return all(
        nesting_depth(file, line) >= nesting_depth(file, least)
        for line in between
        if file.squeezed[line]
    )
