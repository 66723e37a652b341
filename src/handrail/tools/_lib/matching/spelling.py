"""New text with the file's own quotes and dashes, where the call's old text shows that it only
spells them typographically. Where the evidence is mixed, new text is taken as it is given.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from handrail.tools._lib.matching.keys import DASHES, DOUBLE, SINGLE, UNSEEN, folded

_FAMILIES: Final = {"'": SINGLE, '"': DOUBLE, "-": DASHES}
_DROPPED: Final = dict.fromkeys(map(ord, f"{UNSEEN} \t\r\n\f\v\u00a0"))


class Spelled(NamedTuple):
    """The same text as the call has it and as the file has it."""

    call: str
    file: str


def respell(new: Sequence[str], known: Iterable[Spelled]) -> list[str]:
    """The new texts, each typographic sign plain that the file has plain in what is known.

    A sign counts only if the file has it plain everywhere and the call nowhere: a call that
    uses both means something by it.
    """
    if all(text.isascii() for text in new):
        return list(new)
    pairs = [pair for one in known for pair in _pairs(one)]
    plain = {
        ord(sign): own
        for own, signs in _FAMILIES.items()
        if not any(own in text for text in new) and _is_clear(pairs, own, signs)
        for sign in signs
    }
    return [text.translate(plain) for text in new] if plain else list(new)


def _is_clear(pairs: Sequence[tuple[str, str]], own: str, signs: str) -> bool:
    there = {file for call, file in pairs if call in signs}
    return there == {own} and not any(call == own for call, _ in pairs)


def _pairs(one: Spelled) -> Iterable[tuple[str, str]]:
    """Sign by sign, blanks left out; nothing if the two do not say the same."""
    call, file = one.call.translate(_DROPPED), one.file.translate(_DROPPED)
    same = len(call) == len(file) and folded(call) == folded(file)
    return zip(call, file, strict=True) if same else ()
