"""The output of `echo` and `printf` with known arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_DIRECTIVE: Final = re.compile(r"%%|%[-+ #0'\d.*]*[A-Za-z]|\\n")


def printed_text(fields: Sequence[str], cwd: str | None) -> str | None:
    """What `echo`, `printf` or `pwd` prints; None for another program."""
    program, rest = (fields[0] if fields else "").rpartition("/")[2], list(fields[1:])
    if program == "pwd":
        return cwd
    if program in ("which", "command", "type") and rest:
        return rest[-1]
    if program == "echo":
        while rest and re.fullmatch(r"-[neE]+", rest[0]):
            rest.pop(0)
        return " ".join(rest)
    if program == "printf" and rest:
        return format_printf(rest[0], rest[1:])
    return None


def format_printf(form: str, arguments: Sequence[str]) -> str:
    """What printf prints; the format is used again until no argument is left."""
    made: list[str] = []
    left = list(arguments)

    def fill(directive: re.Match[str]) -> str:
        fixed = {"%%": "%", "\\n": "\n"}.get(directive[0])
        return fixed or (left.pop(0) if left else "")

    while True:
        before = len(left)
        made.append(_DIRECTIVE.sub(fill, form))
        if not left or len(left) == before:
            return "".join(made)
