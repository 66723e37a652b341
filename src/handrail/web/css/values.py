"""Lengths, percentages and numbers of CSS, also in `calc()`. Part of `html_worker`; imports nothing of
Handrail but its neighbours.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.web.css.syntax import CssToken, function_arguments, split_arguments

# The window that is assumed for a page.
WIDTH: Final = 1280.0
HEIGHT: Final = 800.0
_KINDS: Final = ("", "s", "l", "d")
_PIXELS: Final = {
    "px": 1.0,
    "in": 96.0,
    "cm": 96 / 2.54,
    "mm": 96 / 25.4,
    "q": 96 / 101.6,
    "pt": 96 / 72,
    "pc": 16.0,
    "rem": 16.0,
    "rlh": 20.0,
    **{f"{kind}{unit}": WIDTH / 100 for kind in _KINDS for unit in ("vw", "vi", "vmax")},
    **{f"{kind}{unit}": HEIGHT / 100 for kind in _KINDS for unit in ("vh", "vb", "vmin")},
}
_OF_FONT: Final = {"em": 1.0, "ex": 0.5, "ch": 0.5, "ic": 1.0, "cap": 0.7, "lh": 1.2}
_DEGREES: Final = {"deg": 1.0, "grad": 0.9, "rad": 57.29578, "turn": 360.0}
_LARGEST: Final = 1e9
_LONGEST: Final = 200
_DEEPEST: Final = 20


class CssAmount(NamedTuple):
    """A sum of pixels, ems, percent, degrees and a number without unit."""

    pixels: float = 0.0
    ems: float = 0.0
    percent: float = 0.0
    degrees: float = 0.0
    number: float = 0.0
    # Whether it was written without any unit.
    plain: bool = False

    def resolve(self, font: float, base: float) -> float:
        """Return the amount in pixels, for a font size and the meaning of 100%."""
        return self.pixels + self.ems * font + self.percent / 100 * base

    @property
    def nominal(self) -> float:
        """A number by which amounts are compared."""
        return self.resolve(16, WIDTH) + self.number + self.degrees

    @property
    def is_length(self) -> bool:
        """Whether this is a length or a percentage; 0 needs no unit."""
        return not self.degrees and (not self.plain or self.number == 0)

    def plus(self, other: CssAmount) -> CssAmount:
        """Return the sum of two amounts."""
        return CssAmount(
            self.pixels + other.pixels,
            self.ems + other.ems,
            self.percent + other.percent,
            self.degrees + other.degrees,
            self.number + other.number,
            self.plain and other.plain,
        )

    def times(self, factor: float) -> CssAmount:
        """Return a multiple, within limits that no page reaches."""

        def limit(number: float) -> float:
            return min(max(number * factor, -_LARGEST), _LARGEST)

        return CssAmount(
            limit(self.pixels),
            limit(self.ems),
            limit(self.percent),
            limit(self.degrees),
            limit(self.number),
            self.plain,
        )


def read_amount(value: Sequence[CssToken], depth: int = 0) -> CssAmount | None:
    """Return a number, a length, a percentage or an angle; None for anything else."""
    if not value or depth > _DEEPEST or len(value) > _LONGEST:
        return None
    token = value[0]
    if token.kind == "number" and len(value) == 1:
        return _with_unit(token.number, token.text)
    brackets = token.is_sign("(") and depth > 0
    if (token.kind != "function" and not brackets) or token.end != len(value):
        return None
    name = "calc" if brackets else token.text.lower().removeprefix("-webkit-")
    parts = [_read_sum(one, depth + 1) for one in split_arguments(function_arguments(value), ",")]
    known = [one for one in parts if one is not None]
    return None if len(known) < len(parts) else _combine(name, known)


def _combine(name: str, amounts: list[CssAmount]) -> CssAmount | None:
    """Return the result of a function."""
    if name == "calc":
        return amounts[0] if len(amounts) == 1 else None
    if name in ("min", "max"):
        return (min if name == "min" else max)(amounts, key=_nominal)
    if name == "clamp" and len(amounts) == 3:
        low, wanted, high = amounts
        return max(low, min(wanted, high, key=_nominal), key=_nominal)
    return None


def _nominal(amount: CssAmount) -> float:
    return amount.nominal


def _with_unit(number: float, unit: str) -> CssAmount | None:
    number = min(max(number, -_LARGEST), _LARGEST)
    if not unit:
        return CssAmount(number=number, plain=True)
    if unit == "%":
        return CssAmount(percent=number)
    if unit in _PIXELS:
        return CssAmount(pixels=number * _PIXELS[unit])
    if unit in _OF_FONT:
        return CssAmount(ems=number * _OF_FONT[unit])
    return CssAmount(degrees=number * _DEGREES[unit]) if unit in _DEGREES else None


def _read_sum(value: Sequence[CssToken], depth: int) -> CssAmount | None:
    """Return a sum inside `calc()`: its signs are between blanks."""
    words = [one for one in split_arguments(value, " ") if one]
    total: CssAmount | None = None
    term: list[CssToken] = []
    factor = 1.0
    for word in [*words, None]:
        is_sign = word is not None and len(word) == 1 and word[0].is_sign("+-")
        if word is not None and not (is_sign and term):
            term += word
            continue
        product = _read_product(term, depth)
        if product is None or (total is not None and total.plain != product.plain):
            return None
        total = product if total is None else total.plus(product.times(factor))
        factor = -1.0 if word is not None and word[0].text == "-" else 1.0
        term = []
    return total


def _read_product(value: Sequence[CssToken], depth: int) -> CssAmount | None:
    result: CssAmount | None = None
    for at, part in enumerate(split_arguments(value, "*")):
        divided = [read_amount(one, depth) for one in split_arguments(part, "/")]
        if any(one is None for one in divided):
            return None
        first, *divisors = [one for one in divided if one is not None]
        for divisor in divisors:
            if not divisor.plain or abs(divisor.number) < 1 / _LARGEST:
                return None
            first = first.times(1 / divisor.number)
        if at == 0 or result is None:
            result = first
        elif first.plain or result.plain:
            scale, other = (first, result) if first.plain else (result, first)
            result = other.times(scale.number)
        else:
            return None
    return result
