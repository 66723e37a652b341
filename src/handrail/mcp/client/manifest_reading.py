"""Reads the list of a server's tools, page by page and up to its limits."""

from __future__ import annotations

from typing import Final

from mcp import Client

from handrail.mcp.client import messages
from handrail.mcp.client.manifest import MAX_MANIFEST, MAX_TOOLS, ToolRecord, clean_description

_MOST_PAGES: Final = 100


async def list_tools(client: Client, server: str) -> tuple[ToolRecord, ...]:
    """The tools of a server, sorted by name; raises `unavailable` for an invalid or too long list."""
    found: dict[str, ToolRecord] = {}
    cursor, size = None, 0
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            size += len(tool.model_dump_json())
            if len(found) >= MAX_TOOLS or size > MAX_MANIFEST:
                raise messages.BAD_MANIFEST.error(server=server, reason="there are too many")
            if tool.name in found:
                reason = f"two are named {tool.name[:64]!r}"
                raise messages.BAD_MANIFEST.error(server=server, reason=reason)
            hints = tool.annotations
            found[tool.name] = ToolRecord(
                tool.name,
                clean_description(tool.description),
                tool.input_schema,
                bool(hints is not None and hints.read_only_hint),
            )
        cursor = page.next_cursor
        if cursor is None:
            return tuple(found[name] for name in sorted(found))
    raise messages.BAD_MANIFEST.error(server=server, reason="its list does not end")
