"""Records about MCP servers in the state directory: the approved tools, later changes, the end of each
program's stderr, and the tokens of logins.
"""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import get_ident
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.host.state.directories import private_directory, state_home

if TYPE_CHECKING:
    from handrail.mcp.client.manifest import ServerManifest

_FOLDER: Final = "mcp"
_MAX_PIN: Final = 16 << 20
_MAX_NOTE: Final = 2_000
_MAX_LOG: Final = 64 << 10
_MAX_TOKENS: Final = 1 << 20
# The endings of the files of a server.
_PIN, _CHANGE, _LOG, _TOKENS, _LOCK = ".json", ".changed", ".log", ".tokens", ".lock"


class ServerRecords(NamedTuple):
    """One file of each kind per server. Files that another user could have written are not read."""

    folder: Path

    def load(self, server: str) -> ServerManifest | None:
        """The approved manifest of a server; None if there is none, or it cannot be read."""
        from handrail.mcp.client.manifest import ServerManifest

        data = self._read(server, _PIN, _MAX_PIN)
        try:
            return None if data is None else ServerManifest.from_dict(json.loads(data))
        except (ValueError, KeyError, TypeError, RecursionError):
            return None

    def save(self, server: str, manifest: ServerManifest) -> None:
        """Record that the user approves a manifest."""
        self._write(server, _PIN, json.dumps(manifest.to_dict()).encode(), durable=True)
        self.note_change(server, "")

    def load_change(self, server: str) -> str:
        """How a server differed from its approved manifest at its last start; "" if it did not."""
        return (self._read(server, _CHANGE, _MAX_NOTE) or b"").decode("utf-8", "replace")

    def note_change(self, server: str, differences: str) -> None:
        """Record how a server differs from its approved manifest; "" if it does not."""
        with suppress(OSError):
            if differences:
                self._write(server, _CHANGE, differences[: _MAX_NOTE // 4].encode())
            else:
                self._file(server, _CHANGE).unlink()

    def load_log(self, server: str) -> str | None:
        """The end of the stderr of a server's program; None if it is not stored."""
        data = self._read(server, _LOG, _MAX_LOG)
        return None if data is None else data.decode("utf-8", "replace")

    def save_log(self, server: str, log: bytes) -> None:
        """Store the end of the stderr of a server's program."""
        with suppress(OSError):
            self._write(server, _LOG, log[-_MAX_LOG:])

    def load_tokens(self, server: str, resource: str) -> bytes | None:
        """The tokens of a login to a URL; None if there are none. Raises `untrusted` if another user
        could have read or written them.
        """
        from handrail.mcp.client import messages

        path = self._file(server, _token_ending(resource))
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
            with os.fdopen(os.open(path, flags), "rb") as file:
                info = os.fstat(file.fileno())
                private = stat.S_ISREG(info.st_mode) and not info.st_mode & 0o077
                if private and info.st_uid == os.geteuid() and info.st_nlink == 1:
                    return file.read(_MAX_TOKENS)
        except FileNotFoundError:
            return None
        except OSError:
            pass
        raise messages.TOKENS_UNSAFE.error(server=server, file=str(path))

    def save_tokens(self, server: str, resource: str, data: bytes) -> None:
        """Store the tokens of a login to a URL, in a file that only this user can read."""
        self._write(server, _token_ending(resource), data, durable=True)

    def open_token_lock(self, server: str) -> int:
        """Open the file that is locked while the tokens of a server change; returns its handle."""
        self._make_folder()
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(self._file(server, _LOCK), flags, 0o600)

    def remove_tokens(self, server: str) -> bool:
        """Delete the tokens of a server; returns whether there were any."""
        files = [*self.folder.glob(f"{server}.*{_TOKENS}")]
        for one in files:
            one.unlink(missing_ok=True)
        return bool(files)

    def remove(self, server: str) -> bool:
        """Withdraw the approval of a server; returns whether there was one."""
        self.note_change(server, "")
        try:
            self._file(server, _PIN).unlink()
        except FileNotFoundError:
            return False
        return True

    def forget(self, server: str) -> None:
        """Delete all records of a server."""
        self.remove(server)
        self.remove_tokens(server)
        for ending in (_LOG, _LOCK):
            self._file(server, ending).unlink(missing_ok=True)

    def _file(self, server: str, ending: str) -> Path:
        return self.folder / f"{server}{ending}"

    def _read(self, server: str, ending: str, limit: int) -> bytes | None:
        try:
            flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(self._file(server, ending), flags), "rb") as file:
                info = os.fstat(file.fileno())
                if info.st_uid != os.geteuid() or info.st_mode & 0o022:
                    return None
                return file.read(limit)
        except OSError:
            return None

    def _make_folder(self) -> None:
        private_directory(self.folder.parent)
        private_directory(self.folder)

    def _write(self, server: str, ending: str, data: bytes, *, durable: bool = False) -> None:
        self._make_folder()
        fresh = self.folder / f".{server}{ending}.{os.getpid()}.{get_ident()}"
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        fresh.unlink(missing_ok=True)
        with os.fdopen(os.open(fresh, flags, 0o600), "wb") as file:
            file.write(data)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        fresh.rename(self._file(server, ending))


def _token_ending(resource: str) -> str:
    return f".{sha256(resource.encode()).hexdigest()[:32]}{_TOKENS}"


def server_records() -> ServerRecords:
    """The records in the user's state directory."""
    return ServerRecords(state_home() / _FOLDER)
