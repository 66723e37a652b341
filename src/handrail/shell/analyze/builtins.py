"""Builtins that change what later words mean, and builtins that set variables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.shell.parse.syntax import Assignment, Opaque, Word
from handrail.shell.parse.words import drop_prefix, static_prefix

_REDEFINING: Final = {
    "alias": "an alias makes another command of a name",
    "enable": "builtins are switched off or loaded",
    "bind": "keys are bound to commands",
    "complete": "a completion may run commands",
    "compgen": "a completion may run commands",
    "fc": "earlier commands are run again",
}
# They take names of variables, and `a[$(rm x)]` as a name runs the command in it.
_NAMING: Final = {"printf": "v", "read": "adinNptu", "mapfile": "CcdnOsu", "readarray": "CcdnOsu",
                  "wait": "p", "getopts": "", "unset": ""}  # fmt: skip
_DECLARING: Final = frozenset({"declare", "typeset", "local", "readonly", "export"})
_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_ASSIGNMENT: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)(?:\[[^]]*\])?\+?=")
# A format of printf that only prints: `%n` sets a variable, and `%n` with PATH chooses programs.
FORMAT: Final = r"(?:[^%\0]|%[-+ #0'\d.*hjlLtz]*(?:\([^)\0]*\))?(?:[^-+ #0'\d.*hjlLtz(n\0]|\Z))*"
# No number: what will stand in such a variable is not known.
_ANYTHING: Final = Word("", (Opaque(""),))


def builtin_doubts(words: Sequence[Word]) -> Iterator[str]:
    """Why the rest of the command is uncertain after a builtin with these arguments."""
    program = words[0].value or ""
    starts = [static_prefix(word) for word in words[1:]]
    if program in _REDEFINING and (starts or program != "alias"):
        yield _REDEFINING[program]
    if program == "hash" and any(start[:1] in ("", "-") for start in starts):
        yield "a name is bound to another program"
    if program == "shopt" and any(start in ("", "expand_aliases") for start in starts):
        yield "aliases are switched on"
    if program in ("mapfile", "readarray") and any(_has(word, "C") for word in words[1:]):
        yield "a callback may run"
    if program in _DECLARING - {"export", "readonly"} and any(_has(one, "ni") for one in words[1:]):
        yield "a variable stands for another one, or is evaluated as arithmetic"
    if program == "printf" and starts[:1] == ["--"] and not _prints(words[2:3]):
        yield "printf may set a variable"
    if any(_subscript(program, word) for word in words[1:]):
        yield "a subscript is evaluated, which can run commands"
    if any(_is_computed(word) for word in _named(program, words)):
        yield "a variable is set whose name is computed"


def assigned_variables(words: Sequence[Word]) -> tuple[Assignment, ...]:
    """The variables that a builtin sets or unsets by the names in its arguments."""
    program = words[0].value or ""
    if program in _DECLARING:
        found = ((_ASSIGNMENT.match(static_prefix(word)), word) for word in words[1:])
        return tuple(Assignment(m[1], drop_prefix(word, m.end())) for m, word in found if m)
    names = [_NAME.match(static_prefix(word)) for word in _names(program, words)]
    return tuple(Assignment(match[0], _ANYTHING) for match in names if match)


def _is_computed(word: Word) -> bool:
    start = static_prefix(word)
    return not start or (word.value is None and not _ASSIGNMENT.match(start))


def _named(program: str, words: Sequence[Word]) -> Iterator[Word]:
    return iter(words[1:]) if program in _DECLARING else _names(program, words)


def _names(program: str, words: Sequence[Word]) -> Iterator[Word]:
    """The arguments that name variables: those that are neither options nor values of options."""
    takes_value = _NAMING.get(program)
    if takes_value is None:
        return
    left = iter(words[1:])
    for word in left:
        start = static_prefix(word)
        if not start.startswith("-"):
            if program != "printf":
                yield word
            continue
        valued = next((i for i, letter in enumerate(start) if letter in takes_value), None)
        if valued is None:
            continue
        given = drop_prefix(word, valued + 1) if len(start) > valued + 1 else next(left, word)
        if start[valued] in "av" or program == "wait":
            yield given


def _prints(formats: Sequence[Word]) -> bool:
    values = [word.value for word in formats]
    return all(one is not None and re.fullmatch(FORMAT, one, re.DOTALL) for one in values)


def _has(word: Word, letters: str) -> bool:
    start = static_prefix(word)
    return (not start and word.value is None) or (
        start.startswith("-") and any(one in start for one in letters)
    )


def _subscript(program: str, word: Word) -> bool:
    value = word.value
    if value is None or "[" not in value:
        return False
    if program in ("test", "[", "printf"):
        return "$" in value or "`" in value
    return program in _NAMING or program in _DECLARING or program == "let"
