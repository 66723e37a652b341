"""Directories that a client names as its roots. Only a person's own setting lets them count."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp.shared.message import ServerMessageMetadata
from mcp_types import ListRootsRequest, ListRootsResult
from pydantic import ValidationError

_PATIENCE_S = 10.0


async def client_roots(ctx: ServerRequestContext[Any, Any]) -> list[str]:
    """The directories that the client works in, as far as it tells; the newer protocol has no
    such question.
    """
    said = ctx.session.client_capabilities
    if said is None or said.roots is None or not ctx.session.can_send_request:
        return []
    try:
        found = await ctx.session.send_request(
            ListRootsRequest(),
            ListRootsResult,
            request_read_timeout_seconds=_PATIENCE_S,
            metadata=ServerMessageMetadata(related_request_id=ctx.request_id),
        )
    except (MCPError, ValidationError):
        return []
    paths = [directory_of(str(root.uri)) for root in found.roots]
    return [path for path in paths if path is not None]


def directory_of(uri: str) -> str | None:
    """The directory that a `file:` URI names on this machine; None if there is none."""
    parts = urlsplit(uri)
    path = Path(unquote(parts.path))
    if parts.scheme != "file" or parts.netloc not in ("", "localhost") or not path.is_absolute():
        return None
    return str(path) if "\0" not in str(path) and path.is_dir() else None
