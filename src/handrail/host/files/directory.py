"""The directory of a change: opened beneath its root, created if missing; renames in it that never
lose a file, and syncs of a group of files with one call per file system.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from typing import Any, Final

from handrail.core.places import ASIDE, Place
from handrail.host.files.errors import FAILING
from handrail.host.files.roots import LIST, LOOK_IN, Roots
from handrail.host.files.temp import Announce

_LEADS_ELSEWHERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV, errno.EACCES)


class Parent:
    """An open handle of a place's directory, and the directories created for it."""

    def __init__(
        self, roots: Roots, place: Place, announce: Announce | None, *, durable: bool
    ) -> None:
        """Raises OSError; FileNotFoundError if it is missing and `announce` is None. `announce` is
        called before a directory is created.
        """
        rel, _, self.name = place.rel.rpartition("/")
        if not self.name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if place.root != ASIDE and roots.hides(roots.absolute(place.root, place.rel)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self._roots = roots
        self._place = place._replace(rel=rel)
        self._made: list[str] = []
        try:
            self.handle = roots.open(self._place, LIST)
        except FileNotFoundError:
            if announce is None:
                raise
            announce()
            self.handle = self._make(rel, durable=durable)

    def is_current(self) -> bool:
        """Whether the path still leads to this directory."""
        try:
            now = self._roots.open(self._place, LOOK_IN)
        except OSError as error:
            # Other errors say nothing about where the path leads.
            if error.errno not in _LEADS_ELSEWHERE:
                raise
            return False
        try:
            return os.path.samestat(os.fstat(now), os.fstat(self.handle))
        finally:
            os.close(now)

    def remove_made(self) -> bool:
        """Remove the created directories that are empty; False on a disk error."""
        clean = True
        while self._made:
            try:
                remove_empty(self._roots, self._place._replace(rel=self._made.pop()))
            except OSError as error:
                clean = clean and error.errno not in FAILING
        return clean

    def close(self) -> None:
        """Close the handle; may be called twice."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def _make(self, rel: str, *, durable: bool) -> int:
        handle = self._roots.open(self._place._replace(rel=""), LIST)
        above = ""
        try:
            for name in rel.split("/"):
                above = f"{above}/{name}" if above else name
                below = self._enter(handle, name, above, durable=durable)
                os.close(handle)
                handle = below
        except OSError:
            os.close(handle)
            self.remove_made()
            raise
        return handle

    def _enter(self, handle: int, name: str, rel: str, *, durable: bool) -> int:
        with suppress(FileNotFoundError):
            return os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)
        # Another process may create it at this moment; then it is not removed.
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=handle)
            self._made.append(rel)
            if durable:
                os.fsync(handle)
        return os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)


def remove_name(name: str, directory: int) -> bool:
    """Remove a file; False on a disk error."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_empty(roots: Roots, place: Place) -> None:
    """Remove a directory; raises OSError if it is not empty or not a directory."""
    above, _, name = place.rel.rpartition("/")
    if not name:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    handle = roots.open(place._replace(rel=above), LOOK_IN)
    try:
        os.rmdir(name, dir_fd=handle)
    finally:
        os.close(handle)


_NOREPLACE: Final = 1
_EXCHANGE: Final = 2
_UNSUPPORTED: Final = (errno.EINVAL, errno.ENOSYS, errno.ENOTSUP)


def rename_new(handle: int, source: str, target: str) -> None:
    """Rename, failing with FileExistsError if the target exists."""
    if _renameat2(handle, source, target, _NOREPLACE):
        return
    # Linking fails if the name exists; a plain rename does not.
    try:
        os.link(source, target, src_dir_fd=handle, dst_dir_fd=handle, follow_symlinks=False)
    except FileExistsError:
        raise
    except OSError:
        # No hard links here either; the caller has just checked the target.
        os.rename(source, target, src_dir_fd=handle, dst_dir_fd=handle)
    else:
        try:
            os.unlink(source, dir_fd=handle)
        except OSError:
            # It must not keep two names; the caller checks whether this one was removed.
            with suppress(OSError):
                os.unlink(target, dir_fd=handle)
            raise


def exchange(handle: int, one: str, two: str) -> bool:
    """Exchange the names of two files atomically; False if the file system cannot."""
    return _renameat2(handle, one, two, _EXCHANGE)


def _renameat2(handle: int, source: str, target: str, flags: int) -> bool:
    call = _system_call()
    if call is None:
        return False
    if call(handle, os.fsencode(source), handle, os.fsencode(target), flags) == 0:
        return True
    code = ctypes.get_errno()
    if code in _UNSUPPORTED:
        return False
    raise OSError(code, os.strerror(code))


@cache
def _system_call() -> Any:
    """The C library's renameat2; None if it has none."""
    call: Any = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if call is not None:
        call.argtypes = (
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_int,
            ctypes.c_char_p,
            ctypes.c_uint,
        )
    return call


# Since Linux 5.8 syncfs reports write errors.
_RELIABLE_SINCE: Final = (5, 8)


def can_sync_groups() -> bool:
    """Whether syncfs is as reliable as an fsync of every file."""
    if sys.platform != "linux" or not hasattr(ctypes.CDLL(None), "syncfs"):
        return False
    major, minor = os.uname().release.split(".")[:2]
    return (_number(major), _number(minor)) >= _RELIABLE_SINCE


def sync_filesystems(handles: Iterable[int]) -> None:
    """Sync the file systems of these open handles. Raises OSError."""
    devices = {os.fstat(handle).st_dev: handle for handle in handles}
    for handle in devices.values():
        _syncfs(handle)


def _syncfs(handle: int) -> None:
    call: Any = ctypes.CDLL(None, use_errno=True).syncfs
    if call(handle) != 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))


def _number(text: str) -> int:
    digits = "".join(one for one in text if one.isdigit())
    return int(digits) if digits else 0
