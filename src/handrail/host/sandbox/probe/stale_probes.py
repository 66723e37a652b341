"""Creates the directories and files of probes, and removes those that killed probes left.

A probe holds a lock on its directory. The kernel releases the lock however the probe ends, so an
unlocked directory is stale. A directory gets its final name only once it is locked.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from stat import S_ISDIR, S_ISREG
from typing import Final

from handrail.host.files.locked_directory import UNLOCKED, create_locked_directory

PREFIX: Final = "handrail-probe-"
SHARED: Final = "/dev/shm"  # noqa: S108 - shared memory has no other place
# Locking a new directory takes much less.
_OLD_S: Final = 3600
_LOOK: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def create_probe_dir(ends: ExitStack) -> Path:
    """Create a locked directory, which `ends` removes; raises OSError."""
    made = create_locked_directory(PREFIX)
    ends.callback(os.close, made.handle)
    ends.callback(shutil.rmtree, made.path, ignore_errors=True)
    return made.path


def create_shared_file(path: str, content: bytes, ends: ExitStack) -> None:
    """Create a locked file in shared memory, if there is any; `ends` removes it. Raises OSError."""
    folder = os.path.dirname(path)  # noqa: PTH120 - a string in, a string out
    if not os.path.isdir(folder):  # noqa: PTH112 - likewise
        return
    handle = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
    ends.callback(os.close, handle)
    os.write(handle, content)
    fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    ends.callback(Path(path).unlink, missing_ok=True)
    # A directory descriptor makes Python follow the link to the open file.
    os.link(str(handle), path, src_dir_fd=_own_handles(ends), follow_symlinks=True)


def _own_handles(ends: ExitStack) -> int:
    handle = os.open("/proc/self/fd", _LOOK | os.O_DIRECTORY)
    ends.callback(os.close, handle)
    return handle


def remove_stale_probes() -> int:
    """Remove the directories and files of probes that have ended; return their number."""
    return sum(map(_remove, _abandoned()))


def _abandoned() -> Iterator[Path]:
    for top in (Path(tempfile.gettempdir()), Path(SHARED)):
        yield from filter(_is_free, top.glob(f"{PREFIX}*"))
        yield from filter(_is_old, top.glob(f"{UNLOCKED}*"))


def _is_free(path: Path) -> bool:
    """Return whether a path is owned by this user and not locked."""
    try:
        handle = os.open(path, _LOOK)
    except OSError:
        return False
    try:
        info = os.fstat(handle)
        if info.st_uid != os.geteuid() or not _is_plain(info):
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    finally:
        os.close(handle)
    return True


def _is_old(path: Path) -> bool:
    with suppress(OSError):
        info = path.lstat()
        ours = info.st_uid == os.geteuid() and info.st_mtime < time.time() - _OLD_S
        return ours and _is_plain(info)
    return False


def _is_plain(info: os.stat_result) -> bool:
    return S_ISDIR(info.st_mode) or S_ISREG(info.st_mode)


def _remove(path: Path) -> bool:
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()
    return not path.exists()
