"""Brace expansion: `{a,b}` makes several words of one.

Braces whose meaning differs between shells make the whole word opaque.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from handrail.shell.parse.syntax import Braces, Opaque, Part, Text, Word

MAX_WORDS: Final = 256
_MAX_BRACES: Final = 50
_MAX_SEQUENCE: Final = 32
_SEQUENCE: Final = re.compile(r"(\d{1,6})\.\.(\d{1,6})")

# A character of unquoted text, or a part that contains no brace of its own.
_Piece = str | Part


def find_braces(source: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with each expandable brace replaced by a `Braces` part."""
    braces = sum(p.text.count("{") for p in parts if isinstance(p, Text) and not p.quoted)
    if not braces:
        return parts
    # Of numbers alone it is enough to know that they are numbers.
    if braces > _MAX_BRACES or _SEQUENCE.fullmatch(source.strip("{}")):
        return (Opaque(source, (Word(source, parts),)),)
    pieces: list[_Piece] = []
    for part in parts:
        if isinstance(part, Text) and not part.quoted:
            pieces.extend(part.text)
        else:
            pieces.append(part)
    found = _read_pieces(pieces)
    return (Opaque(source, (Word(source, parts),)),) if found is None else found


def _read_pieces(pieces: Sequence[_Piece]) -> tuple[Part, ...] | None:
    """The parts that the pieces form; None if shells disagree on their braces."""
    done: list[_Piece] = []
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        if piece != "{":
            done.append(piece)
            index += 1
            continue
        end = _closing_brace(pieces, index)
        inside = pieces[index + 1 : end] if end else pieces[index + 1 :]
        if not _has_alternatives(inside):
            done.append(piece)
            index += 1
            continue
        braces = _alternatives(inside) if end else None
        if not end or braces is None:
            return None
        done.append(braces)
        index = end + 1
    return _merge_characters(done)


def _closing_brace(pieces: Sequence[_Piece], start: int) -> int:
    depth = 0
    for index in range(start, len(pieces)):
        depth += {"{": 1, "}": -1}.get(_character(pieces[index]), 0)
        if not depth:
            return index
    return 0


def _has_alternatives(inside: Sequence[_Piece]) -> bool:
    letters = "".join(_character(piece) or "\0" for piece in inside)
    return "," in letters or ".." in letters


def _alternatives(inside: Sequence[_Piece]) -> Part | None:
    """The alternatives between two braces; None for a sequence that is long or unusual."""
    numbers = _SEQUENCE.fullmatch("".join(map(_character, inside)))
    if numbers is not None and all(isinstance(piece, str) for piece in inside):
        return _sequence(numbers[1], numbers[2])
    choices: list[list[_Piece]] = [[]]
    depth = 0
    for piece in inside:
        depth += {"{": 1, "}": -1}.get(_character(piece), 0)
        if piece == "," and not depth:
            choices.append([])
        else:
            choices[-1].append(piece)
    if len(choices) == 1:
        return None
    words = []
    for choice in choices:
        parts = _read_pieces(choice)
        if parts is None:
            return None
        words.append(Word(_source_text(choice), parts))
    return Braces(tuple(words))


def _sequence(first: str, last: str) -> Part | None:
    """The numbers from the first to the last; as wide as they are if one begins with a zero."""
    padded = (first[0] == "0" != first) or (last[0] == "0" != last)
    low, high = sorted((int(first), int(last)))
    if high - low >= _MAX_SEQUENCE or (padded and len(first) != len(last)):
        return None
    numbers = [str(one).zfill(len(first) if padded else 1) for one in range(low, high + 1)]
    ordered = numbers if int(first) == low else numbers[::-1]
    return Braces(tuple(Word(text, (Text(text),)) for text in ordered))


def _character(piece: _Piece) -> str:
    return piece if isinstance(piece, str) else ""


def _source_text(pieces: Sequence[_Piece]) -> str:
    return "".join(
        piece if isinstance(piece, str) else getattr(piece, "text", "…") for piece in pieces
    )


def _merge_characters(pieces: Sequence[_Piece]) -> tuple[Part, ...]:
    parts: list[Part] = []
    letters: list[str] = []
    for piece in pieces:
        if isinstance(piece, str):
            letters.append(piece)
            continue
        if letters:
            parts.append(Text("".join(letters)))
            letters = []
        parts.append(piece)
    if letters:
        parts.append(Text("".join(letters)))
    return tuple(parts)


def expand_braces(word: Word) -> tuple[Word, ...]:
    """The words that brace expansion makes of a word, in order; the word itself without braces.

    A word that would become more than `MAX_WORDS` words is opaque.
    """
    if not any(isinstance(part, Braces) for part in word.parts):
        return (word,)
    made: list[tuple[Part, ...]] = [()]
    for part in word.parts:
        if isinstance(part, Braces):
            endings = [one.parts for choice in part.alternatives for one in expand_braces(choice)]
        else:
            endings = [(part,)]
        if len(made) * len(endings) > MAX_WORDS:
            return (Word(word.source, (Opaque(word.source, (word,)),)),)
        made = [start + end for start in made for end in endings]
    return tuple(Word(word.source, parts) for parts in made if parts)
