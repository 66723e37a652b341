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
    if program in ("mapfile", "readarray") and any((v or "-C").startswith("-") for v in values):
        yield from ("a callback may run",) if any(_has(v, "C") for v in values) else ()
    if program in _NAMING and any(value and "[" in value and _runs(value) for value in values):
        yield "a subscript is evaluated, which can run commands"


def _has(value: str | None, letter: str) -> bool:
    return value is None or (value.startswith("-") and letter in value)


def _runs(value: str) -> bool:
    return "$" in value or "`" in value
