"""Builds the declarations of tools for a provider from views, canonical schemas and descriptions.

Pure: equal input gives equal output in the same order, so that prompt caches stay valid.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from handrail.core.problems import ProblemRaised
from handrail.dialects.base import View

_MARK: Final = re.compile(r"\[\[(tool:)?([A-Za-z_][A-Za-z0-9_-]*)\]\]")

Provider = Literal["openai", "openai-responses", "anthropic", "gemini", "mcp"]
PROVIDERS: Final[tuple[str, ...]] = get_args(Provider)


@dataclass(frozen=True, slots=True)
class ToolDeclaration:
    """One tool to declare; the last four fields are for the annotations of MCP."""

    view: View
    schema: Mapping[str, Any]
    prose: str
    output_schema: Mapping[str, Any] | None = None
    reads_only: bool = False
    changes_files: bool = True
    idempotent: bool = False
    open_ended: bool = False


def declarations(provider: str, entries: Sequence[ToolDeclaration]) -> list[dict[str, Any]]:
    """The declarations in the format of a provider; raises `invalid_arguments` for an unknown one."""
    form = _FORMS.get(provider)
    if form is None:
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no provider format named {provider!r}",
            hint=f"formats: {', '.join(PROVIDERS)}",
            field="provider",
        )
    tools: dict[str, str] = {}
    for entry in entries:
        tools.setdefault(entry.view.tool, entry.view.name)
    return [
        form(entry, _description(entry, tools), shown_schema(entry, tools)) for entry in entries
    ]


def shown_schema(entry: ToolDeclaration, tools: Mapping[str, str]) -> dict[str, Any]:
    """The schema of the arguments as the view shows them."""
    view, properties = entry.view, entry.schema.get("properties", {})
    names = _shown_names(entry)
    needed = entry.schema.get("required", ())
    shown: dict[str, Any] = {}
    required: list[str] = []
    for arg in view.shown_args(properties):
        part = {**_base(properties.get(arg.canonical, {}), arg.schema), **arg.schema}
        if arg.inner:
            part["items"] = _renamed(part["items"], arg.inner)
        if arg.name in view.required:
            part.pop("default", None)
            required.append(arg.name)
        elif arg.canonical in needed and arg.canonical not in view.defaults:
            required.append(arg.name)
        if "default" not in arg.schema and arg.name not in view.required:
            _set_default(part, view, arg.canonical, arg.show)
        about = fill(part.pop("description", ""), names, tools)
        shown[arg.name] = {**part, "description": about} if about else part
    kept = {key: value for key, value in entry.schema.items() if key != "required"}
    return kept | {"properties": shown, "required": required}


def _renamed(items: Mapping[str, Any], inner: Mapping[str, str]) -> dict[str, Any]:
    """The schema of an item with the names of the view."""
    shown = {to: name for name, to in inner.items()}
    properties = {shown.get(name, name): part for name, part in items["properties"].items()}
    required = [shown.get(name, name) for name in items.get("required", ())]
    return {**items, "properties": properties, **({"required": required} if required else {})}


def _base(canonical: Mapping[str, Any], shown: Mapping[str, Any]) -> Mapping[str, Any]:
    """The part of the canonical schema that still applies: only the description, if the view shows
    another type.
    """
    if shown.get("type", canonical.get("type")) == canonical.get("type"):
        return canonical
    return {key: value for key, value in canonical.items() if key == "description"}


def _set_default(
    part: dict[str, Any], view: View, canonical: str | None, show: Callable[[Any], Any] | None
) -> None:
    default = view.defaults.get(canonical, part.get("default")) if canonical else None
    if default is not None:
        part["default"] = show(default) if show else default


def _description(entry: ToolDeclaration, tools: Mapping[str, str]) -> str:
    first, _, rest = fill(entry.prose, _shown_names(entry), tools).partition("\n")
    return "\n".join(line for line in (first, entry.view.note, rest) if line)


def _shown_names(entry: ToolDeclaration) -> dict[str, str]:
    args = entry.view.shown_args(entry.schema.get("properties", {}))
    return {arg.canonical: arg.name for arg in args if arg.canonical}


Form = Callable[[ToolDeclaration, str, dict[str, Any]], dict[str, Any]]


def _openai(entry: ToolDeclaration, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    function = {"name": entry.view.name, "description": description, "parameters": schema}
    return {"type": "function", "function": function}


def _openai_responses(
    entry: ToolDeclaration, description: str, schema: dict[str, Any]
) -> dict[str, Any]:
    return {
        "type": "function",
        "name": entry.view.name,
        "description": description,
        "parameters": schema,
        # In strict mode every argument would be required.
        "strict": False,
    }


def _anthropic(entry: ToolDeclaration, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {"name": entry.view.name, "description": description, "input_schema": schema}


def _gemini(entry: ToolDeclaration, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": entry.view.name,
        "description": description,
        "parametersJsonSchema": schema,
    }


def _mcp(entry: ToolDeclaration, description: str, schema: dict[str, Any]) -> dict[str, Any]:
    declared: dict[str, Any] = {
        "name": entry.view.name,
        "description": description,
        "inputSchema": schema,
        "annotations": {
            "readOnlyHint": entry.reads_only,
            "destructiveHint": entry.changes_files and not entry.reads_only,
            "idempotentHint": entry.idempotent,
            "openWorldHint": entry.open_ended,
        },
    }
    # MCP allows only objects as structured output.
    if entry.output_schema is not None and entry.output_schema.get("type") == "object":
        declared["outputSchema"] = dict(entry.output_schema)
    return declared


_FORMS: Final[Mapping[str, Form]] = {
    "openai": _openai,
    "openai-responses": _openai_responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
    "mcp": _mcp,
}


def fill(template: str, arguments: Mapping[str, str], tools: Mapping[str, str]) -> str:
    """Replace the marked names in a text; both tables map canonical names to shown names. A line with a
    name that is not shown is left out.
    """
    kept: list[str] = []
    # The number of entries of the list below the current line, and how many of them are shown.
    entries = shown = 0
    for line in reversed(template.splitlines()):
        filled = _filled(line, arguments, tools)
        is_entry = line.startswith("- ")
        # The line above a list is left out if no entry of the list is shown.
        if filled is not None and (is_entry or shown or not entries):
            kept.append(filled)
        entries = entries + 1 if is_entry else 0
        shown = shown + (filled is not None) if is_entry else 0
    return "\n".join(reversed(kept)).strip()


def _filled(line: str, arguments: Mapping[str, str], tools: Mapping[str, str]) -> str | None:
    missing = False

    def put(mark: re.Match[str]) -> str:
        nonlocal missing
        shown = (tools if mark[1] else arguments).get(mark[2])
        missing = missing or shown is None
        return shown or ""

    filled = _MARK.sub(put, line)
    return None if missing else filled
