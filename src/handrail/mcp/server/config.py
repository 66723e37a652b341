"""What a server offers: one workspace, how runtimes on it are opened, and which tools of it."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from handrail.core.ports import Approver
from handrail.core.problems import ProblemRaised
from handrail.mcp.server.results import TEXT

if TYPE_CHECKING:
    # Not loaded before a client needs a tool: until then it waits only for the handshake.
    from handrail.app import Opening
    from handrail.engine.runtime import Runtime


class Opens(Protocol):
    """Opens a runtime; `directories` are further roots, `session` a name to go on with."""

    def __call__(
        self, *, approver: Approver, directories: Sequence[str], session: str | None
    ) -> Opening: ...


@dataclass(frozen=True, slots=True)
class Offer:
    """What every client of a server gets.

    `fallback` is asked where a client cannot ask the person itself, None: nobody is. `tools`
    are the canonical names to show and allow, None: the usual ones are shown, all allowed.
    Results are text with data beside it if `structured`, else text alone. `ready` is told of
    every runtime that opens.
    """

    open: Opens
    tools: Collection[str] | None = None
    read_only: bool = False
    client_roots: bool = False
    dry_run: bool = False
    structured: bool = True
    session: str | None = None
    fallback: Approver | None = None
    ready: Callable[[Runtime], None] = lambda runtime: None


def shown_tools(runtime: Runtime, offer: Offer) -> list[dict[str, Any]]:
    """The tools as MCP declares them."""
    declared = runtime.declare("mcp", allowed=offer.tools)
    if offer.read_only:
        declared = [tool for tool in declared if tool["annotations"]["readOnlyHint"]]
    # A plan is no result, so in a dry run nothing structured can be promised.
    promised = offer.structured and not offer.dry_run
    return [_with_text(tool) if promised else _unpromised(tool) for tool in declared]


def _with_text(tool: dict[str, Any]) -> dict[str, Any]:
    """The tool, with the member of its results that every tool has."""
    schema = tool.get("outputSchema")
    if schema is None or TEXT in schema.get("properties", {}):
        return tool
    properties = {TEXT: {"type": "string"}, **schema.get("properties", {})}
    return {**tool, "outputSchema": {**schema, "properties": properties}}


def _unpromised(tool: dict[str, Any]) -> dict[str, Any]:
    return {key: tool[key] for key in tool if key != "outputSchema"}


def limit(runtime: Runtime, offer: Offer) -> None:
    """Let the runtime call only what the offer holds, whatever a client knows by name; raises
    `invalid_arguments` for a name that no tool has.
    """
    if offer.tools is None and not offer.read_only:
        return
    tools = runtime.registry.list_all()
    for name in runtime.registry.missing(offer.tools or ()):
        raise ProblemRaised(
            "invalid_arguments",
            f"there is no tool {name!r} to serve",
            hint=f"tools: {', '.join(tool.name for tool in tools)}",
            field="tools",
        )
    chosen = offer.tools if offer.tools is not None else _usual(runtime)
    allowed = [tool.name for tool in tools if tool.name in chosen]
    if offer.read_only:
        allowed = [name for name in allowed if runtime.registry.get(name).only_reads]
    runtime.limit_agent("main", allowed)


def _usual(runtime: Runtime) -> set[str]:
    """The canonical names of the tools that are shown to those who name none."""
    shown = {tool["name"] for tool in runtime.declare("mcp")}
    return {
        tool.name
        for tool in runtime.registry.list_all()
        if any(one["name"] in shown for one in runtime.declare("mcp", allowed=[tool.name]))
    }
