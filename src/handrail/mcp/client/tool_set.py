"""The approved tools of a session's servers: found by a search, and created when they are called."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Final, NamedTuple

from handrail.core.ports.remote_tools import REMOTE_PREFIX, FoundTool, FoundTools, remote_alias
from handrail.core.text.safe_text import safe_text
from handrail.mcp.client import messages
from handrail.mcp.client.manifest import ToolRecord, find_obstacle, full_name
from handrail.mcp.client.remote_tool import RemoteTool
from handrail.mcp.client.service import RemoteServer
from handrail.mcp.client.tool_index import IndexedTool, ToolIndex

_SUMMARY_CHARS: Final = 100
_FOUND_CHARS: Final = 500
_WITH_SCHEMA: Final = 5


class RemoteRow(NamedTuple):
    """A usable tool and its server."""

    server: RemoteServer
    record: ToolRecord

    @property
    def eager(self) -> bool:
        """Whether the tool is declared to models."""
        return self.server.spec.declares(self.record.name)


class RemoteToolSet:
    """Implements `RemoteTools`. The set does not change during a session."""

    def __init__(self, servers: Mapping[str, RemoteServer]) -> None:
        self.servers = servers
        self._rows: dict[str, RemoteRow] = {}
        self._aliases: dict[str, list[str]] = {}
        for name, server in servers.items():
            for record in server.approved.tools:
                if find_obstacle(name, record, server.spec.allow) is None:
                    full = full_name(name, record.name)
                    self._rows[full] = RemoteRow(server, record)
                    self._aliases.setdefault(remote_alias(full) or full, []).append(full)
        self._tools: dict[str, RemoteTool] = {}
        self._index: ToolIndex | None = None

    def build_eager(self) -> list[RemoteTool]:
        """Return the tools that are declared to models from the start."""
        return [self._build(name) for name, row in self._rows.items() if row.eager]

    def search(self, query: str, server: str | None, limit: int) -> FoundTools:
        """See `RemoteTools.search`."""
        if server is not None and server not in self.servers:
            raise messages.NO_SUCH_SERVER.error(server=server, field="server")
        if self._index is None:
            self._index = ToolIndex([_indexed(name, row) for name, row in self._rows.items()])
        names = self._index.search(query.strip(), server)
        matches: list[FoundTool] = []
        for name in names[:limit]:
            record = self._rows[name].record
            schema = dict(record.schema) if len(matches) < _WITH_SCHEMA else None
            matches.append(FoundTool(name, _shorten(record.description, _FOUND_CHARS), schema))
        return FoundTools(matches, len(names) - len(matches))

    def count_lazy(self) -> Mapping[str, int]:
        """See `RemoteTools.count_lazy`."""
        counts: dict[str, int] = {}
        for row in self._rows.values():
            if not row.eager:
                counts[row.server.spec.name] = counts.get(row.server.spec.name, 0) + 1
        return counts

    def list_summaries(self) -> Sequence[str]:
        """See `RemoteTools.list_summaries`."""
        return [
            f"{name}: {_shorten(row.record.description, _SUMMARY_CHARS)}".removesuffix(": ")
            for name, row in self._rows.items()
            if not row.eager
        ]

    def resolve(self, name: str) -> RemoteTool | None:
        """See `RemoteTools.resolve`."""
        if name in self._rows:
            return self._build(name)
        if name.startswith(REMOTE_PREFIX):
            return None
        names = self._aliases.get(name, [])
        if len(names) > 1:
            raise messages.AMBIGUOUS_NAME.error(name=name, names=" or ".join(names))
        return self._build(names[0]) if names else None

    async def aclose(self) -> None:
        """End all servers."""
        for server in self.servers.values():
            with suppress(Exception):
                await server.close()

    def _build(self, name: str) -> RemoteTool:
        tool = self._tools.get(name)
        if tool is None:
            row = self._rows[name]
            tool = self._tools[name] = RemoteTool(row.server, row.record)
        return tool


def _indexed(name: str, row: RemoteRow) -> IndexedTool:
    return IndexedTool(name, row.server.spec.name, row.record.name, row.record.description)


def _shorten(text: str, limit: int) -> str:
    """Return a description on one line, truncated."""
    line = safe_text(text[: limit * 4], one_line=True).strip()
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
