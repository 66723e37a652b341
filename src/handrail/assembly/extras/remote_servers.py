"""The MCP servers of the settings: which are approved, and their tools in a runtime."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from handrail.assembly.extras.project_servers import read_project_servers
from handrail.assembly.extras.server_records import server_records
from handrail.config.model import Settings
from handrail.config.remote_server_tables import RemoteServerTable
from handrail.core.ports.processes import Strength
from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.engine.registry import Registry, ToolOrigin

if TYPE_CHECKING:
    from handrail.assembly.machine import Machine
    from handrail.mcp.client.manifest import ServerManifest
    from handrail.mcp.client.server_spec import RemoteServerHost, RemoteServerSpec
    from handrail.mcp.client.tool_set import RemoteToolSet
    from handrail.tools._lib.services import Services

_log = logging.getLogger("handrail")


def check_client_extra() -> None:
    """Raise `unavailable` if the packages of the extra `mcp` are missing."""
    if any(find_spec(name) is None for name in ("mcp", "mcp_types", "jsonschema")):
        from handrail.mcp.client import messages

        raise messages.MISSING_EXTRA.error()


def server_specs(settings: Settings, root: Path) -> dict[str, RemoteServerSpec]:
    """The servers of the settings, and those that files of the workspace name, by name."""
    tables = settings.mcp.servers
    project = read_project_servers(root)
    own = {name: _spec(name, one) for name, one in tables.items() if one.enabled}
    return {**{name: one for name, one in project.items() if name not in tables}, **own}


def _spec(name: str, table: RemoteServerTable) -> RemoteServerSpec:
    from handrail.mcp.client.server_spec import RemoteServerSpec

    command = () if table.command is None else (table.command, *table.args)
    return RemoteServerSpec(
        name,
        command,
        table.env,
        table.env_from,
        table.url,
        table.bearer_env,
        table.allow,
        table.trust_annotations,
        table.start_s,
        table.call_s,
        declared=("*",) if table.load == "eager" else table.always_load,
        memory_mb=table.memory_mb,
        legacy=table.protocol == "legacy",
        oauth=table.oauth,
        bearer_token=table.bearer_token,
    )


def server_host(machine: Machine, settings: Settings) -> RemoteServerHost:
    """What servers of a machine are started with."""
    check_client_extra()
    from handrail.assembly.extras.server_http import open_http
    from handrail.host.processes.binaries import find_binary
    from handrail.mcp.client.server_spec import RemoteServerHost, ServerPlaces

    commands, places, records = machine.commands, machine.places, server_records()
    roots = machine.files.roots
    return RemoteServerHost(
        None if commands is None else commands.processes,
        lambda: commands is not None and _confines(commands.parts.sandbox.measured),
        lambda: {} if commands is None else commands.parts.environment,
        places.environment,
        ServerPlaces(roots, tuple(map(str, places.own)), tuple(map(str, places.hidden))),
        lambda name: find_binary(name, roots),
        lambda spec, note: open_http(spec, places.environment, settings.web, note),
        lambda spec, log: records.save_log(spec.pin_name, log),
        lambda spec, differences: records.note_change(spec.pin_name, differences),
    )


def find_change(spec: RemoteServerSpec, approved: ServerManifest, roots: Sequence[str]) -> str:
    """How a server differs from what was approved, as far as that is known without starting it; ""
    if nothing is known.
    """
    from handrail.host.processes.binaries import find_binary
    from handrail.mcp.client.manifest import OTHER_PROGRAM
    from handrail.mcp.client.server_spec import ServerPlaces, find_server_program

    try:
        program = None
        if spec.url is None:
            program = find_server_program(spec, lambda name: find_binary(name, roots))
        fingerprint = spec.fingerprint(program, ServerPlaces(roots))
    except ProblemRaised as raised:
        return raised.problem.message
    except OSError as error:
        return f"a file of it cannot be read: {error.strerror}"
    if fingerprint != approved.fingerprint:
        return OTHER_PROGRAM
    return server_records().load_change(spec.pin_name)


def _confines(measured: Mapping[str, Strength]) -> bool:
    return measured["fs_write"] is Strength.ENFORCED


def open_remote_tools(
    settings: Settings, machine: Machine, services: Services
) -> RemoteToolSet | None:
    """The approved tools of all servers; no server is started. A server that cannot be used is
    reported in the log and leaves the others alone. Raises `unavailable` without the extra. None
    if no server is approved.
    """
    records, specs = server_records(), server_specs(settings, Path(machine.files.roots[0]))
    approvals = {name: records.load(spec.pin_name) for name, spec in specs.items()}
    if not settings.mcp.servers and not any(approvals.values()):
        return None
    check_client_extra()
    from handrail.mcp.client.service import RemoteServer, ResultServices, SessionRemoteServers
    from handrail.mcp.client.tool_set import RemoteToolSet
    from handrail.tools._lib.running_commands import quote_imitations

    host, used = server_host(machine, settings), {}
    results = ResultServices(quote_imitations, services.media, services.questions)
    for name, spec in specs.items():
        approved = approvals[name]
        if approved is None:
            if not spec.project:
                _warn(f"the MCP server {name} is not approved: see `handrail mcp approve {name}`")
            continue
        used[name] = RemoteServer(spec, host, approved, results)
    machine.ends.push_async_callback(SessionRemoteServers(used).aclose)
    return RemoteToolSet(used) if used else None


def register_remote_tools(registry: Registry, tools: RemoteToolSet) -> None:
    """Add the tools that are declared to models; the others are found when they are called."""
    for tool in tools.build_eager():
        try:
            registry.register(tool, origin=ToolOrigin.MCP)
        except (TypeError, ValueError) as error:
            _warn(f"the MCP tool {tool.name} is not used: {error}")
    registry.add_resolver(tools.resolve, ToolOrigin.MCP)


def _warn(text: str) -> None:
    _log.warning("%s", safe_text(text[:500], one_line=True))
