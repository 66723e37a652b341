"""The variables that a command sets, with the values that they may have.

The order of execution is not followed: each value counts wherever the variable is used. The empty
value counts as well, unless the command starts with the assignment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Final

from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.expand import Binding
from handrail.shell.parse.syntax import (
    Assignment,
    Braces,
    Opaque,
    Script,
    SimpleCommand,
    Statement,
    Text,
    Variable,
    Word,
)

# Builtins that set the variables which their arguments name.
_SETTERS: Final = frozenset(
    (
        *("read", "mapfile", "readarray", "printf", "getopts", "unset", "declare", "typeset"),
        *("local", "export", "readonly", "let", "wait", "source", ".", "eval"),
    )
)
_OWN_NAME: Final = re.compile(r"(?!.*_proxy$)[a-z_][a-z0-9_]*")
_DEEPEST: Final = 8
# They give the arguments of the shell other numbers, or another shell its own.
_MOVES_ARGUMENTS: Final = frozenset(
    (
        *(
            "set",
            "shift",
            "source",
            ".",
            "eval",
            "getopts",
            "sh",
            "bash",
            "dash",
            "zsh",
            "ksh",
            "ash",
        ),
        "fish",
    )
)
_POSITION: Final = re.compile(r"\$\{?[1-9@*#]")
# Builtins that can set any variable.
_SET_ANYTHING: Final = frozenset({"source", ".", "eval", "let"})


def bind_variables(
    script: Script | None, flat: FlatCommand, env: Mapping[str, str]
) -> Mapping[str, Binding]:
    """The values of every variable that is set in the command or in `env`."""
    assigned = {name: [Word(value, (Text(value, quoted=True),))] for name, value in env.items()}
    for one in flat.invocations:
        for assignment in one.assignments:
            if assignment.value is not None:
                assigned.setdefault(assignment.name, []).append(assignment.value)
    statements = () if script is None else script.statements
    leading = {one.name for one in _leading_assignments(statements)}
    complete = _complete_values(flat, env)
    bound = {
        name: Binding(tuple(words), complete.get(name), may_be_unset=name not in leading)
        for name, words in assigned.items()
    }
    return {**bound, **_function_arguments(flat)}


def _function_arguments(flat: FlatCommand) -> Mapping[str, Binding]:
    """The arguments of the one function of a command, where every call gives them as plain text."""
    if len(flat.functions) != 1 or any(one.program in _MOVES_ARGUMENTS for one in flat.invocations):
        return {}
    (name,) = flat.functions
    calls = [one for one in flat.invocations if one.program == name]
    others = [one for one in flat.invocations if one.function != name]
    plain = all(map(_is_plain, (word for one in calls for word in one.words)))
    nested = any(one.wrapped_by or one.function or one.extra_arguments for one in calls)
    if not calls or not plain or nested or any(_POSITION.search(one.source) for one in others):
        return {}
    least = min(len(one.words) for one in calls) - 1
    return {
        str(number): Binding(
            tuple(dict.fromkeys(one.words[number] for one in calls)),
            tuple(dict.fromkeys(one.words[number] for one in calls)),
            may_be_unset=False,
        )
        for number in range(1, min(least, 9) + 1)
    }


def _is_plain(word: Word) -> bool:
    """Whether a word is one argument whose text is known."""
    return not (word.globs or word.tilde) and all(isinstance(part, Text) for part in word.parts)


def _complete_values(flat: FlatCommand, env: Mapping[str, str]) -> Mapping[str, tuple[Word, ...]]:
    """All values of the variables that are set by plain assignments only."""
    values: dict[str, list[Word]] = {}
    unknown = set(env)
    for one in flat.invocations:
        unknown |= set(_names_set_by_builtin(one))
        if one.words:
            continue
        for assignment in one.assignments:
            if assignment.value is None or assignment.inner or "+=" in one.source:
                unknown.add(assignment.name)
            else:
                values.setdefault(assignment.name, []).append(assignment.value)
    if any(one.program in _SET_ANYTHING for one in flat.invocations):
        return {}
    return {
        name: tuple(words)
        for name, words in values.items()
        if name not in unknown and name not in flat.evaluates
    }


def _leading_assignments(statements: Sequence[Statement]) -> Iterator[Assignment]:
    """The assignments with which a script starts, before anything could use them."""
    for statement in statements:
        command = statement.command
        while not isinstance(command, SimpleCommand) and hasattr(command, "first"):
            command = command.first.command
        if not isinstance(command, SimpleCommand) or command.words or statement.background:
            return
        yield from command.assignments
        if command is not statement.command:
            return


def _names_set_by_builtin(one: Invocation) -> Iterator[str]:
    if one.program in _SETTERS:
        for word in one.words[1:]:
            yield (word.value or "").partition("[")[0].partition("=")[0]
        for assignment in one.assignments:
            yield assignment.name


def harmless_texts(flat: FlatCommand) -> frozenset[str]:
    """Variables whose values come from the command itself or from what it reads, never from the
    environment: printing them reveals nothing that the command does not show anyway.

    Names of environment variables are in capitals; a variable in capitals may be inherited.
    """
    given: dict[str, list[Word]] = {}
    for one in flat.invocations:
        for assignment in one.assignments:
            words = [assignment.value] if assignment.value is not None else []
            given.setdefault(assignment.name, []).extend((*words, *assignment.inner))
    found = {name for name in given if _OWN_NAME.fullmatch(name)}
    while True:
        kept = {name for name in found if all(_is_own(word, found) for word in given[name])}
        if kept == found:
            return frozenset(found)
        found = kept


def _is_own(word: Word, known: Collection[str], depth: int = 0) -> bool:
    """Whether the text of a word depends on no variable but these."""
    if depth > _DEEPEST:
        return False
    for part in word.parts:
        inner: tuple[Word, ...] = ()
        match part:
            case Variable(name=name, inner=inner, operator=operator):
                if operator == "!" or not (name in known or name in ("PWD", "HOME")):
                    return False
            case Opaque(inner=inner) | Braces(alternatives=inner):
                pass
        if not all(_is_own(one, known, depth + 1) for one in inner):
            return False
    return True
