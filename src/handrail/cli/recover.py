"""`handrail recover`: make whole what a crash has left. Opening a workspace does it as well."""

from __future__ import annotations

from argparse import Namespace
from dataclasses import asdict
from typing import TYPE_CHECKING

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    from collections.abc import Sequence

    from handrail.history.recovery import Recovered


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "recover", "make whole what a crash has left")
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Recover and say what was found."""
    import asyncio

    if options.dry_run:
        raise ProblemRaised(
            "invalid_arguments",
            "recover has no dry run: opening the workspace already makes it whole",
            hint="leave out --dry-run",
        )

    found = asyncio.run(_recover(options))
    if options.json:
        for one in found:
            output.say_json(asdict(one))
        return 0
    if not found:
        output.say("nothing was left unfinished")
    for one in found:
        output.say(f"{one.call_id}  {one.tool}  {one.status}: {one.text}")
    return 0


async def _recover(options: Namespace) -> Sequence[Recovered]:
    from handrail.cli.workspace import opened

    async with opened(options) as rt:
        return rt.recovered
