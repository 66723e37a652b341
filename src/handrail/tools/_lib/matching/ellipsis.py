"""Pairs in which a line of dots replaces omitted lines: the pieces are placed separately, in order."""

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

# Dots alone, dots around words, or dots after a comment mark; not a spread operator or a variadic
# argument.
_DOTS: Final = re.compile(
    r"\s*(?:[\[(<]?(?:\.{3,}|…)[\])>]?|(?:\.{3}|…)\s[\w ,'()-]{1,60}(?:\.{3}|…)"
    r"|(?://|#|--|;+|%|/\*|<!--|\*|\{/\*)\s*(?:[\[(<](?:\.{3,}|…)[\])>]|(?:\.{3,}|…)[\w ,'()-]{0,60}(?:\.{3}|…)?))"
    r"\s*(?:\*/\}?|-->)?\s*"
)
_MOST: Final = 20_000
_LEAST: Final = 6


def find_elided(file: FileLines, texts: PairLines) -> list[tuple[LineBlock, Placement]]:
    """Return the pieces that change something, with their places. Empty if no lines are omitted or
    a piece has no place; raises `ambiguous` if the pieces fit in several ways.
    """
    before, after = _pieces(texts.old), _pieces(texts.new)
    if len(before) < 2 or len(before) != len(after):
        return []
    blocks = [diff_lines(*pair) for pair in zip(before, after, strict=True)]
    pairs = [block for block in blocks if block.ops]
    if not all(map(_is_recognisable, pairs)):
        return []
    places = [find_candidates(file, block) for block in pairs]
    orders = list(_in_order(file, pairs, places))
    if not orders:
        return []
    if len(orders) > 1:
        raise ambiguous_problem(file, pairs[0], sorted({order[0].first for order in orders}))
    changed = [block for block in pairs if block.changes]
    return [
        (block, Placement(candidate.first, candidate.end, candidate.tier, candidate.lines))
        for block, candidate in zip(changed, orders[0], strict=True)
    ]


def _is_recognisable(block: LineBlock) -> bool:
    """Return whether a piece has enough text to be recognised; a piece with changes needs more."""
    size = sum(len(line.strip()) for line in block.old)
    return size >= (_LEAST if block.changes else 1)


def _pieces(lines: Sequence[str]) -> list[list[str]]:
    pieces: list[list[str]] = [[]]
    for line in lines:
        if is_elision(line):
            pieces.append([])
        else:
            pieces[-1].append(line)
    return pieces


def is_elision(line: str) -> bool:
    """Return whether a line only stands for omitted lines."""
    return ("..." in line or "…" in line) and _DOTS.fullmatch(line) is not None


def _in_order(
    file: FileLines, blocks: Sequence[LineBlock], places: Sequence[Sequence[Candidate]]
) -> Iterator[tuple[Candidate, ...]]:
    """Yield the distinct ways to place the pieces that change something."""
    count = 1
    for candidates in places:
        count *= len(candidates)
    if not 0 < count <= _MOST:
        return
    seen: set[tuple[int, ...]] = set()
    for order in product(*places):
        if not _is_valid_order(file, blocks, order):
            continue
        changed = tuple(
            [candidate for block, candidate in zip(blocks, order, strict=True) if block.changes]
        )
        key = tuple([candidate.first for candidate in changed])
        if key not in seen:
            seen.add(key)
            yield changed


def _is_valid_order(
    file: FileLines, blocks: Sequence[LineBlock], order: Sequence[Candidate]
) -> bool:
    for block, above, below in zip(blocks[1:], order, order[1:], strict=False):
        if above.end > below.first or (block.changes and not _is_in_scope(file, above, below)):
            return False
    return True


def _is_in_scope(file: FileLines, above: Candidate, below: Candidate) -> bool:
    """Return whether a piece is in the block that the piece above opens.

    Otherwise a similar body further down would match in place of one that no longer exists.
    """
    lines = [line for line in range(above.first, above.end) if file.squeezed[line]]
    outermost = min(lines, key=lambda line: (nesting_depth(file, line), -line))
    if nesting_depth(file, outermost) >= nesting_depth(file, below.first):
        return True
    after = file.solid[bisect_right(file.solid, outermost)]
    if nesting_depth(file, after) > nesting_depth(file, outermost):
        return lines_inside(file, outermost, below.first)
    between = range(above.end, below.first)
    return all(
        nesting_depth(file, line) >= nesting_depth(file, outermost)
        for line in between
        if file.squeezed[line]
    )
