"""Compares lines with blanks, quotes and dashes normalized, and restores the file's spelling.

`squeeze` finds candidates fast and accepts too many; `canonical` decides. Neither folds letters,
digits or operators: lines with equal keys have the same meaning.
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
# Variation selectors choose between the text and the picture of a sign.
UNSEEN: Final = "".join(map(chr, sorted({*FORMAT_CHARACTERS, 0xFE0E, 0xFE0F})))
_FOLDED: Final = (
    {ord(char): "'" for char in SINGLE}
    | {ord(char): '"' for char in DOUBLE}
    | {ord(char): "-" for char in DASHES}
    | {ord(char): None for char in UNSEEN}
)
# Signs that mean something else than their plain form: 10² is not 102, 1½ not 11/2.
_MEANT: Final = ("<super>", "<sub>", "<fraction>", "<circle>")
_BLANKS: Final = " \t\r\f\v\u0085\u1680"
_FOREIGN: Final = re.compile(r"[^\x00-\x7f]")
_BRACKETS: Final = "()[]{},;"
_GAP: Final = re.compile(r"\s+")


def squeeze(text: str) -> str:
    """Return text without blanks and with one kind of quote; line feeds are kept."""
    text = fold_typography(text)
    for blank in _BLANKS:
        text = text.replace(blank, "")
    return text.replace('"', "'")


@lru_cache(maxsize=4_096)
def canonical(line: str) -> str:
    """Return a line with blanks only where they separate words or equal signs."""
    line = fold_typography(line).strip()
    return _GAP.sub(_gap, line)


def fold_quotes(line: str) -> str:
    """Return a canonical line with one kind of quote."""
    return line.replace('"', "'")


def fold_typography(text: str) -> str:
    """Replace typographic quotes, dashes and blanks by ASCII and remove invisible characters."""
    if text.isascii():
        return text
    # One `replace` per typographic character is many times faster than `translate`.
    foreign = set(_FOREIGN.findall(text))
    for char in foreign:
        if (plain := _plain(char)) != char:
            text = text.replace(char, plain)
    return unicodedata.normalize("NFC", text) if any(map(unicodedata.combining, foreign)) else text


@lru_cache(maxsize=4_096)
def _plain(char: str) -> str:
    plain = unicodedata.normalize("NFKC", char.translate(_FOLDED))
    meant = unicodedata.decomposition(char).startswith(_MEANT)
    return char if meant and any(map(str.isdigit, plain)) else plain


def _gap(match: re.Match[str]) -> str:
    before, after = match.string[match.start() - 1], match.string[match.end()]
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
    """The same text as the call spells it and as the file spells it."""

    call: str
    file: str


def respell(
    new: Sequence[str], known: Iterable[SpelledPair], given: Sequence[str] | None = None
) -> list[str]:
    """Return the new texts with ASCII for the typographic characters that the file spells in ASCII
    in the `known` pairs.

    A character counts only if the file always has the ASCII form and the call never does: a call
    that uses both distinguishes them. `given` are the new texts as the call wrote them, if `new`
    already includes text from the file.
    """
    if all(text.isascii() for text in new):
        return list(new)
    same = list(known)
    pairs = [pair for texts in same for pair in _pairs(texts)]
    plain = {
        ord(sign): ascii_char
        for ascii_char, signs in _FAMILIES.items()
        if not any(ascii_char in text for text in given or new)
        and _is_clear(pairs, ascii_char, signs)
        for sign in signs
    }
    if _has_wide(texts.call for texts in same) and not _has_wide(texts.file for texts in same):
        plain |= dict.fromkeys(map(ord, _WIDE), " ")
    return [text.translate(plain) for text in new] if plain else list(new)


def _has_wide(texts: Iterable[str]) -> bool:
    return any(blank in text for text in texts for blank in _WIDE)


def _is_clear(pairs: Sequence[tuple[str, str]], ascii_char: str, signs: str) -> bool:
    spellings = {file for call, file in pairs if call in signs}
    return spellings == {ascii_char} and not any(call == ascii_char for call, _ in pairs)


def _pairs(pair: SpelledPair) -> Iterable[tuple[str, str]]:
    """Return pairs of characters without blanks; empty if the two texts differ in content."""
    call, file = pair.call.translate(_DROPPED), pair.file.translate(_DROPPED)
    same = len(call) == len(file) and fold_typography(call) == fold_typography(file)
    return zip(call, file, strict=True) if same else ()
