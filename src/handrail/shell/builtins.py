"""Builtins after which words no longer mean what they say."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from handrail.shell.syntax import Word

_REDEFINING: Final = {
    "alias": "an alias makes another command of a name",
    "enable": "builtins are switched off or loaded",
    "bind": "keys are bound to commands",
    "complete": "a completion may run commands",
    "compgen": "a completion may run commands",
    "fc": "earlier commands are run again",
}
# They take names of variables, and `a[$(rm x)]` as a name runs the command in it.
_NAMING: Final = frozenset(
    {"test", "[", "read", "mapfile", "readarray", "printf", "unset", "wait", "getopts", "declare",
     "typeset", "local", "export", "readonly", "let"}
)  # fmt: skip
_DECLARING: Final = frozenset({"declare", "typeset", "local", "readonly", "export"})


def doubts(words: Sequence[Word]) -> Iterator[str]:
    """Why a builtin with these arguments makes the rest uncertain."""
    program = words[0].value or ""
    values = [word.value for word in words[1:]]
    if program in _REDEFINING and (values or program != "alias"):
        yield _REDEFINING[program]
    if program == "hash" and any((value or "-p").startswith("-") for value in values):
        yield "a name is bound to another program"
    if program == "shopt" and any(value in ("expand_aliases", None) for value in values):
        yield "aliases are switched on"
    if program in ("mapfile", "readarray") and any(_has(v, "C") for v in values):
        yield "a callback may run"
    if program in _DECLARING and any(_has(v, "n") or _has(v, "i") for v in values):
        yield "a variable stands for another one, or is worked out as arithmetic"
    if program in _NAMING and any(value and "[" in value and _runs(value) for value in values):
        yield "a subscript is evaluated, which can run commands"


def _has(value: str | None, letter: str) -> bool:
    return value is None or (value.startswith("-") and letter in value)


def _runs(value: str) -> bool:
    return "$" in value or "`" in value
