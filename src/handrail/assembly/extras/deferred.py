"""Defers services that few sessions use: nothing of them is loaded before their first use."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os.path import lexists
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.assembly.machine import Machine
from handrail.config.model import Settings
from handrail.core.context import Session
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Clock
from handrail.engine.registry import Registry, ToolOrigin, ToolResolver
from handrail.tools._lib.services import Services

if TYPE_CHECKING:
    from os import PathLike

    from handrail.assembly.calls import SessionParts
    from handrail.assembly.models import ModelSource
    from handrail.assembly.resolved_settings import ResolvedSettings
    from handrail.assembly.runtime_opener import RuntimeOpener
    from handrail.core.ports.agents import AgentServices, ForkedWorkspace, OpenFork
    from handrail.core.ports.media import MediaReader
    from handrail.core.ports.read_denials import ReadDenyPatterns
    from handrail.core.ports.remote_tools import RemoteTools
    from handrail.core.ports.skills import SkillLibrary
    from handrail.core.ports.subagents import AgentSummary, Subagents
    from handrail.core.ports.web import SearchBackend, WebServices
    from handrail.engine.hooking.dispatcher import SessionHooks
    from handrail.engine.runtime import Runtime
    from handrail.mcp.client.tool_set import RemoteToolSet

# Files of a workspace that name MCP servers.
SERVER_FILES: Final = (".mcp.json", ".vscode/mcp.json")


def defer_web(
    settings: Settings,
    machine: Machine,
    session: Session,
    models: Lazy[ModelSource],
    clock: Clock,
    search: SearchBackend | None,
) -> Lazy[WebServices]:
    """The services of the web tools."""

    def build() -> WebServices:
        from handrail.assembly.extras.web import open_web

        return open_web(settings, machine, session, models, clock, search)

    return Lazy(build)


def defer_agents(
    machine: Machine,
    clock: Clock,
    models: Lazy[ModelSource],
    hooks: SessionHooks | None,
    skills: Lazy[SkillLibrary],
    agents: Lazy[Subagents],
    remote: RemoteTools | None,
    open_fork: OpenFork,
) -> Lazy[AgentServices]:
    """The services that the agents of a runtime share."""

    def build() -> AgentServices:
        from handrail.assembly.agent_services import open_agent_services

        return open_agent_services(
            machine, clock, models.value, hooks, skills, agents, remote, open_fork
        )

    return Lazy(build)


def defer_fork(
    opening: RuntimeOpener,
    machine: Machine,
    begun: SessionParts,
    denials: ReadDenyPatterns | None,
) -> OpenFork:
    """The function that copies the workspace as it was at an earlier turn."""

    async def open_fork(
        directory: str | PathLike[str], since: str, session: str
    ) -> ForkedWorkspace:
        from handrail.assembly.extras.forked_workspace import WorkspaceFork

        fork = WorkspaceFork(opening, machine, begun.past, denials, begun.session.id)
        return await fork.open(directory, since, session)

    return open_fork


def open_remote(
    settings: Settings, machine: Machine, services: Services, session: Session
) -> RemoteToolSet | None:
    """The tools of the session's MCP servers; None if there are none."""
    root = machine.files.roots[0]
    if not settings.mcp.servers and not any(lexists(f"{root}/{one}") for one in SERVER_FILES):
        return None
    from handrail.assembly.extras.remote_servers import open_remote_tools

    tools = open_remote_tools(settings, machine, services)
    if tools is not None:
        session.options.mcp_clients = tools.servers
    return tools


def add_resolved(
    registry: Registry, remote: RemoteToolSet | None, resolve: ToolResolver | None
) -> None:
    """Add the resolvers for tools that are found when they are called: those of MCP servers and of the
    host program.
    """
    if remote is not None:
        from handrail.assembly.extras.remote_servers import register_remote_tools

        register_remote_tools(registry, remote)
    if resolve is not None:
        registry.add_resolver(resolve, ToolOrigin.RESOLVED)


def defer_media() -> Lazy[MediaReader]:
    """The reader of pictures, PDF files and notebooks."""

    def build() -> MediaReader:
        from handrail.host.processes.python_worker import run_python_worker
        from handrail.media.reader import WorkerMediaReader

        return WorkerMediaReader(run_python_worker)

    return Lazy(build)


class AgentDefinitions(Mapping[str, "AgentSummary"]):
    """The types of agents by name; read at every access."""

    def __init__(self, subagents: Lazy[Subagents]) -> None:
        self._subagents = subagents

    def __getitem__(self, name: str) -> AgentSummary:
        return self._now()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._now())

    def __len__(self) -> int:
        return len(self._now())

    def _now(self) -> dict[str, AgentSummary]:
        return {one.name: one for one in self._subagents.value.list_types() if one.usable}


def defer_subagents(
    resolved: ResolvedSettings, session: Session, runtime: Callable[[], Runtime]
) -> Lazy[Subagents]:
    """The subagents of a runtime; `runtime` is called when they are first used."""

    def build() -> Subagents:
        from handrail.assembly.extras.agent_definitions import find_agents, read_at_once
        from handrail.core.ports.subagents import AT_ONCE
        from handrail.subagents.service import SessionSubagents, SubagentLimits

        library = find_agents(resolved.loaded, Path(resolved.roots[0]), resolved.canonical)
        at_once = read_at_once(resolved.loaded.settings.agents) or AT_ONCE
        return SessionSubagents(runtime(), library, SubagentLimits(at_once))

    subagents = Lazy(build)
    session.options.agent_definitions = AgentDefinitions(subagents)
    return subagents
