"""Configuration of an MCP server: how to open a runtime, and which tools clients may use."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from handrail.core.ports.machine import Approver
from handrail.mcp.server import messages
from handrail.mcp.server.reports import TEXT

if TYPE_CHECKING:
    # Imported when a client first needs a tool, so that the handshake is answered early.
    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.engine.runtime import Runtime


class RuntimeFactory(Protocol):
    """Opens a runtime. `directories` are additional roots; `session` names a session to resume."""

    def __call__(
        self, *, approver: Approver, directories: Sequence[str], session: str | None
    ) -> RuntimeOpener: ...


@dataclass(frozen=True, slots=True)
class ServerConfig:
    """What one server offers to every client."""

    open: RuntimeFactory
    tools: Collection[str] | None = None  # names; None: list the defaults, allow all
    read_only: bool = False  # only tools that change nothing
    client_roots: bool = False  # the client's roots become additional roots
    dry_run: bool = False
    structured: bool = True  # send structured content beside the text
    session: str | None = None  # session to resume
    fallback: Approver | None = None  # asked if the client does not support elicitation
    tidy: Callable[[], None] = lambda: None  # called in a thread, now and then while idle
    ready: Callable[[Runtime], None] = lambda runtime: None  # called with each opened runtime


def list_tools(runtime: Runtime, offer: ServerConfig) -> list[dict[str, Any]]:
    """Return the tool declarations in MCP format."""
    declared = runtime.declare("mcp", allowed=offer.tools)
    if offer.read_only:
        declared = [tool for tool in declared if _only_reads(runtime, tool["name"])]
    # A dry run returns plans, which do not match the output schema.
    promised = offer.structured and not offer.dry_run
    return [_with_text(tool) if promised else _without_output_schema(tool) for tool in declared]


def _with_text(tool: dict[str, Any]) -> dict[str, Any]:
    """Add the `text` property, which every structured result has, to the output schema."""
    schema = tool.get("outputSchema")
    if schema is None or TEXT in schema.get("properties", {}):
        return tool
    properties = {TEXT: {"type": "string"}, **schema.get("properties", {})}
    return {**tool, "outputSchema": {**schema, "properties": properties}}


def _without_output_schema(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: tool[key] for key in tool if key != "outputSchema"}


def restrict_tools(runtime: Runtime, offer: ServerConfig) -> None:
    """Restrict the runtime to the configured tools; calls to other tools are refused.

    Raises `invalid_arguments` for an unknown tool name.
    """
    if offer.tools is None and not offer.read_only:
        return
    for name in offer.tools or ():
        if not runtime.has_tool(name):
            known = ", ".join(runtime.registry.names)
            raise messages.UNKNOWN_TOOL.error(name=name, tools=known, field="tools")
    allowed = offer.tools
    if allowed is None:
        allowed = [tool["name"] for tool in runtime.declare("mcp")]
    if offer.read_only:
        allowed = [name for name in allowed if _only_reads(runtime, name)]
    runtime.limit_agent("main", allowed)


def _only_reads(runtime: Runtime, name: str) -> bool:
    tool = runtime.registry.find(name)
    return tool is not None and tool.only_reads
