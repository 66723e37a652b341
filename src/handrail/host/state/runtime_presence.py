"""The open runtimes of a workspace, each marked by a locked file."""

from __future__ import annotations

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class RuntimePresence:
    """Marks this runtime as open by a locked file, until `close`."""

    def __init__(self, directory: Path) -> None:
        """Create the file; raises OSError."""
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._directory = directory
        while True:
            self._name = os.urandom(8).hex()
            self._handle = os.open(directory / self._name, _FLAGS | os.O_EXCL, 0o600)
            fcntl.flock(self._handle, fcntl.LOCK_EX)
            if os.fstat(self._handle).st_nlink:
                return
            # Another runtime removed it as stale before it was locked.
            os.close(self._handle)

    def is_only_runtime(self) -> bool:
        """Whether no other runtime is open. Files of crashed runtimes are removed."""
        return not any(
            self._is_held(path) for path in self._directory.iterdir() if path.name != self._name
        )

    def close(self) -> None:
        """Remove the file; may be called twice."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            with suppress(OSError):
                (self._directory / self._name).unlink()
            os.close(handle)

    def _is_held(self, path: Path) -> bool:
        try:
            handle = os.open(path, _FLAGS & ~os.O_CREAT)
        except OSError:
            return False
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            path.unlink(missing_ok=True)
        except BlockingIOError:
            return True
        finally:
            os.close(handle)
        return False
