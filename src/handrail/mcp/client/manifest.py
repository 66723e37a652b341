"""The manifest of a server: its tools, which of them can be used, and differences to the approved one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from json import dumps
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.ports.remote_tools import REMOTE_PREFIX
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import TOOL_NAME
from handrail.mcp.client import messages

if TYPE_CHECKING:
    from mcp import Client

_MAX_TOOLS: Final = 2_000
_MAX_MANIFEST: Final = 8 << 20
_MOST_PAGES: Final = 100
_MAX_SCHEMA: Final = 64 << 10
_MAX_DESCRIPTION: Final = 2_000
_NAME: Final = re.compile(r"[A-Za-z0-9_-]+")
_MOST_LISTED: Final = 5
OTHER_PROGRAM: Final = "its program or settings have changed"


class ToolRecord(NamedTuple):
    """One tool as its server describes it."""

    name: str
    description: str
    schema: Mapping[str, Any]
    read_only: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {**self._asdict(), "schema": dict(self.schema)}


class ServerManifest(NamedTuple):
    """All tools of a server, sorted by name, and the fingerprint of its program and settings."""

    fingerprint: str
    tools: tuple[ToolRecord, ...]

    @property
    def digest(self) -> str:
        """The hash of the manifest."""
        shown = [tool.to_dict() for tool in self.tools]
        return sha256(dumps([self.fingerprint, shown], sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"fingerprint": self.fingerprint, "tools": [tool.to_dict() for tool in self.tools]}

    @classmethod
    def from_dict(cls, values: Any) -> ServerManifest:
        """Parse the JSON form; raises ValueError, KeyError or TypeError for anything else."""
        tools = tuple(ToolRecord(**tool) for tool in values["tools"])
        if not all(isinstance(tool.schema, dict) and isinstance(tool.name, str) for tool in tools):
            raise ValueError("a tool has no name or no schema")
        return cls(str(values["fingerprint"]), tools)


async def list_tools(client: Client, server: str) -> tuple[ToolRecord, ...]:
    """The tools of a server, sorted by name; raises `unavailable` for an invalid or too long list."""
    tools: dict[str, ToolRecord] = {}
    cursor, size = None, 0
    for _ in range(_MOST_PAGES):
        page = await client.list_tools(cursor=cursor)
        for tool in page.tools:
            size += len(tool.model_dump_json())
            if len(tools) >= _MAX_TOOLS or size > _MAX_MANIFEST:
                raise messages.BAD_MANIFEST.error(server=server, reason="there are too many")
            if tool.name in tools:
                reason = f"two are named {tool.name[:64]!r}"
                raise messages.BAD_MANIFEST.error(server=server, reason=reason)
            hints = tool.annotations
            tools[tool.name] = ToolRecord(
                tool.name,
                clean_description(tool.description),
                tool.input_schema,
                bool(hints is not None and hints.read_only_hint),
            )
        cursor = page.next_cursor
        if cursor is None:
            return tuple(tools[name] for name in sorted(tools))
    raise messages.BAD_MANIFEST.error(server=server, reason="its list does not end")


def describe_differences(approved: ServerManifest, manifest: ServerManifest) -> str:
    """Return a text about the differences between two manifests; "" if they are equal."""
    if approved.digest == manifest.digest:
        return ""
    old = {tool.name: tool for tool in approved.tools}
    new = {tool.name: tool for tool in manifest.tools}
    parts = [
        _list_names("new", sorted(new.keys() - old.keys())),
        _list_names("removed", sorted(old.keys() - new.keys())),
        _list_names("changed", sorted(name for name in old.keys() & new if old[name] != new[name])),
        "" if approved.fingerprint == manifest.fingerprint else OTHER_PROGRAM,
    ]
    return "; ".join(part for part in parts if part)


def full_name(server: str, tool: str) -> str:
    """Return the name of a server's tool in the runtime."""
    return f"{REMOTE_PREFIX}{server}__{tool}"


def find_obstacle(server: str, tool: ToolRecord, allow: Sequence[str]) -> str | None:
    """Why a tool cannot be used; None if it can."""
    if not any(fnmatchcase(tool.name, pattern) for pattern in allow):
        return "the settings do not allow it"
    if not _NAME.fullmatch(tool.name):
        return "its name has characters that providers do not accept"
    if not TOOL_NAME.fullmatch(full_name(server, tool.name)):
        return "its name is too long"
    if len(dumps(tool.schema)) > _MAX_SCHEMA:
        return "its schema is too large"
    if tool.schema.get("type", "object") != "object":
        return "its arguments are not an object"
    return None


def clean_description(text: str | None) -> str:
    """Return the description of a tool without control characters, truncated."""
    return safe_text((text or "")[:_MAX_DESCRIPTION])


def _list_names(word: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    shown = ", ".join(safe_text(name[:64], one_line=True) for name in names[:_MOST_LISTED])
    return f"{word}: {shown}{more}"
