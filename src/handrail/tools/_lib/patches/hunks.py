"""Hunks carried out on the bytes of one file, through the one matching core.

All hunks are placed on the file as it is, because that is what a diff describes; only if
one of them builds on another are they carried out one after the other.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import groupby, pairwise
from math import gcd
from typing import NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.bytetext import ByteText, form_of
from handrail.tools._lib.matching.blocks import Block, Hints, Op, block_of_lines
from handrail.tools._lib.matching.candidates import Tier
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.matching.place import Placement, place
from handrail.tools._lib.matching.replay import replay
from handrail.tools._lib.patches.model import Hunk, Line, malformed
from handrail.tools._lib.splice import Splice, spliced


class Patched(NamedTuple):
    """The new bytes, and a remark on each hunk that did not agree literally."""

    data: bytes
    notes: tuple[str, ...]


def patched(data: bytes, hunks: Sequence[Hunk], path: str) -> Patched:
    """The file with all hunks carried out; `no_match`, `ambiguous` or `already_applied`."""
    file = _file(data, hunks, path)
    try:
        placed = [_placed(file, hunk) for hunk in hunks]
    except ProblemRaised as raised:
        if len(hunks) == 1 or raised.problem.code != "no_match":
            raise
        return _one_by_one(data, hunks, path)
    splices = sorted([splice for one in placed for splice in one.splices])
    if any(_collide(one, two) for one, two in pairwise(splices)):
        return _one_by_one(data, hunks, path)
    return Patched(
        spliced(data, splices).tobytes(), tuple([one.note for one in placed if one.note])
    )


class _Placed(NamedTuple):
    splices: tuple[Splice, ...]
    note: str


def _file(data: bytes, hunks: Sequence[Hunk], path: str) -> FileLines:
    texts = [line.text for hunk in hunks for line in hunk.lines]
    return FileLines(ByteText(data, form_of(data, *texts)), path)


def _one_by_one(data: bytes, hunks: Sequence[Hunk], path: str) -> Patched:
    notes: list[str] = []
    grown = 0
    for hunk in hunks:
        moved = hunk if hunk.line is None else replace(hunk, line=max(hunk.line + grown, 1))
        step = _placed(_file(data, [hunk], path), moved)
        data = spliced(data, step.splices).tobytes()
        notes += [step.note] if step.note else []
        grown += len(hunk.new) - len(hunk.old)
    return Patched(data, tuple(notes))


def _collide(one: Splice, two: Splice) -> bool:
    return two.start < one.end or (one.start, one.end) == (two.start, two.end)


def _placed(file: FileLines, hunk: Hunk) -> _Placed:
    try:
        if hunk.changes_endings:
            raise malformed("it changes only how lines end, which a patch cannot do here")
        hunk = _with_marks(hunk, file)
        block = _block(hunk)
        found = _found(file, block, hunk)
        if _is_there(file, block, found):
            raise _done(found.first, file.path)
        newline = None if hunk.old_ends == hunk.new_ends else not hunk.new_ends
        splices = replay(file, block, found, final_newline=newline)
    except ProblemRaised as raised:
        told = raised.problem
        message = f"hunk {hunk.number} of {file.path!r}: {told.message}"
        raise ProblemRaised.of(replace(told, message=message, field="patch")) from raised
    return _Placed(splices, _note(hunk, found))


def _note(hunk: Hunk, found: Placement) -> str:
    if found.tier is Tier.EXACT:
        return ""
    return f"hunk {hunk.number} fits line {found.first + 1} if {found.tier.words} are ignored"


def _found(file: FileLines, block: Block, hunk: Hunk) -> Placement:
    # Blank lines alone are no evidence; then only the exact line is.
    blank = hunk.old and not any(text.strip() for text in hunk.old)
    hints = Hints(hunk.line if blank else None, hunk.anchors, at_end=hunk.at_end)
    try:
        return place(file, block, hints)
    except ProblemRaised as raised:
        if raised.problem.code != "ambiguous":
            raise
        return _chosen(file, block, hunk, hints, raised)


def _chosen(
    file: FileLines, block: Block, hunk: Hunk, hints: Hints, raised: ProblemRaised
) -> Placement:
    """Of several places the one at exactly the stated line; or the one that a line nearby
    or the heading names, unless they disagree.
    """
    found: list[Placement] = []
    for hint in _tie_breakers(hunk, hints):
        try:
            one = place(file, block, hint)
        except ProblemRaised:
            continue
        if hint.line is not None and one.lines[0] == hint.line - 1:
            return one
        found.append(one)
    if not found or any(one.first != found[0].first for one in found):
        raise raised
    return found[0]


def _tie_breakers(hunk: Hunk, hints: Hints) -> Iterator[Hints]:
    if hunk.line is not None:
        yield replace(hints, line=hunk.line)
    if hunk.heading:
        yield replace(hints, anchors=(hunk.heading,))


def _is_there(file: FileLines, block: Block, found: Placement) -> bool:
    """Whether lines that are only added, above or below the ones named, stand there already."""
    if any(op.kind == "delete" for op in block.ops):
        return False
    above = next((at for at, op in enumerate(block.ops) if op.kind == "keep"), None)
    if above is None or above > found.first:
        return False
    first = found.first - above
    there = file.texts[first : first + len(block.new)]
    return [line.rstrip() for line in there] == [line.rstrip() for line in block.new]


def _done(line: int, path: str) -> ProblemRaised:
    return ProblemRaised(
        "already_applied",
        f"its result is in the file already, at line {line + 1}",
        hint=f"leave this hunk out, or read {path!r} if in doubt",
    )


def _block(hunk: Hunk) -> Block:
    """The hunk's operations; a line that is taken out and put back in is kept."""
    ops: list[Op] = []
    for context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
        lines = list(run)
        if context or (lines[-1] is hunk.lines[-1] and hunk.old_ends != hunk.new_ends):
            ops += [_op(line) for line in lines]
        else:
            old = [line.text for line in lines if line.sign == "-"]
            new = [line.text for line in lines if line.sign == "+"]
            ops += block_of_lines(old, new, same=str).ops
    return Block(tuple(ops))


def _op(line: Line) -> Op:
    match line.sign:
        case " ":
            return Op("keep", line.text)
        case "-":
            return Op("delete", line.text)
        case "+":
            return Op("insert", line.text)


def _with_marks(hunk: Hunk, file: FileLines) -> Hunk:
    """The hunk with context lines whole that lost the blank before them.

    Such a line looks indented by one blank less. It is read anew only if the file has it
    that way and not the other, and if the rest of the hunk is not indented less as well.
    """
    there = frozenset(file.texts)
    lost = [
        line.sign == " " and line.text not in there and " " + line.text in there
        for line in hunk.lines
    ]
    if not any(lost):
        return hunk
    lines = [
        Line(" ", " " + line.text) if anew else line
        for line, anew in zip(hunk.lines, lost, strict=True)
    ]
    others = [line for line, anew in zip(lines, lost, strict=True) if not anew and line.text]
    old = [line for line in others if line.sign != "+"]
    if old:
        literal = all(line.text in there for line in old)
    else:
        unit = gcd(*[_depth(line) for line, anew in zip(lines, lost, strict=True) if anew])
        literal = all(_depth(line) % unit == 0 for line in others)
    return replace(hunk, lines=tuple(lines)) if literal else hunk


def _depth(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())
