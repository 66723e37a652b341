"""Find tools of MCP servers that are not declared individually."""

from __future__ import annotations

from json import dumps
from typing import Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import Session, ToolContext
from handrail.core.effects import Effects
from handrail.core.ports.remote_tools import FoundTool
from handrail.core.results import Output
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.remote_access import LazyToolAccess
from handrail.tools._lib.running_commands import quote_imitations
from handrail.tools._lib.tool_base import STRING, object_schema

_MAX_SCHEMA_CHARS: Final = 8_000
_FOUND = object_schema(name=STRING, summary=STRING, schema={"type": ["object", "null"]})


class ToolSearchParams(Params):
    query: str = Field("", max_length=500, description="Words or a tool name. Empty: all tools.")
    server: str | None = Field(None, max_length=64, description="Only tools of this server.")
    limit: int = Field(5, ge=1, le=50, description="How many; the first 5 come with schemas.")


class ToolSearch(LazyToolAccess[ToolSearchParams]):
    name = "tool_search"
    summary = "Find tools of MCP servers and their arguments."
    params = ToolSearchParams
    effects = Effects.PURE
    traits = ToolTraits(takes_pattern=False)
    group = Group.MCP
    idempotent = True
    keep = "start"
    output_schema = object_schema(
        tools={"type": "array", "items": _FOUND}, more={"type": "integer"}
    )

    def describe(self, session: Session) -> str:
        """Return the description with the names of the servers."""
        text = super().describe(session)
        counts = {} if self._remote is None else self._remote.count_lazy()
        listed = ", ".join(f"{name} ({number})" for name, number in counts.items())
        return f"{text}\n\nServers and their numbers of tools: {listed}." if listed else text

    async def run(self, args: ToolSearchParams, ctx: ToolContext) -> Output:
        """Return the best matching tools; raises `not_found` if there is no such server."""
        del ctx
        remote = self._remote
        if remote is None:
            return Output("there are no MCP servers", data={"tools": [], "more": 0})
        results = remote.search(args.query, args.server, args.limit)
        lines = [line for tool in results.tools for line in _format_tool(tool)]
        if results.more:
            lines.append(f"[handrail: {results.more} more]")
        data = {"tools": [tool._asdict() for tool in results.tools], "more": results.more}
        return Output("\n".join(lines) or "no tool matches", data=data)


def _format_tool(tool: FoundTool) -> list[str]:
    """Return a tool for the model; its description is text of the server."""
    server = tool.name.split("__")[1]
    lines = [f"{tool.name} (server {server} says: {tool.summary or 'nothing'})"]
    if tool.schema is not None:
        # ASCII, so that no character of the schema changes how the line is shown.
        text = dumps(tool.schema)
        if len(text) > _MAX_SCHEMA_CHARS:
            names = sorted(map(str, tool.schema.get("properties", {})))
            text = f"{dumps(names)[:_MAX_SCHEMA_CHARS]} (names only: the schema is too long)"
        lines.append(f"  arguments: {text}")
    return [quote_imitations(line) for line in lines]
