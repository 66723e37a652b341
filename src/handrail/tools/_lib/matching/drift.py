"""The last and narrowest reading: a comment beside the change is remembered not quite right.

Code, and lines that go, must say the same. Only comments and prose may differ, by slips of
the pen: a word that became another word tells two twins apart.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.tools._lib.matching.blocks import Block, Op
from handrail.tools._lib.matching.candidates import Candidate, Tier, aligned
from handrail.tools._lib.matching.keys import any_quotes, canonical, squeeze
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.prose import Prose, slipped

_LEAST_LINES: Final = 4
# A line that stands in the file more often than this says little about a place.
_MOST: Final = 200


def drifted(file: FileLines, block: Block) -> list[Candidate]:
    """Places that agree in everything but a few comment lines."""
    old = [op for op in block.ops if op.kind != "insert"]
    keys = squeeze("\n".join([op.text for op in old])).split("\n")
    solid = [key for key in keys if key]
    if len(solid) < _LEAST_LINES:
        return []
    prose = file.memo(Prose)
    allowed = max(1, len(solid) // 5)
    found: list[Candidate] = []
    for at in _starts(file, solid, len(solid) - allowed):
        lines = aligned(file, keys, at)
        slips = _slips(file, prose, old, lines)
        if slips is not None and 0 < len(slips) <= allowed and _held(block.ops, slips):
            found.append(Candidate(Tier.COMMENTS, lines))
    return found


def _starts(file: FileLines, solid: Sequence[str], enough: int) -> Iterator[int]:
    """Solid lines of the file at which enough lines of the block would be in their place."""
    indexes: dict[str, list[int]] = {}
    for index, key in enumerate(solid):
        indexes.setdefault(key, []).append(index)
    there = {key: found for key in indexes if (found := file.solid_with(key))}
    votes: Counter[int] = Counter()
    for key, numbers in there.items():
        # Lines that are everywhere vote for all places, so they are counted for none.
        if len(numbers) <= _MOST:
            votes.update([number - index for number in numbers for index in indexes[key]])
        else:
            enough -= len(indexes[key])
    last = len(file.solid) - len(solid)
    return (at for at, count in sorted(votes.items()) if count >= enough and 0 <= at <= last)


def _slips(
    file: FileLines, prose: Prose, old: Sequence[Op], lines: Sequence[int | None]
) -> set[int] | None:
    """The old lines that are misremembered comments; None if any differs otherwise."""
    slips: set[int] = set()
    for index, (op, line) in enumerate(zip(old, lines, strict=True)):
        if line is None or not op.text.strip():
            continue
        said, own = canonical(op.text), canonical(file.texts[line])
        if said == own or (op.kind == "keep" and any_quotes(said) == any_quotes(own)):
            continue
        if op.kind == "delete" or not prose.has(line, op.text):
            return None
        if not slipped(said, own, file.text):
            return None
        slips.add(index)
    return slips


def _held(ops: Sequence[Op], slips: set[int]) -> bool:
    """Whether every new line has a neighbour that is remembered right, or replaces one."""
    index = -1
    above: int | None = None
    fresh = False
    for op in [*ops, None]:
        if op is not None and op.kind == "insert":
            fresh = True
            continue
        index += 1
        if op is not None and not op.text.strip():
            continue
        if fresh and not _firm(above, slips) and not _firm(index if op else None, slips):
            return False
        fresh, above = False, index
    return True


def _firm(index: int | None, slips: set[int]) -> bool:
    return index is not None and index not in slips
