"""The variables that a command sets itself, with every value that they may have.

The order in which things run is not followed, so each value counts wherever the variable is
used; and "not set" counts too, unless the command starts with setting it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from handrail.shell.analyze.invocation import Flat, Invocation
from handrail.shell.parse.syntax import Assignment, Script, Simple, Statement, Word

_EMPTY: Final = Word("", ())
# They set variables which their arguments name.
_SETTERS: Final = frozenset(
    (
        *("read", "mapfile", "readarray", "printf", "getopts", "unset", "declare", "typeset"),
        *("local", "export", "readonly", "let", "wait", "source", ".", "eval"),
    )
)


def bindings(
    script: Script, flat: Flat, given: Mapping[str, str]
) -> Mapping[str, tuple[Word, ...]]:
    """The values by name; a name that is set in any other way is missing."""
    sure = {one.name for one in _leading(script.statements)}
    values: dict[str, list[Word]] = {}
    unknown = set(given)
    for one in flat.invocations:
        unknown |= set(_set_elsewhere(one))
        if not one.words:
            for assignment in one.assignments:
                if assignment.value is None or assignment.inner or "+=" in one.source:
                    unknown.add(assignment.name)
                else:
                    values.setdefault(assignment.name, []).append(assignment.value)
    if any(one.program in ("source", ".", "eval", "let") for one in flat.invocations):
        return {}
    return {
        name: tuple(words) if name in sure else (*words, _EMPTY)
        for name, words in values.items()
        if name not in unknown and name not in flat.evaluates
    }


def _leading(statements: Sequence[Statement]) -> Iterator[Assignment]:
    """The assignments with which a script starts, before anything could use them."""
    for statement in statements:
        command = statement.command
        while not isinstance(command, Simple) and hasattr(command, "first"):
            command = command.first.command
        if not isinstance(command, Simple) or command.words or statement.background:
            return
        yield from command.assignments
        if command is not statement.command:
            return


def _set_elsewhere(one: Invocation) -> Iterator[str]:
    if one.program in _SETTERS:
        for word in one.words[1:]:
            yield (word.value or "").partition("[")[0].partition("=")[0]
        for assignment in one.assignments:
            yield assignment.name
