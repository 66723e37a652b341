"""A tool of a server as a tool of the runtime."""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING, Any, Final

from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.events import McpCallEnded, McpCallStarted
from handrail.core.results import Output
from handrail.core.tool import Group, Tool
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Risk
from handrail.mcp.client.manifest import ToolRecord, full_name
from handrail.mcp.client.service import RemoteServer

if TYPE_CHECKING:
    from pydantic import BaseModel

_NOT_UNDOABLE: Final = "changes that an MCP server makes cannot be undone by Handrail"
_NO_UNDO: Final = {"undo": "none", "undo_reason": _NOT_UNDOABLE}


class RemoteTool(Tool[Any]):
    """Calls a tool of a server. Its effects are open-ended, unless the user trusts the server's
    annotations and they say that the tool only reads.
    """

    traits = ToolTraits(takes_pattern=False, reached_by="mcp_call")
    group = Group.MCP
    # The connection has its own limits for calls and for the start of the server.
    timeout_s = None
    keep = "both"

    def __init__(self, server: RemoteServer, record: ToolRecord) -> None:
        self._server = server
        self._record = record
        self._reads = server.spec.trust_annotations and record.read_only
        self.effects = Effects.PURE if self._reads else Effects.OPEN_ENDED
        self.name = full_name(server.spec.name, record.name)
        self.summary = f"[MCP server {server.spec.name}] {record.description}"
        self.raw_schema = {"type": "object", "properties": {}, **record.schema}

    def argument_model(self) -> type[BaseModel]:
        """A model that accepts what the server's schema accepts, and leaves the arguments unchanged."""
        from handrail.mcp.client.schema_check import argument_model

        return argument_model(self.name, self.raw_schema or {})

    def risk(self, args: Any) -> Risk:
        """Moderate unless the tool only reads, because the actions of the server are unknown."""
        del args
        return Risk.SAFE if self._reads else Risk.MODERATE

    def preview(self, args: Any) -> str:
        """Return the complete arguments, and a note that the call cannot be undone."""
        arguments = dumps(args.model_dump(), ensure_ascii=False, indent=1)
        return arguments if self._reads else f"{arguments}\n{_NOT_UNDOABLE}"

    async def run(self, args: Any, ctx: ToolContext) -> Output:
        """Call the tool and return its result; raises `unavailable`, `timeout`, `command_failed`,
        `untrusted`.
        """
        server, tool = self._server.spec.name, self._record.name
        ctx.report(McpCallStarted(server, tool, ctx.call_id))
        failed = True
        try:
            output = await self._server.call(tool, args.model_dump(), ctx)
            failed = output.problem is not None
        finally:
            ctx.report(McpCallEnded(server, tool, ctx.call_id, failed))
        undo = {} if self._reads else _NO_UNDO
        return output._replace(meta=undo)
