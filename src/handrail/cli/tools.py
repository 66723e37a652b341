"""`handrail tools`: what a model is shown, as a table or as a provider takes it."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import output
from handrail.cli.parser import Parser, Subparsers, add_command

if TYPE_CHECKING:
    from handrail.engine.runtime import Runtime

FORMATS: Final = ("openai", "openai-responses", "anthropic", "mcp")


def add_parser(subparsers: Subparsers[Parser]) -> None:
    """The words of this command."""
    parser = add_command(subparsers, "tools", "list the tools a model is shown")
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        choices=FORMATS,
        help=f"as JSON that a provider takes: {', '.join(FORMATS)}",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the tools in the chosen dialect."""
    import asyncio

    tools = asyncio.run(_tools(options))
    if options.format:
        import json

        output.say(json.dumps(tools, indent=2))
    elif options.json:
        for tool in tools:
            output.say_json(tool)
    else:
        _tell(tools)
    return 0


async def _tools(options: Namespace) -> list[dict[str, Any]]:
    from handrail.cli.workspace import MEMORY, opened

    options.store = MEMORY
    opening = opened(options)
    async with opening as rt:
        if options.format:
            return rt.declare(options.format)
        return _listed(rt, opening.settings.dialect)


def _listed(rt: Runtime, dialect: str) -> list[dict[str, Any]]:
    """What the table shows of each tool, in the order of the declarations."""
    from handrail.dialects.known import vocabulary_of

    shown = {tool["name"]: tool for tool in rt.declare("mcp")}
    names = vocabulary_of(dialect)
    return [
        {
            "name": view.name,
            "tool": tool.name,
            "group": tool.group.value,
            "reads_only": shown[view.name]["annotations"]["readOnlyHint"],
            "summary": tool.summary,
        }
        for tool in rt.registry.list_all()
        for view in names.views(tool.name)
        if view.name in shown
    ]


def _tell(tools: list[dict[str, Any]]) -> None:
    from handrail.cli.screen import Style, table

    rows = [
        (tool["name"], tool["group"], "read" if tool["reads_only"] else "write", tool["summary"])
        for tool in tools
    ]
    for line in table(rows, ("NAME", "GROUP", "ACCESS", "SUMMARY"), {"write": Style.CAUTION}):
        output.say(line)
