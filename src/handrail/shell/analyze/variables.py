"""The variables that a command sets, with the values that they may have.

The order of execution is not followed: each value counts wherever the variable is used. The empty
value counts as well, unless the command starts with the assignment.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import takewhile
from typing import Final

from handrail.core.commands import Reason
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.analyze.shells import SHELLS
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
from handrail.shell.parse.words import static_prefix

# Builtins that set the variables which their arguments name.
_SETTERS: Final = frozenset(
    (
        *("read", "mapfile", "readarray", "printf", "getopts", "unset", "declare", "typeset"),
        *("local", "export", "readonly", "let", "wait", "source", ".", "eval"),
    )
)
_OWN_NAME: Final = re.compile(r"(?!.*_proxy$)[a-z_][a-z0-9_]*")
_FLAGS: Final = re.compile(r"[-+][a-zA-Z]+")
_NAMES_OPTION: Final = re.compile(r"[-+][a-zA-Z]*o")
_PLACE: Final = re.compile(r"[\w./]")
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
    return {**bound, **_function_arguments(flat, complete)}


def bind_arguments(one: Invocation, flat: FlatCommand) -> Mapping[str, Binding]:
    """The arguments of the shell text that a program stands in: `$1` of `sh -c '… "$1"' _ x`."""
    if any(map(_moves_arguments, flat.invocations)):
        return {}
    certain = takewhile(lambda word: _is_plain(word) or _is_placeholder(word), one.arguments or ())
    return {
        str(number): Binding((word,), (word,), may_be_unset=False)
        for number, word in enumerate(certain, 1)
    }


def _is_placeholder(word: Word) -> bool:
    return (
        len(word.parts) == 1 and isinstance(word.parts[0], Opaque) and word.parts[0].is_placeholder
    )


def _moves_arguments(one: Invocation) -> bool:
    """Whether a builtin may give the arguments of the shell other numbers."""
    if one.program != "set":
        return one.program in _MOVES_ARGUMENTS - SHELLS
    values = [word.value or "$" for word in one.words[1:]]
    named = {at + 1 for at, value in enumerate(values) if _NAMES_OPTION.fullmatch(value)}
    return not all(_FLAGS.fullmatch(value) or at in named for at, value in enumerate(values))


def place_doubts(flat: FlatCommand, bindings: Mapping[str, Binding]) -> Iterator[Reason]:
    """Reasons why a variable that stands for a file may turn out to be an option."""
    for name in sorted(flat.places):
        values = bindings[name].complete if name in bindings else None
        if not values or not all(_PLACE.match(static_prefix(word)) for word in values):
            yield Reason("its value may begin with a dash", name)


def _function_arguments(
    flat: FlatCommand, complete: Mapping[str, tuple[Word, ...]]
) -> Mapping[str, Binding]:
    """The arguments of the one function of a command, where every call gives them as plain text, or
    as variables that have such values.
    """
    if len(flat.functions) != 1 or any(one.program in _MOVES_ARGUMENTS for one in flat.invocations):
        return {}
    (name,) = flat.functions
    calls = [one for one in flat.invocations if one.program == name]
    others = [one for one in flat.invocations if one.function != name]
    given = [[_given(word, one, complete) for word in one.words[1:]] for one in calls]
    plain = all(word is not None for words in given for word in words)
    nested = any(one.wrapped_by or one.function or one.extra_arguments for one in calls)
    if not calls or not plain or nested or any(_POSITION.search(one.source) for one in others):
        return {}
    least = min(map(len, given))
    values = {
        str(number + 1): tuple(
            dict.fromkeys(word for words in given for word in words[number] or ())
        )
        for number in range(min(least, 9))
    }
    return {name: Binding(words, words, may_be_unset=False) for name, words in values.items()}


def _given(
    word: Word, one: Invocation, complete: Mapping[str, tuple[Word, ...]]
) -> tuple[Word, ...] | None:
    """The texts that an argument may be; None if they are not known."""
    if _is_plain(word):
        return (word,)
    only = word.parts[0] if len(word.parts) == 1 else None
    if not isinstance(only, Variable) or not (
        only.plain and only.quoted and only.name in one.bound
    ):
        return None
    values = complete.get(only.name, ())
    return values if values and all(map(_is_plain, values)) else None


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
            case Variable(name=name, inner=inner, operator=operator, index=index):
                lists_keys = bool(index) and index[0].value in ("@", "*")
                if (operator == "!" and not lists_keys) or not (
                    name in known or name in ("PWD", "HOME")
                ):
                    return False
            case Opaque(inner=inner) | Braces(alternatives=inner):
                pass
        if not all(_is_own(one, known, depth + 1) for one in inner):
            return False
    return True
