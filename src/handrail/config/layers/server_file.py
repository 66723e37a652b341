"""Converts `mcpServers`, the table of MCP servers in files such as `.mcp.json`, to `mcp.servers`.

A variable in the environment or in the token of a server is stored by its name, so that its value is
never part of the settings. Other uses of variables are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from handrail.config.layers.merge import leaves

SERVER_TABLE: Final = "mcpServers"
_VARIABLE: Final = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_BEARER: Final = re.compile(
    r"Bearer (\$\{(?P<bearer_env>[A-Za-z_][A-Za-z0-9_]*)\}|(?P<bearer_token>[^\s$]+))",
    re.IGNORECASE,
)
# Values of `type` that `command` and `url` imply.
_TYPES: Final = {"command": ("stdio",), "url": ("http", "streamable-http")}


def read_server_table(table: Mapping[str, Any]) -> dict[str, Any]:
    """The value of the setting `mcp` for a table `mcpServers`."""
    return {"servers": {name: _read_server(server) for name, server in table.items()}}


def unused_variables(table: Mapping[str, Any]) -> Iterator[tuple[tuple[str | int, ...], str]]:
    """Yield each key whose text has a variable that would not be replaced, with the reason."""
    why = (
        "variables are not replaced here; in `env` write NAME as the value of NAME with ${}, "
        "and as a header only `Authorization: Bearer ${NAME}`"
    )
    for name, server in read_server_table(table)["servers"].items():
        for path, value in leaves(server, (SERVER_TABLE, name)):
            if isinstance(value, str) and _VARIABLE.search(value):
                yield path, why


def _read_server(server: Any) -> Any:
    if not isinstance(server, Mapping):
        return server
    read = dict(server)
    if any(key in read and read.get("type") in types for key, types in _TYPES.items()):
        del read["type"]
    if isinstance(read.get("env"), Mapping):
        _take_variables(read)
    headers = read.get("headers")
    if isinstance(headers, Mapping) and len(headers) == 1:
        (name, value), *_ = headers.items()
        token = _BEARER.fullmatch(value) if isinstance(value, str) else None
        if token is not None and name.lower() == "authorization":
            del read["headers"]
            read |= {key: one for key, one in token.groupdict().items() if one is not None}
    return read


def _take_variables(read: dict[str, Any]) -> None:
    """Move `"NAME": "${NAME}"` from `env` to `env_from`."""
    passed = [
        name
        for name, value in read["env"].items()
        if isinstance(value, str) and (found := _VARIABLE.fullmatch(value)) and found[1] == name
    ]
    read["env"] = {name: value for name, value in read["env"].items() if name not in passed}
    if passed:
        read["env_from"] = [*read.get("env_from", ()), *passed]
