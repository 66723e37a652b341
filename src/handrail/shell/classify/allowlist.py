"""Allowlist mode: the first word of every program is on the list, and there are no substitutions and
no variables that change what a program runs.

Works on the parsed command. A command that cannot be parsed has no segments and is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from handrail.core.commands import CommandClass, CommandSegment, Reason
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.classify.environment import classify_variable
from handrail.shell.parse.syntax import Braces, Opaque, Substitution, Variable, Word

_DEEPEST: Final = 16


def command_segments(flat: FlatCommand) -> tuple[CommandSegment, ...]:
    """One segment for each program of the command, wrappers included."""
    return tuple(
        CommandSegment(
            _first_word(one),
            one.source,
            one.in_substitution or _substitutes(_words(one)),
            _risky_variables(one),
        )
        for one in flat.invocations
    )


def allowlist_refusals(
    found: Collection[CommandSegment], allowed: Collection[str]
) -> tuple[Reason, ...]:
    """Why a command with these segments may not run; an empty list allows nothing."""
    if not found:
        return (Reason("the command could not be read", ""),)
    return tuple(_refusals(found, allowed))


def _refusals(found: Iterable[CommandSegment], allowed: Collection[str]) -> Iterator[Reason]:
    for one in found:
        if one.word is None:
            yield Reason("its first word is computed", one.source)
        elif one.word and one.word not in allowed:
            yield Reason(f"{one.word!r} is not on the list", one.source)
        if one.substitutes:
            yield Reason("a command inside another one is not allowed", one.source)
        for name in one.risky_variables:
            yield Reason(f"{name} changes what programs run or load", one.source)


def _first_word(one: Invocation) -> str | None:
    if not one.words:
        return ""
    first = one.words[0]
    return None if first.globs or first.tilde else first.value


def _risky_variables(one: Invocation) -> tuple[str, ...]:
    names = [assignment.name for assignment in one.assignments]
    return tuple(name for name in names if classify_variable(name) is CommandClass.DANGEROUS)


def _words(one: Invocation) -> Iterator[Word]:
    yield from one.words
    for assignment in one.assignments:
        yield from assignment.inner
        if assignment.value is not None:
            yield assignment.value
    for redirect in one.redirects:
        yield redirect.target
        if redirect.body is not None:
            yield redirect.body


def _substitutes(words: Iterable[Word], depth: int = 0) -> bool:
    # Deeper than anybody writes: taken for the worst.
    return depth > _DEEPEST or any(
        isinstance(part, Substitution)
        or (isinstance(part, Variable | Opaque) and _substitutes(part.inner, depth + 1))
        or (isinstance(part, Braces) and _substitutes(part.alternatives, depth + 1))
        for word in words
        for part in word.parts
    )
