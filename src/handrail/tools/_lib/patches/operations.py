"""What a hunk wants done, as the matching core's operations."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from math import gcd

from handrail.core.problems import ProblemRaised
from handrail.tools._lib.matching.blocks import Block, Op, block_of_lines
from handrail.tools._lib.matching.lines import FileLines
from handrail.tools._lib.patches.model import Hunk, Line


def block_of_hunk(hunk: Hunk) -> Block:
    """The hunk's operations; a line that is taken out and put back in is kept."""
    ops: list[Op] = []
    for context, run in groupby(hunk.lines, key=lambda line: line.sign == " "):
        lines = list(run)
        # The last line goes and comes back if only the newline behind it changes.
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


def without_wide_marks(hunks: Sequence[Hunk], file: FileLines) -> list[Hunk]:
    """The hunks without a blank after each `-` and `+`, if all have one that is no indentation:
    the file has no line that is to go with it, and all of them without.
    """
    there = file.trimmed
    marked = [line for hunk in hunks for line in hunk.lines if line.sign != " " and line.text]
    gone = [line.text.rstrip() for line in marked if line.sign == "-"]
    wide = all(line.text.startswith(" ") for line in marked)
    if not gone or not wide or any(text in there or text[1:] not in there for text in gone):
        return list(hunks)
    return [
        replace(hunk, lines=tuple([_narrow(line, there) for line in hunk.lines])) for hunk in hunks
    ]


def _narrow(line: Line, there: frozenset[str]) -> Line:
    if line.sign == " " and (line.text.rstrip() in there or line.text[1:].rstrip() not in there):
        return line
    return line._replace(text=line.text[1:])


def with_lost_marks(hunk: Hunk, file: FileLines) -> Hunk:
    """The hunk with context lines whole that lost the blank before them.

    Such a line looks indented by one blank less. It is read anew only if the file has it
    that way and not the other, and if the rest of the hunk is not indented less as well.
    """
    there = file.trimmed
    lost = [
        line.sign == " " and text not in there and " " + text in there
        for line in hunk.lines
        for text in [line.text.rstrip()]
    ]
    if not hunk.counted:
        _refuse_doubtful(hunk, there)
    if not any(lost):
        return hunk
    lines = [
        Line(" ", " " + line.text) if anew else line
        for line, anew in zip(hunk.lines, lost, strict=True)
    ]
    others = [line for line, anew in zip(lines, lost, strict=True) if not anew and line.text]
    old = [line for line in others if line.sign != "+"]
    if old:
        literal = all(line.text.rstrip() in there for line in old)
    else:
        unit = gcd(*[_depth(line) for line, anew in zip(lines, lost, strict=True) if anew])
        literal = all(_depth(line) % unit == 0 for line in others)
    return replace(hunk, lines=tuple(lines)) if literal else hunk


def _refuse_doubtful(hunk: Hunk, there: frozenset[str]) -> None:
    """A `+` may be the mark of a new line, or the first character of one that lost its mark."""
    for line in hunk.lines:
        if line.sign == "+" and line.text.strip() and "+" + line.text.rstrip() in there:
            raise ProblemRaised(
                "no_match",
                f"{'+' + line.text!r} may be a new line, or the file's own line without a mark",
                hint="put a blank before every line that stays",
            )


def _depth(line: Line) -> int:
    return len(line.text) - len(line.text.lstrip())
