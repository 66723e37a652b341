"""Write the pages of docs/reference from the code: one per tool, and the dialect tables.

`--check` writes nothing and fails if a page differs. No page here is edited by hand.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, cast

from handrail.core.arguments.schema import json_schema
from handrail.core.lazy import Lazy
from handrail.core.tool import Tool
from handrail.dialects.base import Arg, View
from handrail.dialects.declare import ToolDeclaration, declarations
from handrail.dialects.known import DIALECTS
from handrail.tools._lib.services import Services
from handrail.tools.builtin import builtin_tools

REFERENCE = Path(__file__).resolve().parent.parent / "docs" / "reference"
NOTE = "<!-- Written by scripts/generate_docs.py; change the code instead. -->\n"


def main() -> int:
    """Write or check every page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="fail if a page is out of date")
    options = parser.parse_args()
    pages = {f"{name}.md": NOTE + "\n" + text for name, text in _pages()}
    there = {path.name for path in REFERENCE.glob("*.md")}
    stale = [name for name, text in pages.items() if _read(name) != text]
    extra = sorted(there - set(pages))
    if options.check:
        for name in [*stale, *extra]:
            print(f"docs/reference/{name} is out of date: run `make docs`", file=sys.stderr)
        return 1 if stale or extra else 0
    REFERENCE.mkdir(parents=True, exist_ok=True)
    for name in stale:
        (REFERENCE / name).write_text(pages[name], encoding="utf-8")
    for name in extra:
        (REFERENCE / name).unlink()
    return 0


def _read(name: str) -> str | None:
    path = REFERENCE / name
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _pages() -> Iterator[tuple[str, str]]:
    # The tools are only described here, so they need no services.
    tools = builtin_tools(Services(cast(Any, None), cast(Any, None), Lazy(lambda: cast(Any, None))))
    yield "tools", _index(tools)
    yield "dialects", _dialects({tool.name: tool for tool in tools})
    for tool in tools:
        yield tool.name, _tool_page(tool, tools)


def _index(tools: list[Tool[Any]]) -> str:
    rows = [[f"[`{tool.name}`]({tool.name}.md)", tool.summary, _effect(tool)] for tool in tools]
    return (
        "# Tools\n\nCanonical names. Each page lists the arguments and the names that other "
        "[dialects](dialects.md) give the tool.\n\n" + _table(["tool", "what it does", ""], rows)
    )


def _tool_page(tool: Tool[Any], tools: list[Tool[Any]]) -> str:
    view = _canonical(tool)
    declared = _declare(tool, view, [_canonical(one) for one in tools if one is not tool])
    parts = [
        f"# {tool.name}\n\n{tool.summary} {_effect(tool).capitalize()}.\n",
        "## What the model reads\n\n" + _quote(declared["description"]),
        "## Arguments\n\n" + _arguments(declared["parameters"]),
    ]
    if view.example:
        example = json.dumps(dict(view.example), indent=2)
        parts.append(f"## Example\n\n```json\n{example}\n```\n")
    if tool.output_schema:
        parts.append(f"## Data\n\nFor a program, `result.data` is {_data(tool.output_schema)}.\n")
    rows = [
        [dialect.name, f"`{other.name}`", _spelled(other)]
        for dialect in DIALECTS.values()
        for other in dialect.views
        if other.tool == tool.name
    ]
    if rows:
        head = ["dialect", "name", "arguments"]
        parts.append("## In the dialects\n\n" + _table(head, rows))
    return "\n".join(parts)


def _dialects(tools: Mapping[str, Tool[Any]]) -> str:
    parts = [
        "# Dialects\n\nWhat a model is shown under `dialect=…`. Every spelling in these tables is "
        "accepted in every dialect; the record keeps canonical names. A tool that a dialect does "
        "not list is shown under its canonical name.\n"
    ]
    for dialect in DIALECTS.values():
        rows = [
            [f"`{view.name}`", f"[`{view.tool}`]({view.tool}.md)", _spelled(view), _preset(view)]
            for view in dialect.views
            if view.tool in tools
        ]
        head = ["shown as", "is", "arguments", "differs by"]
        parts.append(f"## {dialect.name} (version {dialect.version})\n\n{_table(head, rows)}")
    return "\n".join(parts)


def _canonical(tool: Tool[Any]) -> View:
    # A tool without a row in the table is shown as it is.
    views = [view for view in DIALECTS["canonical"].views if view.tool == tool.name]
    return views[0] if views else View(tool.name, tool.name, rest=True)


def _declare(tool: Tool[Any], view: View, others: list[View]) -> dict[str, Any]:
    prose = tool.describe(cast(Any, None))
    assert isinstance(prose, str)
    # The other tools are included because a description may name them.
    entries = [ToolDeclaration(view, json_schema(tool.params), prose)]
    entries += [ToolDeclaration(other, {}, "") for other in others]
    function: dict[str, Any] = declarations("openai", entries)[0]["function"]
    return function


def _arguments(schema: Mapping[str, Any]) -> str:
    required = schema.get("required", ())
    rows = [
        [
            f"`{name}`",
            _type(part),
            "required" if name in required else _default(part),
            str(part.get("description", "")).replace("\n", " "),
        ]
        for name, part in schema["properties"].items()
    ]
    return _table(["argument", "type", "default", ""], rows)


def _type(part: Mapping[str, Any]) -> str:
    if "enum" in part:
        return " or ".join(f"`{value}`" for value in part["enum"])
    if "anyOf" in part:
        return " or ".join(_type(each) for each in part["anyOf"])
    if part.get("type") == "array":
        return f"list of {_type(part.get('items', {}))}"
    return str(part.get("type", "any"))


def _default(part: Mapping[str, Any]) -> str:
    return f"`{json.dumps(part['default'])}`" if "default" in part else ""


def _data(schema: Mapping[str, Any]) -> str:
    fields = ", ".join(f"`{name}`" for name in schema.get("properties", ()))
    return f"an object with {fields}" if fields else f"a {_type(schema)}"


def _spelled(view: View) -> str:
    shown = [_argument(arg) for arg in view.args if not arg.hidden]
    return ", ".join(shown) if shown else "canonical"


def _argument(arg: Arg) -> str:
    if arg.canonical is None:
        return f"`{arg.name}` (accepted, not used)"
    converted = " (converted)" if arg.read else ""
    same = arg.canonical == arg.name
    return f"`{arg.name}`{'' if same else f' = `{arg.canonical}`'}{converted}"


def _preset(view: View) -> str:
    return ", ".join(f"`{name}` is `{json.dumps(value)}`" for name, value in view.defaults.items())


def _effect(tool: Tool[Any]) -> str:
    if tool.only_reads:
        return "only reads"
    if tool.fetches_only:
        return "only fetches"
    if not tool.changes_files:
        return "changes only the session"
    return "changes files" if tool.plans else "may change anything"


def _quote(text: str) -> str:
    return "\n".join(f"> {line}  " if line else ">" for line in text.splitlines()) + "\n"


def _table(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return (
        "\n".join("| " + " | ".join(_cell(cell) for cell in line) + " |" for line in lines) + "\n"
    )


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


if __name__ == "__main__":
    raise SystemExit(main())
