"""Commands read with the real parser, for tests about what they would run."""

from functools import cache

from handrail.host.processes.binaries import find_binary
from handrail.host.processes.shfmt import Shfmt
from handrail.shell.analyze.invocation import FlatCommand
from handrail.shell.analyze.walk import flatten
from handrail.shell.parse.reader import parse_command
from handrail.shell.parse.syntax import Script


@cache
def parser() -> Shfmt:
    """The real shfmt, one for all tests."""
    return Shfmt(find_binary("shfmt", []))


def tree(command: str) -> Script:
    """The tree of a command."""
    return parse_command(command, parser())


def flat(command: str) -> FlatCommand:
    """Everything that a command would run."""
    return flatten(tree(command), tree)


def ran(command: str) -> list[list[str | None]]:
    """The words of every program that a command would start."""
    return [[word.value for word in one.words] for one in flat(command).invocations if one.words]
