"""What `handrail mcp approve` does after its question, for tests."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import handrail
from handrail.assembly.extras.remote_servers import server_host, server_specs
from handrail.assembly.extras.server_records import server_records
from handrail.assembly.machine import open_machine
from handrail.config.layers.load import LoadedSettings
from handrail.mcp.client.connection import RemoteConnection
from handrail.mcp.client.manifest import ServerManifest, ToolRecord
from handrail.mcp.client.server_spec import ServerPlaces

# Starting the same server again for each test would take long.
_KNOWN: dict[str, ServerManifest] = {}


def _settings(root: Path, config: dict[str, Any]) -> Any:
    loaded: LoadedSettings = handrail.open(root, config=config, store=":memory:").loaded
    return loaded.settings


def pin_tools(root: Path, config: dict[str, Any], tools: tuple[ToolRecord, ...]) -> None:
    """Approve these tools of all servers without starting one."""
    for spec in server_specs(_settings(root, config), root).values():
        program = spec.command[0] if spec.command else None
        server_records().save(
            spec.pin_name,
            ServerManifest(spec.fingerprint(program, ServerPlaces([str(root)])), tools),
        )


async def approve_servers(root: Path, config: dict[str, Any]) -> None:
    """Approve what the servers offer now, as `handrail mcp approve` does after its question."""
    settings = _settings(root, config)
    machine = await open_machine([root], settings, None, ":memory:")
    try:
        for spec in server_specs(settings, root).values():
            key = repr(spec)
            if key not in _KNOWN:
                connection = RemoteConnection(spec, server_host(machine, settings))
                _KNOWN[key] = await connection.open()
                await connection.close()
            server_records().save(spec.pin_name, _KNOWN[key])
    finally:
        await machine.ends.aclose()
