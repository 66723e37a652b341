"""The pieces of an expanded word, each with the part of the written word that it comes from, and
the numbers that a shell reads.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from handrail.shell.parse.syntax import Part, Text, Word

_MAX_STEPS: Final = 100_000
# Numbers that the shell maintains: never an option, never a path that leads elsewhere.
NUMBERS: Final = re.compile(
    r"[?#$!]|PPID|UID|EUID|RANDOM|SRANDOM|SECONDS|LINENO|BASHPID|SHLVL|EPOCHSECONDS|OPTIND"
    r"|COLUMNS|LINES|HISTCMD|BASH_SUBSHELL"
)
_ARITHMETIC: Final = re.compile(r"\$\(\((?:0[xX][0-9A-Fa-f]+|[\s\d+\-*/%()<>=!&|^~?:,])*\)\)")
SEQUENCE: Final = re.compile(r"\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\}")


class WordPiece(NamedTuple):
    """A stretch of an expanded word."""

    # The part of the written word, or of a variable's value, that the piece comes from.
    part: Part
    # None: a gap, known only at run time.
    text: str | None
    # Glob characters in the text are active.
    globs: bool = False
    # A leading `~` in the text is active.
    tilde: bool = False
    # Blanks in the text separate words.
    splits: bool = False
    # It stands for one of the names that its pattern matches.
    one: bool = False


class Field(NamedTuple):
    """One word after expansion. `source` is the written word that it comes from."""

    source: str
    pieces: tuple[WordPiece, ...]


def merge_pieces(pieces: Iterable[WordPiece]) -> tuple[WordPiece, ...]:
    """The pieces with neighbouring written text joined: `~{root,u}` is `~root` and `~u`."""
    made: list[WordPiece] = []
    for piece in pieces:
        last = made[-1] if made and isinstance(piece.part, Text) else None
        if (
            last is not None
            and isinstance(last.part, Text)
            and (last.globs, last.splits, last.one) == (piece.globs, piece.splits, piece.one)
        ):
            made[-1] = last._replace(text=(last.text or "") + (piece.text or ""))
        else:
            made.append(piece)
    return tuple(made)


def leaves_nothing(word: Word, pieces: Sequence[WordPiece]) -> bool:
    """Whether nothing is left of a word: its unquoted variables are empty."""
    return bool(word.parts) and all(piece.splits and piece.text == "" for piece in pieces)


def drop_tilde(pieces: tuple[WordPiece, ...]) -> tuple[WordPiece, ...]:
    return tuple(piece._replace(tilde=False) for piece in pieces)


def is_small_number(source: str) -> bool:
    """Whether an opaque expansion makes numbers or letters, and not too many of them."""
    if _ARITHMETIC.fullmatch(source):
        return True
    sequence = SEQUENCE.fullmatch(source)
    if sequence is None:
        return False
    first, last = sequence.group(1), sequence.group(2)
    if first.isalpha() or last.isalpha():
        return first.isalpha() and last.isalpha()
    return not first.startswith("-") and abs(int(first) - int(last)) <= _MAX_STEPS
