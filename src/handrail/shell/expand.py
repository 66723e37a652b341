"""What words stand for before they run: brace expansion `{a,b}`, static beginnings and texts.

Where a shell's rules for odd braces are not worth knowing, the whole word is opaque.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from handrail.shell.parse.syntax import Braces, Opaque, Part, Substitution, Text, Variable, Word

MAX_WORDS: Final = 256
_MAX_BRACES: Final = 50

# A letter of unquoted text, or a part that no brace can cut.
_Piece = str | Part


def find(source: str, parts: tuple[Part, ...]) -> tuple[Part, ...]:
    """The parts with their braces found; the same parts where there is nothing to expand."""
    braces = sum(p.text.count("{") for p in parts if isinstance(p, Text) and not p.quoted)
    if not braces:
        return parts
    if braces > _MAX_BRACES:
        return (Opaque(source, (Word(source, parts),)),)
    pieces: list[_Piece] = []
    for part in parts:
        if isinstance(part, Text) and not part.quoted:
            pieces.extend(part.text)
        else:
            pieces.append(part)
    found = _read(pieces)
    return (Opaque(source, (Word(source, parts),)),) if found is None else found


def _read(pieces: Sequence[_Piece]) -> tuple[Part, ...] | None:
    """The parts of some pieces; None if their braces are odd."""
    done: list[_Piece] = []
    index = 0
    while index < len(pieces):
        piece = pieces[index]
        if piece != "{":
            done.append(piece)
            index += 1
            continue
        end = _closing(pieces, index)
        inside = pieces[index + 1 : end] if end else pieces[index + 1 :]
        if not _expands(inside):
            done.append(piece)
            index += 1
            continue
        braces = _alternatives(inside) if end else None
        if not end or braces is None:
            return None
        done.append(braces)
        index = end + 1
    return _joined(done)


def _closing(pieces: Sequence[_Piece], start: int) -> int:
    depth = 0
    for index in range(start, len(pieces)):
        depth += {"{": 1, "}": -1}.get(_letter(pieces[index]), 0)
        if not depth:
            return index
    return 0


def _expands(inside: Sequence[_Piece]) -> bool:
    letters = "".join(_letter(piece) or "\0" for piece in inside)
    return "," in letters or ".." in letters


def _alternatives(inside: Sequence[_Piece]) -> Part | None:
    """What the braces stand for; None for a sequence or for braces that stay as they are."""
    choices: list[list[_Piece]] = [[]]
    depth = 0
    for piece in inside:
        depth += {"{": 1, "}": -1}.get(_letter(piece), 0)
        if piece == "," and not depth:
            choices.append([])
        else:
            choices[-1].append(piece)
    if len(choices) == 1:
        return None
    words = []
    for choice in choices:
        parts = _read(choice)
        if parts is None:
            return None
        words.append(Word(_spelled(choice), parts))
    return Braces(tuple(words))


def _letter(piece: _Piece) -> str:
    return piece if isinstance(piece, str) else ""


def _spelled(pieces: Sequence[_Piece]) -> str:
    return "".join(
        piece if isinstance(piece, str) else getattr(piece, "text", "…") for piece in pieces
    )


def _joined(pieces: Sequence[_Piece]) -> tuple[Part, ...]:
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


def words_of(word: Word) -> tuple[Word, ...]:
    """The words that a word's braces make, in order; itself if it has none.

    More than `MAX_WORDS` are not worked out: the word is then opaque.
    """
    if not any(isinstance(part, Braces) for part in word.parts):
        return (word,)
    made: list[tuple[Part, ...]] = [()]
    for part in word.parts:
        if isinstance(part, Braces):
            endings = [one.parts for choice in part.alternatives for one in words_of(choice)]
        else:
            endings = [(part,)]
        if len(made) * len(endings) > MAX_WORDS:
            return (Word(word.source, (Opaque(word.source, (word,)),)),)
        made = [start + end for start in made for end in endings]
    return tuple(Word(word.source, parts) for parts in made if parts)


def start_of(word: Word) -> str:
    """The word's text up to the first part that is computed."""
    letters: list[str] = []
    for part in word.parts:
        if not isinstance(part, Text):
            break
        letters.append(part.text)
    return "".join(letters)


def after(word: Word, count: int) -> Word:
    """The word without so many of its first letters."""
    parts: list[Part] = []
    for part in word.parts:
        if count and isinstance(part, Text):
            kept = part.text[count:]
            count = max(0, count - len(part.text))
            if kept:
                parts.append(Text(kept, part.quoted))
        else:
            parts.append(part)
    return Word(word.source, tuple(parts))


def becomes_several(word: Word) -> bool:
    """Whether the shell may make several words of it: by file names, or at blanks."""
    return word.globs or not all(isinstance(part, Text) or stays_one(part) for part in word.parts)


def stays_one(part: Part) -> bool:
    """Whether what a part becomes is surely one word; `"$@"` and `"${list[@]}"` are not."""
    if isinstance(part, Variable):
        return part.quoted and part.plain and part.name not in ("@", "*")
    return isinstance(part, Substitution) and part.quoted


def marked(word: Word, mark: str) -> Word:
    """The word with every placeholder made unknown; itself if it has none."""
    parts: list[Part] = []
    for part in word.parts:
        if not (isinstance(part, Text) and mark in part.text):
            parts.append(part)
            continue
        for index, piece in enumerate(part.text.split(mark)):
            if index:
                parts.append(Opaque(mark, placed=True))
            if piece:
                parts.append(Text(piece, part.quoted))
    return Word(word.source, tuple(parts))


def spelled(word: Word) -> tuple[str, bool]:
    """The word's text and whether that is exact; `$x` is kept as it is written, other
    expansions become a variable that nobody knows, so that what stands around them is read.
    """
    letters: list[str] = []
    exact = not word.globs and not word.tilde
    for part in word.parts:
        if isinstance(part, Text):
            letters.append(part.text)
            continue
        exact = False
        if isinstance(part, Variable):
            letters.append(f"${{{part.name}}}")
        elif not isinstance(part, Opaque) or part.source:
            letters.append("${_}")
    return "".join(letters), exact
