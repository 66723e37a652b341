"""Expansions that always become numbers or single letters."""

from __future__ import annotations

import re
from typing import Final

_MAX_STEPS: Final = 100_000
# Numbers that the shell maintains: never an option, never a path that leads elsewhere.
NUMBERS: Final = re.compile(
    r"[?#$!]|PPID|UID|EUID|RANDOM|SRANDOM|SECONDS|LINENO|BASHPID|SHLVL|EPOCHSECONDS|OPTIND"
    r"|COLUMNS|LINES|HISTCMD|BASH_SUBSHELL"
)
_ARITHMETIC: Final = re.compile(r"\$\(\((?:0[xX][0-9A-Fa-f]+|[\s\d+\-*/%()<>=!&|^~?:,])*\)\)")
SEQUENCE: Final = re.compile(r"\{(-?\d+|[A-Za-z])\.\.(-?\d+|[A-Za-z])(?:\.\.(-?\d+))?\}")


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
