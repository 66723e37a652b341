"""Directories that a process keeps locked while it uses them.

The kernel releases the lock however the process ends, so an unlocked directory is abandoned. A
directory gets its final name only once it is locked.
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
_LOOK: Final = os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class LockedDirectory(NamedTuple):
    """A directory, and the handle that holds its lock."""

    path: Path
    handle: int


def create_locked_directory(prefix: str, parent: Path | None = None) -> LockedDirectory:
    """Create a locked directory with this name prefix in `parent`, by default the directory for
    temporary files. Raises OSError.
    """
    made = Path(os.path.realpath(tempfile.mkdtemp(prefix=f"{UNLOCKED}{prefix}", dir=parent)))
    handle = os.open(made, _OPEN)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return LockedDirectory(
            made.rename(made.with_name(made.name.removeprefix(UNLOCKED))), handle
        )
    except OSError:
        os.close(handle)
        made.rmdir()
        raise


def remove_abandoned_directories(prefix: str, parent: Path) -> None:
    """Remove this user's directories with a name prefix whose processes have ended."""
    for path in _abandoned(prefix, parent):
        remove_tree(path)


def _abandoned(prefix: str, parent: Path) -> Iterator[Path]:
    for path in parent.glob(f"{prefix}*"):
        try:
            handle = os.open(path, _OPEN)
        except OSError:
            continue
        try:
            if os.fstat(handle).st_uid == os.geteuid():
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
                yield path
        except OSError:
            continue
        finally:
            os.close(handle)


def remove_tree(path: Path) -> None:
    """Remove a directory, including subdirectories that a program has made inaccessible."""
    # Programs leave directories without write or search permission (module caches, for example).
    # The walk enters a directory only after its name was yielded here.
    for folder, names, _ in os.walk(path):
        for name in names:
            _make_enterable(os.path.join(folder, name))  # noqa: PTH118 - names from the walk
    shutil.rmtree(path, ignore_errors=True)


def _make_enterable(folder: str) -> None:
    """Give the owner of a directory all permissions; never follows a link."""
    try:
        handle = os.open(folder, _LOOK)
    except OSError:
        return
    try:
        with suppress(OSError):
            os.chmod(f"/proc/self/fd/{handle}", stat.S_IRWXU)  # noqa: PTH101 - by handle
    finally:
        os.close(handle)
