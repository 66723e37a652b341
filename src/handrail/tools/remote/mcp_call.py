"""Call a tool of an MCP server that is not declared."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.effects import Effects
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.tools._lib.remote_access import LazyToolAccess
from handrail.tools._lib.tool_base import STRING, object_schema


class McpCallParams(Params):
    tool: str = Field(
        max_length=200, description="Name from [[tool:tool_search]]: mcp__SERVER__TOOL."
    )
    arguments: dict[str, Any] = Field({}, description="Arguments, as the tool's schema says.")


class McpCall(LazyToolAccess[McpCallParams]):
    """Calls a tool of an MCP server. It never runs: the engine prepares the call of the named tool
    instead.
    """

    name = "mcp_call"
    summary = "Call a tool of an MCP server."
    params = McpCallParams
    effects = Effects.OPEN_ENDED
    traits = ToolTraits(takes_pattern=False, forwards_to="mcp__")
    group = Group.MCP
    output_schema = object_schema(
        server=STRING, tool=STRING, structured={"type": ["object", "null"]}
    )

    def forward(self, args: McpCallParams) -> tuple[str, Mapping[str, Any]]:
        """Return the call of the named tool."""
        return args.tool, args.arguments
