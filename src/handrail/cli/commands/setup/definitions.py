"""Shared by `handrail agents` and `handrail skills`: definitions as a table, and one in full."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from handrail.cli.exit_codes import ExitCode
from handrail.cli.render import output


class Definition(Protocol):
    """An agent or a skill in a list."""

    @property
    def name(self) -> str:
        """The name by which it is used."""

    @property
    def source(self) -> str:
        """Who defined it."""

    @property
    def description(self) -> str:
        """What it is for."""


D = TypeVar("D", bound=Definition)


def definition_table(
    kind: str, known: Sequence[D], describe_state: Callable[[D], str]
) -> Iterator[str]:
    """Yield the definitions for a terminal, one per line below the headings."""
    from handrail.cli.render.screen import one_line, table

    rows = [
        (
            definition.name,
            definition.source,
            describe_state(definition),
            one_line(definition.description),
        )
        for definition in known
    ]
    yield from table(rows, (kind, "of", "state", "description"))


def print_definitions(
    options: Namespace,
    values: Iterable[Mapping[str, Any]],
    lines: Iterable[str],
    *,
    folded: bool = False,
) -> int:
    """Print definitions as JSON objects or as these lines, which are wrapped if `folded`; return
    the exit code.
    """
    if options.json:
        for value in values:
            output.print_json(value)
        return ExitCode.DONE
    for line in lines:
        (output.print_folded if folded else output.print_line)(line)
    return ExitCode.DONE
