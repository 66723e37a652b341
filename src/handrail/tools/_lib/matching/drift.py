"""The last and narrowest reading: a comment beside the change is remembered not quite right.

Code, lines that go, and lines next to new ones must say the same. Only comments and prose may
differ, by slips of a word: a word that became another word tells two twins apart.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handrail.tools._lib.matching.blocks import Block, Op
from handrail.tools._lib.matching.candidates import Candidate, Tier, aligned
from handrail.tools._lib.matching.keys import any_quotes, canonical, squeeze
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.prose import Prose, slipped

_LEAST_LINES: Final = 4
_MOST: Final = 200


def drifted(file: FileLines, block: Block) -> list[Candidate]:
    """Places that agree in everything but a few comment lines."""
    old = [op for op in block.ops if op.kind != "insert"]
    keys = squeeze("\n".join([op.text for op in old])).split("\n")
    soft = [bool(key) and free for key, free in zip(keys, _free(block.ops), strict=True)]
    if sum(map(bool, keys)) < _LEAST_LINES:
        return []
    prose = Prose(file)
    found: list[Candidate] = []
    for at in _starts(file, keys, soft):
        lines = aligned(file, keys, at)
        if _agrees(file, prose, old, lines, soft):
            found.append(Candidate(Tier.COMMENTS, lines))
    return found


def _free(ops: Sequence[Op]) -> list[bool]:
    """For each old line, whether it is only context: kept, and not next to a new line."""
    free: list[bool] = []
    for index, op in enumerate(ops):
        if op.kind != "insert":
            beside = _solid_beside(ops, index, -1) + _solid_beside(ops, index, 1)
            free.append(op.kind == "keep" and "insert" not in beside)
    return free


def _solid_beside(ops: Sequence[Op], index: int, step: int) -> list[str]:
    at = index + step
    while 0 <= at < len(ops):
        if ops[at].kind == "insert" or ops[at].text.strip():
            return [ops[at].kind]
        at += step
    return []


def _starts(file: FileLines, keys: Sequence[str], soft: Sequence[bool]) -> Iterator[int]:
    wanted = [key for key in keys if key]
    firm = [index for index, (key, free) in enumerate(_solid(keys, soft)) if key and not free]
    counts = {wanted[index]: 0 for index in firm}
    solid = [file.squeezed[line] for line in file.solid]
    for key in solid:
        if key in counts:
            counts[key] += 1
    if not firm:
        return
    rarest = min(firm, key=lambda index: counts[wanted[index]])
    if not 0 < counts[wanted[rarest]] <= _MOST:
        return
    last = len(solid) - len(wanted)
    for number, key in enumerate(solid):
        if key == wanted[rarest] and 0 <= number - rarest <= last:
            yield number - rarest


def _solid(keys: Sequence[str], soft: Sequence[bool]) -> list[tuple[str, bool]]:
    return [(key, free) for key, free in zip(keys, soft, strict=True) if key]


def _agrees(
    file: FileLines,
    prose: Prose,
    old: Sequence[Op],
    lines: Sequence[int | None],
    soft: Sequence[bool],
) -> bool:
    different = 0
    solid = 0
    for op, line, free in zip(old, lines, soft, strict=True):
        if line is None or not op.text.strip():
            continue
        solid += 1
        if any_quotes(canonical(op.text)) == any_quotes(canonical(file.texts[line])):
            if op.kind != "delete" or canonical(op.text) == canonical(file.texts[line]):
                continue
            return False
        if not free or not prose.has(line, op.text) or not slipped(op.text, file.texts[line]):
            return False
        different += 1
    return 0 < different <= max(1, solid // 5)
