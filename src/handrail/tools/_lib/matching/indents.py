"""How the indentation of a call becomes the indentation of the file.

Learnt from lines that stand in both. Where they teach nothing certain, the answer is None
and the edit is refused: a guessed indentation is a wrong edit in half of all languages.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import NamedTuple

Rule = Callable[[str], str | None]


class Pair(NamedTuple):
    """The indentation of one line, in the call and in the file."""

    call: str
    file: str


def indent_of(line: str) -> str:
    """The blanks a line begins with."""
    return line[: len(line) - len(line.lstrip())]


def learn(pairs: Sequence[Pair]) -> list[Rule]:
    """The rules that all pairs follow: a shift, another unit, or both; none if they disagree."""
    if all(pair.call == pair.file for pair in pairs):
        return [_unchanged]
    return [rule for rule in (_shift(pairs), _scale(pairs)) if rule is not None]


def lost_first(pairs: Sequence[Pair]) -> bool:
    """Whether the first line alone lost its indentation, as text from inside a line does."""
    rest = pairs[1:]
    return not pairs[0].call and any(pair.call for pair in rest) and bool(learn(rest))


def _unchanged(indent: str) -> str | None:
    return indent


def _shift(pairs: Sequence[Pair]) -> Rule | None:
    call, file = pairs[0]
    if file.endswith(call):
        added = file.removesuffix(call)
        if all(pair.file == added + pair.call for pair in pairs) and _fits(pairs):
            return lambda indent: added + indent
    if call.endswith(file):
        removed = call.removesuffix(file)
        if all(removed + pair.file == pair.call for pair in pairs):
            return lambda indent: (
                indent.removeprefix(removed) if indent.startswith(removed) else None
            )
    return None


def _fits(pairs: Sequence[Pair]) -> bool:
    # Blanks before tabs: the file is indented by other means than the call.
    return all(" \t" not in pair.file or " \t" in pair.call for pair in pairs)


def _scale(pairs: Sequence[Pair]) -> Rule | None:
    call_char = _one_char([pair.call for pair in pairs])
    file_char = _one_char([pair.file for pair in pairs])
    if not call_char or not file_char:
        return None
    points = sorted({(len(pair.call), len(pair.file)) for pair in pairs})
    step, base = _line_through(points)
    if any(step * x + base != y for x, y in points):
        return None
    # Two points lie on some line always; a change of unit is a whole step from nothing.
    if step <= 0 or (step != int(step) and 1 / step != int(1 / step)):
        return None
    if base and call_char == file_char:
        return None

    def scaled(indent: str) -> str | None:
        if indent.strip(call_char):
            return None
        width = step * len(indent) + base
        if width < 0 or (width.denominator != 1 and file_char != "\t"):
            return None
        whole = width.numerator // width.denominator
        # What is less than one tab was alignment, and stays alignment.
        rest = (width - whole) / step
        return file_char * whole + " " * int(rest)

    return scaled


def _line_through(points: Sequence[tuple[int, int]]) -> tuple[Fraction, Fraction]:
    (x0, y0), (x1, y1) = points[0], points[-1]
    if x0 == x1:
        return (Fraction(y1, x1) if x1 else Fraction(0)), Fraction(0)
    step = Fraction(y1 - y0, x1 - x0)
    return step, y0 - step * x0


def _one_char(indents: Sequence[str]) -> str | None:
    chars = {char for indent in indents for char in indent}
    return chars.pop() if len(chars) == 1 else None
