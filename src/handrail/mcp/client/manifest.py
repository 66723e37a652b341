"""The manifest of a server: its tools, which of them can be used, and differences to the approved one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from hashlib import sha256
from json import dumps
from typing import Any, Final, NamedTuple

from handrail.core.ports.remote_tools import REMOTE_PREFIX
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import TOOL_NAME

MAX_TOOLS: Final = 2_000
MAX_MANIFEST: Final = 8 << 20
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
        """The JSON form."""
        return {**self._asdict(), "schema": dict(self.schema)}


class ServerManifest(NamedTuple):
    """All tools of a server, sorted by name, and the fingerprint of its program and settings."""

    fingerprint: str
    tools: tuple[ToolRecord, ...]

    @property
    def digest(self) -> str:
        """The hash of the manifest."""
        shown = [one.to_dict() for one in self.tools]
        return sha256(dumps([self.fingerprint, shown], sort_keys=True).encode()).hexdigest()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"fingerprint": self.fingerprint, "tools": [one.to_dict() for one in self.tools]}

    @classmethod
    def from_dict(cls, given: Any) -> ServerManifest:
        """Parse the JSON form; raises ValueError, KeyError or TypeError for anything else."""
        tools = tuple(ToolRecord(**one) for one in given["tools"])
        if not all(isinstance(one.schema, dict) and isinstance(one.name, str) for one in tools):
            raise ValueError("a tool has no name or no schema")
        return cls(str(given["fingerprint"]), tools)


def describe_differences(approved: ServerManifest, found: ServerManifest) -> str:
    """A text about the differences between two manifests; "" if they are equal."""
    if approved.digest == found.digest:
        return ""
    old = {one.name: one for one in approved.tools}
    new = {one.name: one for one in found.tools}
    parts = [
        _listed("new", sorted(new.keys() - old.keys())),
        _listed("removed", sorted(old.keys() - new.keys())),
        _listed("changed", sorted(name for name in old.keys() & new if old[name] != new[name])),
        "" if approved.fingerprint == found.fingerprint else OTHER_PROGRAM,
    ]
    return "; ".join(part for part in parts if part)


def full_name(server: str, tool: str) -> str:
    """The name of a server's tool in the runtime."""
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
    """The description of a tool without control characters, truncated."""
    return safe_text((text or "")[:_MAX_DESCRIPTION])


def _listed(word: str, names: Sequence[str]) -> str:
    if not names:
        return ""
    more = f" and {len(names) - _MOST_LISTED} more" if len(names) > _MOST_LISTED else ""
    shown = ", ".join(safe_text(name[:64], one_line=True) for name in names[:_MOST_LISTED])
    return f"{word}: {shown}{more}"
