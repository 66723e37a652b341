"""`handrail undo`: take back what a call changed, as the person who asks for it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command

if TYPE_CHECKING:
    from handrail.core.results import ToolResult


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "undo", "take back what a call changed")
    parser.add_argument("--call", metavar="ID", help="the call (default: the last change)")
    parser.set_defaults(run=run, redo=False)


def run(options: Namespace) -> int:
    """Undo or redo, and say what was restored; 1 if somebody changed the files since."""
    import asyncio

    from handrail.cli.call import tell

    result = asyncio.run(_undo(options))
    if options.json:
        output.say_json(result.to_dict())
    else:
        tell(result)
    return 0 if result.ok else 1


async def _undo(options: Namespace) -> ToolResult:
    from handrail.cli.workspace import opened

    async with opened(options) as rt:
        return await (rt.redo(options.call) if options.redo else rt.undo(options.call))
