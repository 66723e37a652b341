"""The MCP servers of the settings and of project files, their approvals, and their tools."""

from __future__ import annotations

import logging
import os
import stat
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.assembly.extras.deferred import SERVER_FILES
from handrail.assembly.extras.server_records import server_records
from handrail.config.model import Settings
from handrail.config.remote_server_tables import RemoteServerTable, check_server_name
from handrail.core.ports.processes import Strength
from handrail.core.problems import ProblemRaised
from handrail.core.text.nesting import parse_json
from handrail.core.text.safe_text import safe_text
from handrail.engine.registry import Registry, ToolOrigin

if TYPE_CHECKING:
    from handrail.assembly.machine import Machine
    from handrail.mcp.client.manifest import ServerManifest
    from handrail.mcp.client.server_spec import RemoteServerHost, RemoteServerSpec
    from handrail.mcp.client.tool_set import RemoteToolSet
    from handrail.tools._lib.services import Services

_log = logging.getLogger("handrail")
# The key of the table of servers, for each of `SERVER_FILES`.
_SERVER_KEYS: Final = ("mcpServers", "servers")
_MAX_BYTES: Final = 1 << 20


def check_client_extra() -> None:
    """Raise `unavailable` if the packages of the extra `mcp` are missing."""
    if any(find_spec(name) is None for name in ("mcp", "mcp_types", "jsonschema")):
        from handrail.mcp.client import messages

        raise messages.MISSING_EXTRA.error()


def server_specs(settings: Settings, root: Path) -> dict[str, RemoteServerSpec]:
    """The servers of the settings, and those that files of the workspace name, by name."""
    tables = settings.mcp.servers
    project = read_project_servers(root)
    own = {name: _settings_spec(name, one) for name, one in tables.items() if one.enabled}
    return {**{name: one for name, one in project.items() if name not in tables}, **own}


def read_project_servers(root: Path) -> dict[str, RemoteServerSpec]:
    """The MCP servers that files of a workspace name, in the forms of Claude Code and VS Code. Invalid
    entries are left out. None of them is started before the user has approved it.
    """
    found: dict[str, RemoteServerSpec] = {}
    for file, key in zip(SERVER_FILES, _SERVER_KEYS, strict=True):
        given = _read_object(root / file).get(key)
        if not isinstance(given, dict):
            continue
        for name, entry in given.items():
            spec = _project_spec(str(name), entry, str(root))
            if spec is not None:
                found.setdefault(spec.name, spec)
    return found


def _read_object(path: Path) -> dict[str, Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return {}
            given = parse_json(file.read(_MAX_BYTES))
    except (OSError, ValueError):
        return {}
    return given if isinstance(given, dict) else {}


def _project_spec(name: str, entry: Any, root: str) -> RemoteServerSpec | None:
    from handrail.mcp.client.server_spec import RemoteServerSpec

    if not isinstance(entry, dict):
        return None
    command, url, args = entry.get("command"), entry.get("url"), entry.get("args", [])
    try:
        check_server_name(name)
    except ValueError:
        return None
    if isinstance(url, str) and url.startswith(("https://", "http://")) and command is None:
        return RemoteServerSpec(name, url=url, project=root)
    if not isinstance(command, str) or not command or url is not None:
        return None
    if not isinstance(args, list) or not all(isinstance(one, str) for one in args):
        return None
    given = entry.get("env")
    given = given if isinstance(given, dict) else {}
    # References to the user's variables are left out: a project must not get the user's secrets.
    env = {key: one for key, one in given.items() if isinstance(one, str) and "${" not in one}
    return RemoteServerSpec(name, (command, *args), env, project=root)


def _settings_spec(name: str, table: RemoteServerTable) -> RemoteServerSpec:
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
    """The services with which MCP servers are started."""
    check_client_extra()
    from handrail.assembly.extras.server_http import open_http
    from handrail.host.processes.binaries import find_binary
    from handrail.mcp.client.server_spec import RemoteServerHost, ServerPlaces

    commands, places, records = machine.commands, machine.places, server_records()
    roots = machine.files.roots
    return RemoteServerHost(
        None if commands is None else commands.processes,
        lambda: (
            commands is not None
            and commands.parts.sandbox.measured["fs_write"] is Strength.ENFORCED
        ),
        lambda: {} if commands is None else commands.parts.environment,
        places.environment,
        ServerPlaces(roots, tuple(map(str, places.own)), tuple(map(str, places.hidden))),
        lambda name: find_binary(name, roots),
        lambda spec, note: open_http(spec, places.environment, settings.web, note),
        lambda spec, log: records.save_log(spec.pin_name, log),
        lambda spec, differences: records.note_change(spec.pin_name, differences),
    )


def find_change(spec: RemoteServerSpec, approved: ServerManifest, roots: Sequence[str]) -> str:
    """How a server differs from its approved state, judged without starting it; "" if no difference is
    known.
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


def open_remote_tools(
    settings: Settings, machine: Machine, services: Services
) -> RemoteToolSet | None:
    """The approved tools of all servers; None if no server is approved. No server is started. A server
    that cannot be used is logged and does not affect the others. Raises `unavailable` if the packages
    of the extra `mcp` are missing.
    """
    records, specs = server_records(), server_specs(settings, Path(machine.files.roots[0]))
    approvals = {name: records.load(spec.pin_name) for name, spec in specs.items()}
    if not settings.mcp.servers and not any(approvals.values()):
        return None
    check_client_extra()
    from handrail.mcp.client.service import RemoteServer, ResultServices
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
    if not used:
        return None
    tools = RemoteToolSet(used)
    machine.ends.push_async_callback(tools.aclose)
    return tools


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
