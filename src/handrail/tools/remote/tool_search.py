"""Find tools of MCP servers, which are not declared one by one."""

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
        """The description, with the servers."""
        text = super().describe(session)
        counts = {} if self._remote is None else self._remote.count_lazy()
        listed = ", ".join(f"{name} ({number})" for name, number in counts.items())
        return f"{text}\n\nServers and their numbers of tools: {listed}." if listed else text

    async def run(self, args: ToolSearchParams, ctx: ToolContext) -> Output:
        """The tools that match best; `not_found` if there is no such server."""
        del ctx
        remote = self._remote
        if remote is None:
            return Output("there are no MCP servers", data={"tools": [], "more": 0})
        found = remote.search(args.query, args.server, args.limit)
        lines = [line for one in found.tools for line in _format_tool(one)]
        if found.more:
            lines.append(f"[handrail: {found.more} more]")
        data = {"tools": [one._asdict() for one in found.tools], "more": found.more}
        return Output("\n".join(lines) or "no tool matches", data=data)


def _format_tool(tool: FoundTool) -> list[str]:
    """A tool for the model; its description is the server's text."""
    server = tool.name.split("__")[1]
    lines = [f"{tool.name} (server {server} says: {tool.summary or 'nothing'})"]
    if tool.schema is not None:
        # ASCII: no character of the schema can change how the line is shown.
        text = dumps(tool.schema)
        if len(text) > _MAX_SCHEMA_CHARS:
            names = sorted(map(str, tool.schema.get("properties", {})))
            text = f"{dumps(names)[:_MAX_SCHEMA_CHARS]} (names only: the schema is too long)"
        lines.append(f"  arguments: {text}")
    return [quote_imitations(line) for line in lines]
