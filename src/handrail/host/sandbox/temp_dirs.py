"""The private temporary directory that the commands of one runtime share.

It stands in place of /tmp and is removed when the sandbox is closed. One that a killed
runtime left behind is removed by the next: whoever lives holds a lock on its own.
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

# In front of the name until the folder is locked.
UNLOCKED: Final = "handrail-unlocked-"


class LockedDirectory(NamedTuple):
    """A folder, and the handle that holds its lock until it is closed."""

    path: Path
    handle: int


def create_locked_directory(prefix: str) -> LockedDirectory:
    """A new folder among the temporary files, its name beginning so; raises OSError."""
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
    """One such directory, made when it is first asked for.

    `lasting` is used instead where programs may outlive the runtime: it stays.
    """

    def __init__(self, lasting: Path | None = None) -> None:
        self._lasting = lasting
        self._path: str | None = None
        self._lock = -1

    @property
    def path(self) -> str:
        """The directory; raises OSError if it cannot be made."""
        if self._lasting is not None:
            self._lasting.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.path.realpath(self._lasting)
        if self._path is None:
            _sweep(Path(tempfile.gettempdir()))
            made = create_locked_directory(_PREFIX)
            self._path, self._lock = str(made.path), made.handle
        return self._path

    def close(self) -> None:
        """Remove it with all that is in it; safe to call twice."""
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
    # Programs leave folders behind that nobody may write to or enter (caches of modules, say).
    # The walk enters a folder only after its name was handed out here.
    for folder, names, _ in os.walk(path):
        for name in names:
            _make_enterable(os.path.join(folder, name))  # noqa: PTH118 - names from the walk
    shutil.rmtree(path, ignore_errors=True)


def _make_enterable(folder: str) -> None:
    """Give the owner of a folder all rights to it; never follows a link."""
    try:
        handle = os.open(folder, _LOOK)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)  # noqa: PTH101 - by handle
    finally:
        os.close(handle)
