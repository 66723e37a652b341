"""Walking a tree: every statement and every simple command in it, at whatever depth."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from handrail.shell.syntax import (
    Block,
    Chain,
    Command,
    Compound,
    Function,
    Pipeline,
    Script,
    Simple,
    Statement,
)


def statements(script: Script) -> Iterator[Statement]:
    """Every statement of a script; what stands in substitutions is not among them."""
    waiting = list(reversed(script.statements))
    while waiting:
        statement = waiting.pop()
        yield statement
        waiting += reversed(list(_below(statement.command)))


def simples(script: Script) -> Iterator[Simple]:
    """Every simple command of a script."""
    for statement in statements(script):
        if isinstance(statement.command, Simple):
            yield statement.command


def _below(command: Command) -> Iterable[Statement]:
    match command:
        case Pipeline():
            return command.stages
        case Chain():
            return (command.first, command.second)
        case Block():
            return command.script.statements
        case Compound():
            return [one for script in command.scripts for one in script.statements]
        case Function():
            return (command.body,)
        case Simple():
            return ()
