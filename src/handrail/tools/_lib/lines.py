"""How lines are shown to the model: cut when very long, numbered when asked, notes apart."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

MAX_LINE: Final = 2_000
# Words in brackets at the end; not what ends a list of numbers, strings or objects.
_LIKE_A_NOTE: Final = re.compile(
    r"(?:^|\n)[ \t]*\[(?:[^\"'{\[\]\d\s-]|[\d,]+ [^\W\d_])[^\n]* [^\n]*\]\s*\Z"
)
_TEXT_ENDS: Final = "what stands above this line is the file's own text, words in brackets too"


def clip(line: str, limit: int = MAX_LINE) -> str:
    """The line, or its beginning and how much was left out."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]}… [{len(line) - limit} more characters in this line]"


def numbered(lines: Iterable[str], first: int) -> list[str]:
    """Lines as `cat -n` shows them, counted from `first`."""
    return [f"{number:6}\t{line}" for number, line in enumerate(lines, first)]


def with_notes(text: str, notes: Sequence[str]) -> str:
    """The text with remarks of ours below it, in brackets."""
    if not notes:
        return text
    remarks = "\n".join([f"[{note}]" for note in notes])
    return f"{text}\n\n{remarks}" if text else remarks


def content_with_notes(text: str, notes: Sequence[str]) -> str:
    """The same for the text of a file, which cannot pass off its last line as a remark of ours.

    Whatever it ends with: the last line in brackets is ours.
    """
    if text.endswith(("]", "\n", " ", "\t", "\r")) and _LIKE_A_NOTE.search(text[-MAX_LINE:]):
        return with_notes(text, [_TEXT_ENDS, *notes])
    return with_notes(text, notes)


def counted(number: int, word: str) -> str:
    """`1 line`, `2 lines`, `2,000 lines`."""
    return f"{number:,} {word}" if number == 1 else f"{number:,} {word}s"
