"""The private temporary directory that the commands of one runtime share as /tmp.

It is removed when the sandbox is closed. A runtime holds a lock on its directory, so directories
of killed runtimes are recognised and removed by the next one.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final, NamedTuple

# Name prefix until the directory is locked.
UNLOCKED: Final = "handrail-unlocked-"


class LockedDirectory(NamedTuple):
    """A directory, and the handle that holds its lock."""

    path: Path
    handle: int


def create_locked_directory(prefix: str) -> LockedDirectory:
    """Create a locked directory with this name prefix in the temporary directory; raises OSError."""
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{UNLOCKED}{prefix}")))
    handle = os.open(made, _OPEN)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return LockedDirectory(
            made.rename(made.with_name(made.name.removeprefix(UNLOCKED))), handle
        )
    except OSError:
        os.close(handle)
        raise


_PREFIX: Final = "handrail-tmp-"
_LOOK: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class TempDirectory:
    """A temporary directory, created when first needed.

    `lasting` is used instead, and kept, where programs may outlive the runtime.
    """

    def __init__(self, lasting: Path | None = None) -> None:
        self._lasting = lasting
        self._path: str | None = None
        self._lock = -1

    @property
    def path(self) -> str:
        """The directory; raises OSError if it cannot be created."""
        if self._lasting is not None:
            self._lasting.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.path.realpath(self._lasting)
        if self._path is None:
            _sweep(Path(tempfile.gettempdir()))
            made = create_locked_directory(_PREFIX)
            self._path, self._lock = str(made.path), made.handle
        return self._path

    def close(self) -> None:
        """Remove the directory and its content; may be called twice."""
        if self._path is None:
            return
        _remove(Path(self._path))
        os.close(self._lock)
        self._path = None


def _sweep(top: Path) -> None:
    for path in _abandoned(top):
        _remove(path)


def _abandoned(top: Path) -> Iterator[Path]:
    for path in top.glob(f"{_PREFIX}*"):
        try:
            handle = os.open(path, _OPEN)
        except OSError:
            continue
        try:
            if os.fstat(handle).st_uid == os.geteuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
        except BlockingIOError:
            continue
        finally:
            os.close(handle)


def _remove(path: Path) -> None:
    # Programs leave directories without write or search permission (module caches, for example).
    # The walk enters a directory only after its name was yielded here.
    for folder, names, _ in os.walk(path):
        for name in names:
            _make_enterable(os.path.join(folder, name))  # noqa: PTH118 - names from the walk
    shutil.rmtree(path, ignore_errors=True)


def _make_enterable(folder: str) -> None:
    """Give the owner all rights on a directory; never follows a link."""
    try:
        handle = os.open(folder, _LOOK)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)  # noqa: PTH101 - by handle
    finally:
        os.close(handle)
