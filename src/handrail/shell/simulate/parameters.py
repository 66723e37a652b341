"""The operators of `${name…}` on known values.

A text with an unknown piece stays unknown under every operator that looks into it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from fnmatch import translate
from typing import Final

from handrail.shell.expand import UNKNOWN, UNSET

_LONGEST: Final = 1024
_NUMBER: Final = re.compile(r"\s*-?\d+\s*")
_REMOVALS: Final = frozenset({"#", "##", "%", "%%"})
_CASES: Final[Mapping[str, Callable[[str], str]]] = {
    ",,": str.lower,
    "^^": str.upper,
    ",": lambda text: text[:1].lower() + text[1:],
    "^": lambda text: text[:1].upper() + text[1:],
}


def apply_operator(value: str, operator: str, operands: Sequence[str]) -> str:
    """The value after an operator that changes text; `UNKNOWN` if the result is not known."""
    if operator == "length":
        return UNKNOWN if is_open(value) else str(len(value))
    if is_open(value) or any(map(is_open, operands)) or len(value) > _LONGEST:
        return UNKNOWN
    first = operands[0] if operands else ""
    if operator in _REMOVALS:
        return _without(value, operator, first)
    if operator in ("/", "//"):
        return _replaced(value, operator, first, operands[1] if len(operands) > 1 else "")
    if operator == ":":
        return _slice(value, operands)
    change = _CASES.get(operator)
    return value if change is None else change(value)


def is_open(text: str) -> bool:
    """Whether a part of the text is not known."""
    return UNKNOWN in text or UNSET in text


def _without(value: str, operator: str, pattern: str) -> str:
    """The value without its shortest or longest beginning (`#`) or end (`%`) that matches."""
    matches = re.compile(translate(pattern)).match
    from_start = operator[0] == "#"
    sizes: Sequence[int] = range(len(value) + 1)
    if len(operator) == 2:
        sizes = sizes[::-1]
    for size in sizes:
        piece = value[:size] if from_start else value[len(value) - size :]
        if matches(piece):
            return value[size:] if from_start else value[: len(value) - size]
    return value


def _replaced(value: str, operator: str, pattern: str, new: str) -> str:
    anchor = pattern[:1] if pattern[:1] in ("#", "%") and operator == "/" else ""
    body = translate(pattern[len(anchor) :]).removesuffix(r"\Z").removesuffix(r"\z")
    look = {"#": rf"\A{body}", "%": rf"{body}\Z"}.get(anchor, body)
    return re.sub(look, lambda _: new, value, count=0 if operator == "//" else 1)


def _slice(value: str, operands: Sequence[str]) -> str:
    if not all(_NUMBER.fullmatch(one) for one in operands):
        return UNKNOWN
    numbers = [int(one) for one in operands]
    start = numbers[0] if numbers else 0
    rest = value[start:]
    return rest[: numbers[1]] if len(numbers) > 1 else rest
