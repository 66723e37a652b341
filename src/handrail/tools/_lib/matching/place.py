"""The one place where a block belongs, or a refusal that teaches.

The strictest agreement with any hit decides, and more than one hit refuses: a looser reading
is never tried because a stricter one was ambiguous.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from handrail.tools._lib.matching.anchors import beneath
from handrail.tools._lib.matching.blocks import Block, Hints
from handrail.tools._lib.matching.candidates import Candidate, Tier, candidates
from handrail.tools._lib.matching.drift import drifted
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.refusals import ambiguous, no_match

# How far off a stated line may be, and how much nearer than any other place.
_NEAR: Final = 8
_NEARER: Final = 4
_NO_HINTS: Final = Hints()


@dataclass(frozen=True, slots=True)
class Placement:
    """Lines `first` up to, not including, `last` (0-based) are what the block speaks of.

    `lines` has the file's line for each kept or deleted line of the block, in order; None for
    a blank line that the file does not have.
    """

    first: int
    last: int
    tier: Tier
    lines: tuple[int | None, ...]


def place(
    file: FileLines, block: Block, hints: Hints = _NO_HINTS, loosest: Tier = Tier.COMMENTS
) -> Placement:
    """Where the block belongs; `no_match`, `ambiguous` or `already_applied`.

    Agreements looser than `loosest` do not count.
    """
    found = find(file, block, hints, loosest)
    if found is None and loosest is Tier.COMMENTS:
        found = comment_drift(file, block, hints)
    if found is None:
        raise no_match(file, block)
    return found


def find(
    file: FileLines, block: Block, hints: Hints = _NO_HINTS, loosest: Tier = Tier.QUOTES
) -> Placement | None:
    """Where lines agree at least as literally as `loosest`; None if nowhere, else `ambiguous`."""
    if not any(line.strip() for line in block.old):
        return _without_lines(file, block, hints)
    return _chosen(candidates(file, block), file, block, hints, loosest)


def comment_drift(file: FileLines, block: Block, hints: Hints = _NO_HINTS) -> Placement | None:
    """Where only comments beside the change differ, and only by slips; None if nowhere."""
    return _chosen(drifted(file, block), file, block, hints)


def _chosen(
    found: Sequence[Candidate],
    file: FileLines,
    block: Block,
    hints: Hints,
    loosest: Tier = Tier.COMMENTS,
) -> Placement | None:
    found = [one for one in found if one.first >= hints.after]
    if all(one.tier > loosest for one in found):
        found = ()
    found = beneath(file, found, hints.anchors)
    best = min((one.tier for one in found), default=Tier.COMMENTS)
    if not found or best > loosest:
        return None
    # Literal agreement decides. Short of it, places that differ only in blanks are equal: which
    # blanks a call got wrong says nothing about the place it means.
    equal = best if best is Tier.EXACT else max(best, Tier.TYPOGRAPHY)
    chosen = _decided([one for one in found if one.tier <= equal], file, block, hints)
    if chosen.tier > loosest:
        return None
    return Placement(chosen.first, chosen.end, chosen.tier, chosen.lines)


def _decided(found: Sequence[Candidate], file: FileLines, block: Block, hints: Hints) -> Candidate:
    if len(found) > 1 and hints.at_end:
        last = file.solid[-1]
        found = [one for one in found if one.end > last] or found
    if len(found) > 1 and hints.line is not None:
        found = _nearest(found, hints.line - 1) or found
    if len(found) > 1:
        raise ambiguous(file, block, [one.first for one in found])
    return found[0]


def _nearest(found: Sequence[Candidate], line: int) -> list[Candidate]:
    ranked = sorted(found, key=lambda one: abs(one.stated - line))
    best, next_best = (abs(one.stated - line) for one in ranked[:2])
    if best == 0 or (best <= _NEAR and best * _NEARER <= next_best):
        return ranked[:1] if best < next_best else []
    return []


def _without_lines(file: FileLines, block: Block, hints: Hints) -> Placement | None:
    # Nothing to recognise the place by: only what is said beside the lines can decide.
    count = len(block.old)
    if hints.anchors:
        found = beneath(file, None, hints.anchors)
        at = found[0].first if len(found) == 1 else None
    elif hints.at_end or not len(file):
        at = len(file)
    else:
        at = hints.line - 1 if hints.line is not None else None
    if at is None or not hints.after <= at <= len(file):
        return None
    lines = range(at, min(at + count, len(file)))
    if len(lines) < count or any(file.texts[line].strip() for line in lines):
        if count and not (hints.at_end or not len(file)):
            return None
        lines = range(at, at)
    missing: tuple[int | None, ...] = (None,) * (count - len(lines))
    return Placement(at, at + len(lines), Tier.EXACT, (*lines, *missing))
