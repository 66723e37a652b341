"""Changes the user's settings file: checked before it is written, and replaced in one step."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

from handrail.config import messages
from handrail.config.files.document import parse_document
from handrail.config.files.reading import FileText, read_user_file
from handrail.config.files.toml_edit import append_table, remove_table
from handrail.config.layers.sources import Layer
from handrail.config.layers.values import from_document

_SERVERS: Final = ("mcp", "servers")


def add_server(path: Path, name: str, table: Mapping[str, Any], *, dry_run: bool = False) -> None:
    """Add an MCP server to a settings file. Raises `exists` if it names the server already,
    `invalid_arguments` if the settings would not be valid, `unavailable` if it cannot be written.
    """
    if name in _servers(path):
        raise messages.SERVER_EXISTS.error(server=name, path=str(path), field="name")
    _change(path, lambda text: append_table(text, (*_SERVERS, name), table), dry_run)


def remove_server(path: Path, name: str, *, dry_run: bool = False) -> None:
    """Remove an MCP server from a settings file. Raises `not_found` if the file does not name it,
    and as `add_server` does.
    """
    if name not in _servers(path):
        raise messages.SERVER_NOT_NAMED.error(server=name, path=str(path), field="name")
    _change(path, lambda text: remove_table(text, (*_SERVERS, name)), dry_run)


def _servers(path: Path) -> Mapping[str, Any]:
    found: Any = _parse(path)
    for key in _SERVERS:
        found = found.get(key) if isinstance(found, Mapping) else None
    return found if isinstance(found, Mapping) else {}


def _parse(path: Path) -> Mapping[str, Any]:
    file = read_user_file(path)
    return {} if file is None else parse_document(file).values


def _change(path: Path, change: Callable[[str], str], dry_run: bool) -> None:
    if path.suffix != ".toml":
        raise messages.EDIT_NEEDS_TOML.error(path=str(path))
    file = read_user_file(path)
    try:
        text = change("" if file is None else file.text)
        data = text.encode()
    except (ValueError, tomllib.TOMLDecodeError, KeyError) as error:
        raise messages.NOT_EDITED.error(path=str(path), reason=error) from None
    checked = FileText(str(path), path, text, sha256(data).hexdigest())
    from_document(Layer.USER, parse_document(checked), None)
    if dry_run:
        return
    try:
        _replace(path, data)
    except OSError as error:
        raise messages.NOT_EDITED.error(path=str(path), reason=error.strerror) from error


def _replace(path: Path, data: bytes) -> None:
    """Replace a file atomically. A symbolic link is followed, and permissions are kept."""
    real = Path(os.path.realpath(path))
    real.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    mode = real.stat().st_mode & 0o777 if real.exists() else 0o600
    fresh = real.with_name(f".{real.name}.{os.getpid()}")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
    fresh.unlink(missing_ok=True)
    try:
        with os.fdopen(os.open(fresh, flags, mode), "wb") as file:
            os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        fresh.rename(real)
    finally:
        with suppress(OSError):
            fresh.unlink()
