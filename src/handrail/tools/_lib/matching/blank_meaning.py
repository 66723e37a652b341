"""Blanks that are content: in string literals, and where they separate words of shell commands or
the parts of CSS selectors.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath
from typing import Final

from handrail.tools._lib.matching.normalize import fold_typography

_LITERAL: Final = re.compile(r"\"(?:[^\"\\]|\\.)*\"|(?<!\w)'(?:[^'\\]|\\.)*'(?!\w)")
_PROSE: Final = frozenset({".md", ".markdown", ".mdx", ".rst", ".txt", ".adoc", ".org", ".tex", ""})
_SHELL: Final = frozenset({".sh", ".bash", ".zsh", ".fish"})
_CSS: Final = frozenset({".css", ".scss", ".less"})
_GAP: Final = re.compile(r"\s+")
# Operators that need no blanks around them.
_FREE: Final = ";|&<>()"
_SELECTOR: Final = re.compile(r".*[{,]\s*")
_PART: Final = re.compile(r"(?<=[\w)\]*])\s+(?=[.#:\[*])")


def has_same_blanks(call: str, line: str, path: str, *, changes: bool) -> bool:
    """Whether two lines that are equal but for spacing agree in the blanks that are content.

    A line that stays keeps its blanks, so that only a selector must agree: it names what is changed.
    """
    suffix = PurePosixPath(path).suffix.lower()
    if suffix in _PROSE:
        return True
    first, second = fold_typography(call).strip(), fold_typography(line).strip()
    if suffix in _CSS and _SELECTOR.fullmatch(second):
        return len(_PART.findall(first)) == len(_PART.findall(second))
    if not changes:
        return True
    if _LITERAL.findall(first) != _LITERAL.findall(second):
        return False
    return suffix not in _SHELL or _words(first) == _words(second)


def _words(command: str) -> str:
    return _GAP.sub(_kept, command)


def _kept(gap: re.Match[str]) -> str:
    before, after = gap.string[gap.start() - 1], gap.string[gap.end()]
    return "" if before in _FREE or after in _FREE else " "
