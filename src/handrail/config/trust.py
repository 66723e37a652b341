"""Records which project configuration the user trusts, bound to a hash of its content.

The records are in the user's state directory. A record with another owner, a symbolic link or
invalid JSON counts as no trust.
"""

from __future__ import annotations

import contextlib
import json
import os
import stat
import time
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from handrail.config import messages
from handrail.config.files.reading import FileText
from handrail.core.problems import ProblemRaised

FOLDER: Final = "trust"
_MAX_BYTES: Final = 16_000
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC


def files_digest(files: Sequence[FileText]) -> str:
    """Hash the names and contents of the files."""
    return sha256(json.dumps([[one.name, one.digest] for one in files]).encode()).hexdigest()


class TrustBook(NamedTuple):
    """The trust records."""

    folder: Path  # created by the caller before `add`; reading never creates it

    def trusts(self, workspace: Path, digest: str) -> bool:
        """Return whether the user trusts this content in this workspace."""
        kept = self._kept(workspace)
        return kept.get("workspace") == _real(workspace) and kept.get("digest") == digest

    def add(self, workspace: Path, digest: str) -> None:
        """Trust this content, replacing an earlier record; the folder must exist."""
        record = {"workspace": _real(workspace), "digest": digest, "at_ns": time.time_ns()}
        name = _name(workspace)
        fresh = f".{name}.{os.getpid()}"
        try:
            with _open_private(self.folder, _ENTER) as folder:
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(fresh, dir_fd=folder)
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
                descriptor = os.open(fresh, flags, 0o600, dir_fd=folder)
                with os.fdopen(descriptor, "w", encoding="utf-8") as file:
                    json.dump(record, file)
                    file.flush()
                    os.fsync(descriptor)
                os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError as error:
            raise _unwritable(self.folder, error) from error

    def revoke(self, workspace: Path) -> bool:
        """Delete the record of a workspace; return whether there was one."""
        try:
            (self.folder / _name(workspace)).unlink()
        except (FileNotFoundError, NotADirectoryError):
            return False
        except OSError as error:
            raise _unwritable(self.folder, error) from error
        return True

    def _kept(self, workspace: Path) -> dict[str, Any]:
        try:
            with (
                _open_private(self.folder, _ENTER) as folder,
                _open_private(_name(workspace), _READ, folder) as file,
            ):
                if not stat.S_ISREG(os.fstat(file).st_mode):
                    return {}
                kept = json.loads(os.read(file, _MAX_BYTES))
        except (OSError, ValueError, RecursionError):
            return {}
        return kept if isinstance(kept, dict) else {}


@contextlib.contextmanager
def _open_private(path: Path | str, flags: int, folder: int | None = None) -> Any:
    """Open a path that only this user can write; raises OSError otherwise."""
    descriptor = os.open(path, flags, dir_fd=folder)
    try:
        info = os.fstat(descriptor)
        if info.st_uid != os.geteuid() or info.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
            raise PermissionError(f"{str(path)!r} can be written by others")
        yield descriptor
    finally:
        os.close(descriptor)


def _real(workspace: Path) -> str:
    return os.path.realpath(workspace)


def _name(workspace: Path) -> str:
    return f"{sha256(_real(workspace).encode('utf-8', 'surrogateescape')).hexdigest()}.json"


def _unwritable(folder: Path, error: OSError) -> ProblemRaised:
    return messages.TRUST_NOT_WRITABLE.error(folder=str(folder), error=error.strerror or error)
