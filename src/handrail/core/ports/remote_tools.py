"""Tools of MCP servers as the rest of the program sees them. The implementation is `mcp/client/`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.tool import Tool

# The names of the tools of MCP servers begin with this: mcp__SERVER__TOOL.
REMOTE_PREFIX: Final = "mcp__"
# The short form of these names, which calls and hooks may use: mcp_SERVER_TOOL.
ALIAS_PREFIX: Final = "mcp_"


def remote_alias(name: str) -> str | None:
    """The short form of the name of a server's tool; None for any other name."""
    server, separator, tool = name.removeprefix(REMOTE_PREFIX).partition("__")
    if not (name.startswith(REMOTE_PREFIX) and separator):
        return None
    return f"{ALIAS_PREFIX}{server}_{tool}"


class FoundTool(NamedTuple):
    """A tool that a search found; `schema` describes its arguments, None where it is left out."""

    name: str
    summary: str
    schema: Mapping[str, Any] | None


class FoundTools(NamedTuple):
    """The tools that a search found, best first, and how many more there are."""

    tools: Sequence[FoundTool]
    more: int


class RemoteTools(Protocol):
    """The tools of a session's MCP servers. None of these methods starts a server."""

    def search(self, query: str, server: str | None, limit: int) -> FoundTools:
        """The tools that match a query, best match first; all tools for an empty query. Raises
        `not_found` if there is no such server.
        """

    def count_lazy(self) -> Mapping[str, int]:
        """How many tools of each server are called without being declared."""

    def list_summaries(self) -> Sequence[str]:
        """One line for each tool that is not declared: its name and a short description."""

    def resolve(self, name: str) -> Tool[Any] | None:
        """The tool of a full name or an alias, None if there is none; raises `invalid_arguments` for an
        alias of several tools.
        """
