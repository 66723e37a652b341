"""Blanks inside a line that a patch writes otherwise than the file: tabs that became spaces.

Such a line is found, blanks aside. What is put in its place must not carry the patch's
blanks into the file where it only repeats what was there.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, NamedTuple

from handrail.tools._lib.matching.blocks import Block, Op
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement

_GAP: Final = re.compile(r"([ \t]+)")
_ALIKE: Final = 0.6
# Every new line is compared with every old one.
_MOST_PAIRS: Final = 2_500


def with_files_gaps(file: FileLines, block: Block, found: Placement) -> Block:
    """The block with the file's own blanks in new lines that replace a line of the file."""
    if found.tier < Tier.TYPOGRAPHY:
        return block
    ops: list[Op] = []
    gone: list[_Gone] = []
    lines = iter(found.lines)
    for op in block.ops:
        line = next(lines) if op.kind != "insert" else None
        if op.kind == "keep":
            gone = []
        elif line is not None:
            gone.append(_Gone(_pieces(op.text), _pieces(file.texts[line])))
        ops.append(_fitted(op, gone) if op.kind == "insert" else op)
    return Block(tuple(ops))


class _Gone(NamedTuple):
    """A line that is replaced, as words and gaps: in the patch and in the file."""

    patch: Sequence[str]
    file: Sequence[str]


def _pieces(text: str) -> list[str]:
    return _GAP.split(text.strip())


def _fitted(op: Op, gone: Sequence[_Gone]) -> Op:
    pieces = _pieces(op.text)
    known = [one for one in gone if one.patch != one.file and len(one.patch) == len(one.file)]
    if not known or len(pieces) == 1 or len(known) * len(pieces) > _MOST_PAIRS:
        return op
    matchers = [SequenceMatcher(None, one.patch, pieces, autojunk=False) for one in known]
    best = max(range(len(known)), key=lambda at: matchers[at].ratio())
    if matchers[best].ratio() < _ALIKE:
        return op
    start = op.text[: len(op.text) - len(op.text.lstrip())]
    end = op.text[len(op.text.rstrip()) :]
    return Op(op.kind, start + "".join(_merged(matchers[best], known[best], pieces)) + end)


def _merged(matcher: SequenceMatcher[str], one: _Gone, pieces: Sequence[str]) -> Iterator[str]:
    for tag, a0, a1, b0, b1 in matcher.get_opcodes():
        for index, piece in enumerate(pieces[b0:b1]):
            same = tag == "equal" and a0 + index < a1 and not piece.strip()
            yield one.file[a0 + index] if same else piece
