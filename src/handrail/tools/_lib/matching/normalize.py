"""Lines compared by what they mean: blanks, quotes and dashes normalized, and put back as the file
spells them.

`squeeze` finds candidates fast and admits too many; `canonical` decides. Neither ever folds letters,
digits or operators: lines with equal keys say the same thing.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.core.text.invisible import FORMAT_CHARACTERS

SINGLE: Final = "\u2018\u2019\u201a\u201b\u2032\u02bc\u00b4"
DOUBLE: Final = "\u201c\u201d\u201e\u201f\u2033"
DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212"
UNSEEN: Final = "".join(map(chr, sorted(FORMAT_CHARACTERS)))
_FOLDED: Final = (
    {ord(char): "'" for char in SINGLE}
    | {ord(char): '"' for char in DOUBLE}
    | {ord(char): "-" for char in DASHES}
    | {ord(char): None for char in UNSEEN}
)
_BLANKS: Final = " \t\r\f\v\u0085\u1680"
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")
_BRACKETS: Final = "()[]{},;"
_GAP: Final = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """Text without blanks and with one kind of quote; line feeds are kept."""
    text = fold_typography(text)
    for blank in _BLANKS:
        text = text.replace(blank, "")
    return text.replace('"', "'")


@lru_cache(maxsize=4_096)
def canonical(line: str) -> str:
    """A line with its blanks only where they separate words or equal signs."""
    line = fold_typography(line).strip()
    return _GAP.sub(_gap, line)


def fold_quotes(line: str) -> str:
    """A canonical line in which one kind of quote is as good as the other."""
    return line.replace('"', "'")


def fold_typography(text: str) -> str:
    """Text with typographic quotes, dashes and blanks as on a keyboard, none invisible."""
    if text.isascii():
        return text
    # One pass for each sign that means another is many times faster than `translate`.
    foreign = set(_FOREIGN.findall(text))
    for char in foreign:
        if (plain := _plain(char)) != char:
            text = text.replace(char, plain)
    return unicodedata.normalize("NFKC", text) if any(map(unicodedata.combining, foreign)) else text


@lru_cache(maxsize=4_096)
def _plain(char: str) -> str:
    return unicodedata.normalize("NFKC", char.translate(_FOLDED))


def _gap(found: re.Match[str]) -> str:
    before, after = found.string[found.start() - 1], found.string[found.end()]
    if _is_word(before) and _is_word(after):
        return " "
    # `a - -b` is not `a--b`: a blank between two equal signs stays.
    return " " if before == after and before not in _BRACKETS else ""


def _is_word(char: str) -> bool:
    return char.isalnum() or char == "_"


_FAMILIES: Final = {"'": SINGLE, '"': DOUBLE, "-": DASHES}
_WIDE: Final = (
    "\u00a0\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000"
)
_DROPPED: Final = dict.fromkeys(map(ord, f"{UNSEEN} \t\r\n\f\v{_WIDE}"))


class SpelledPair(NamedTuple):
    """The same text as the call has it and as the file has it."""

    call: str
    file: str


def respell(
    new: Sequence[str], known: Iterable[SpelledPair], given: Sequence[str] | None = None
) -> list[str]:
    """The new texts, each typographic sign plain that the file has plain in what is known.

    A sign counts only if the file has it plain everywhere and the call nowhere: a call that
    uses both means something by it. `given` are the new texts as the call has them, where `new`
    has parts of the file already.
    """
    if all(text.isascii() for text in new):
        return list(new)
    same = list(known)
    pairs = [pair for one in same for pair in _pairs(one)]
    plain = {
        ord(sign): own
        for own, signs in _FAMILIES.items()
        if not any(own in text for text in given or new) and _is_clear(pairs, own, signs)
        for sign in signs
    }
    if _has_wide(one.call for one in same) and not _has_wide(one.file for one in same):
        plain |= dict.fromkeys(map(ord, _WIDE), " ")
    return [text.translate(plain) for text in new] if plain else list(new)


def _has_wide(texts: Iterable[str]) -> bool:
    return any(blank in text for text in texts for blank in _WIDE)


def _is_clear(pairs: Sequence[tuple[str, str]], own: str, signs: str) -> bool:
    there = {file for call, file in pairs if call in signs}
    return there == {own} and not any(call == own for call, _ in pairs)


def _pairs(one: SpelledPair) -> Iterable[tuple[str, str]]:
    """Sign by sign, blanks left out; nothing if the two do not say the same."""
    call, file = one.call.translate(_DROPPED), one.file.translate(_DROPPED)
    same = len(call) == len(file) and fold_typography(call) == fold_typography(file)
    return zip(call, file, strict=True) if same else ()
