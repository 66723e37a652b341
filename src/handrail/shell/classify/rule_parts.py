"""The programs of a command as permission rules see them.

Rules compare words; a word that is a glob or known only at run time is None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from handrail.core.commands import CommandClass, CommandPart
from handrail.shell.analyze.invocation import FlatCommand, Invocation
from handrail.shell.classify import environment, redirects
from handrail.shell.parse.syntax import Word

# Wrappers that change neither who runs a program nor with which words, where or on what.
_TRANSPARENT: Final = frozenset(("time", "timeout", "nice", "nohup", "stdbuf", "command"))


def command_parts(flat: FlatCommand, classes: Sequence[CommandClass]) -> tuple[CommandPart, ...]:
    """Every program that is started, without its wrappers, with its class."""
    return tuple(
        CommandPart(
            tuple(map(_word, one.words)),
            one.source,
            safety_class,
            redirects.writes_file(one.redirects),
        )
        for one, safety_class in zip(flat.invocations, classes, strict=True)
        if not one.is_wrapper
    )


def is_rule_matchable(flat: FlatCommand, env: Mapping[str, str]) -> bool:
    """Whether the parts describe the whole command: see `CommandAnalysis.rule_matchable`."""
    certain = not (env or flat.doubts or flat.functions or flat.evaluates)
    return certain and all(map(_is_plain, flat.invocations))


def is_fully_listed(flat: FlatCommand, env: Mapping[str, str]) -> bool:
    """Whether the parts list every program: see `CommandAnalysis.fully_listed`."""
    variables = {*env, *(each.name for one in flat.invocations for each in one.assignments)}
    # With a value, arithmetic on it may run something.
    if flat.doubts or not flat.evaluates.isdisjoint(env):
        return False
    if any(environment.classify_variable(name) >= CommandClass.DANGEROUS for name in variables):
        return False
    return not any(one.extra_arguments or one.remote for one in flat.invocations)


def _is_plain(one: Invocation) -> bool:
    if one.assignments or one.extra_arguments or one.remote or one.function is not None:
        return False
    if one.is_wrapper and redirects.writes_file(one.redirects):
        return False
    return _TRANSPARENT.issuperset(one.wrapped_by)


def _word(word: Word) -> str | None:
    return None if word.globs else word.value
