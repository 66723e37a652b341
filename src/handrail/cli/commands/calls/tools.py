"""`handrail tools`: the tools that models see, as a table or as JSON."""

from __future__ import annotations

from argparse import Namespace
from collections.abc import Collection, Iterator, Mapping
from itertools import zip_longest
from typing import TYPE_CHECKING, Any, Final

from handrail.cli import messages
from handrail.cli.parser import Parser, Subparsers, add_command
from handrail.cli.render import output

if TYPE_CHECKING:
    from handrail.dialects.base import Vocabulary
    from handrail.engine.runtime import Runtime

FORMATS: Final = ("openai", "openai-responses", "anthropic", "mcp")
_TYPE_WIDTH: Final = 24
# Minimum width of the last column.
_NARROWEST: Final = 12


def add_parser(subparsers: Subparsers[Parser]) -> None:
    parser = add_command(subparsers, "tools")
    parser.add_argument(
        "tool",
        metavar="TOOL",
        nargs="?",
        help="show the description and arguments of one tool",
    )
    parser.add_argument(
        "--format",
        metavar="FORMAT",
        choices=FORMATS,
        help=f"print JSON in the format of a provider: {', '.join(FORMATS)}",
    )
    parser.set_defaults(run=run)


def run(options: Namespace) -> int:
    """Print the tools in the chosen dialect."""
    import asyncio

    tools = asyncio.run(_tools(options))
    if options.format:
        import json

        output.print_line(json.dumps(tools, indent=2))
    elif options.json:
        for tool in tools:
            output.print_json(tool)
    elif options.tool:
        _print_details(tools)
    else:
        _print_table(tools)
    return 0


async def _tools(options: Namespace) -> list[dict[str, Any]]:
    from handrail.cli.workspace import open_session
    from handrail.core.names.store_location import MEMORY
    from handrail.dialects.known import find_vocabulary

    options.store = MEMORY
    opening = open_session(options)
    async with opening as rt:
        names = find_vocabulary(opening.settings.dialect)
        selected = [_offered_name(rt, names, options.tool)] if options.tool else None
        if options.format:
            return rt.declare(options.format, allowed=selected)
        return list(_tool_rows(rt, names, selected))


def _tool_rows(
    rt: Runtime, names: Vocabulary, selected: Collection[str] | None
) -> Iterator[dict[str, Any]]:
    """Yield a row per tool; with the full description and schemas if `selected` names tools."""
    shown = {tool["name"]: tool for tool in rt.declare("mcp", allowed=selected)}
    for tool in rt.registry.list_all():
        for view in names.views(tool.name):
            if view.name not in shown:
                continue
            declared = shown[view.name]
            about = {
                "name": view.name,
                "tool": tool.name,
                "group": tool.group.value,
                "reads_only": declared["annotations"]["readOnlyHint"],
                "summary": tool.summary,
            }
            if selected is not None:
                about["description"] = declared["description"]
                about["schema"] = declared["inputSchema"]
                about["output_schema"] = declared.get("outputSchema")
            yield about


def _offered_name(rt: Runtime, names: Vocabulary, requested: str) -> str:
    """Return the name if it means an offered tool; raises `unknown_tool` or `unavailable`."""
    view = names.resolve(requested)
    name = view.tool if view is not None else requested
    shown = [tool.name for tool in rt.registry.list_all() if tool.shown(rt.session)]
    if name in shown:
        return requested
    if rt.registry.find(name) is not None:
        raise messages.TOOL_DISABLED.error(name=name)
    from difflib import get_close_matches

    close = get_close_matches(requested, shown, n=1)
    suggestion = f"did you mean {close[0]}?" if close else f"tools: {', '.join(shown)}"
    raise messages.UNKNOWN_TOOL.error(name=requested, suggestion=suggestion)


def _print_table(tools: list[dict[str, Any]]) -> None:
    from handrail.cli.render.screen import TextStyle, table

    rows = [
        (tool["name"], tool["group"], "read" if tool["reads_only"] else "write", tool["summary"])
        for tool in tools
    ]
    for line in table(rows, ("NAME", "GROUP", "ACCESS", "SUMMARY"), {"write": TextStyle.CAUTION}):
        output.print_line(line)


def _print_details(tools: list[dict[str, Any]]) -> None:
    from handrail.cli.render.screen import TextStyle, one_line, paint, wrap

    for number, tool in enumerate(tools):
        if number:
            output.print_line()
        access = "read" if tool["reads_only"] else "write"
        canonical = (
            "" if tool["name"] == tool["tool"] else f"; canonical name {one_line(tool['tool'])}"
        )
        head = paint(one_line(tool["name"]), TextStyle.HEADING)
        output.print_line(f"{head}  ({one_line(tool['group'])}, {access}{canonical})")
        output.print_line()
        for line in wrap(tool["description"], ""):
            output.print_line(line)
        output.print_line()
        for line in _argument_lines(tool["schema"]):
            output.print_line(line)


def _argument_lines(schema: Mapping[str, Any]) -> Iterator[str]:
    from handrail.cli.render.screen import one_line, table, terminal_width

    parts = schema.get("properties", {})
    if not parts:
        yield "No arguments."
        return
    rows = [
        (one_line(name), _fold(_type_text(part), _TYPE_WIDTH), _argument_text(schema, name))
        for name, part in parts.items()
    ]
    heads = ("ARGUMENT", "TYPE", "ABOUT")
    used = max(len(name) for name in (*parts, heads[0])) + 2
    used += max(len(line) for _, kind, _ in rows for line in (*kind, heads[1])) + 2
    cells: list[tuple[str, ...]] = []
    for name, kind, about in rows:
        lines = _fold(about, max(terminal_width() - used, _NARROWEST))
        cells += zip_longest([name], kind, lines, fillvalue="")
    yield from table(cells, heads)


def _argument_text(schema: Mapping[str, Any], name: str) -> str:
    part = schema["properties"][name]
    words = [str(part.get("description", ""))]
    if name in schema.get("required", ()):
        words.insert(0, "Required.")
    if "default" in part:
        words.append(f"(default: {output.to_json(part['default'])})")
    return " ".join(word for word in words if word)


def _fold(text: str, room: int) -> list[str]:
    import textwrap

    from handrail.cli.render.screen import one_line

    return textwrap.wrap(one_line(text), room, break_on_hyphens=False) or [""]


def _type_text(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return " or ".join(map(str, part["enum"]))
    if "anyOf" in part:
        return " or ".join(_type_text(option) for option in part["anyOf"])
    if part.get("type") == "array":
        return f"list of {_type_text(part.get('items', {}))}"
    return str(part.get("type", "any"))
