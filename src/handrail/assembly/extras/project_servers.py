"""MCP servers that files of the workspace name, in the forms of Claude Code and VS Code. Nothing is
started for them before the user has approved it.
"""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.assembly.extras.deferred import SERVER_FILES
from handrail.config.remote_server_tables import check_server_name

if TYPE_CHECKING:
    from handrail.mcp.client.server_spec import RemoteServerSpec

# The key with the servers, for each of the files.
_KEYS: Final = ("mcpServers", "servers")
_MAX_BYTES: Final = 1 << 20


def read_project_servers(root: Path) -> dict[str, RemoteServerSpec]:
    """The servers that the files of a workspace name; entries that cannot be used are left out."""
    found: dict[str, RemoteServerSpec] = {}
    for file, key in zip(SERVER_FILES, _KEYS, strict=True):
        given = _read_object(root / file).get(key)
        if not isinstance(given, dict):
            continue
        for name, entry in given.items():
            spec = _spec(str(name), entry, str(root))
            if spec is not None:
                found.setdefault(spec.name, spec)
    return found


def _read_object(path: Path) -> dict[str, Any]:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(descriptor, encoding="utf-8") as file:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                return {}
            given = json.loads(file.read(_MAX_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return given if isinstance(given, dict) else {}


def _spec(name: str, entry: Any, root: str) -> RemoteServerSpec | None:
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
    # A reference to a variable of the user is not replaced: a project must not ask for secrets.
    env = {key: one for key, one in given.items() if isinstance(one, str) and "${" not in one}
    return RemoteServerSpec(name, (command, *args), env, project=root)
