"""The parent directory of a change: its handle, the new files written in it, and renames that never
lose a file.

A new file is unnamed where possible and takes over the attributes of the old file. Groups of files
are synced with one call per file system.
"""

from __future__ import annotations

import ctypes
import errno
import os
import stat
import sys
from collections import deque
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from itertools import islice
from typing import Any, Final, NamedTuple

from handrail.core.places import PLAN_FILE_ROOT, Place
from handrail.core.text.content import Content
from handrail.host.files.errors import FAILING
from handrail.host.files.roots import LIST, LOOK_IN, READ, Roots

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Only Linux has unnamed files; elsewhere the bit is missing.
_UNNAMED: Final = os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_TMPFILE", 0)
_NO_UNNAMED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS)
# No hard links on this file system, or no /proc to name the file by.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOENT, errno.EXDEV)
_PARTS_AT_ONCE: Final = 512
_KEPT_XATTRS: Final = ("user.", "system.posix_acl_access", "security.selinux")


# Returns once the record says that a file is about to appear; raises if the file must not appear.
WaitForIntent = Callable[[], None]


class FileFingerprint(NamedTuple):
    """Identifies a file that was written, to recognise it later."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class TempAttributes(NamedTuple):
    """What a new file takes over: attributes of the old file (by name and stat), and a mode."""

    name: str
    old: os.stat_result | None
    mode: int | None


class TempFile:
    """A new file in a directory. It is unnamed where the file system supports that, so that a crash
    leaves no file; `appear` gives it its name.
    """

    def __init__(
        self, handle: int, name: str, like: TempAttributes, wait_for_intent: WaitForIntent
    ) -> None:
        # A new file gets its mode from the umask, which cannot be read without changing it.
        mode = 0o666 if like.old is None else 0o600
        self._handle = handle
        self._name = name
        self._like = like
        self.named = False
        try:
            self._descriptor = os.open(".", _UNNAMED, mode, dir_fd=handle)
        except OSError as error:
            if error.errno not in _NO_UNNAMED:
                raise
            # Not supported by this file system.
            wait_for_intent()
            self._descriptor = os.open(name, _CREATE, mode, dir_fd=handle)
            self.named = True

    def fill(self, content: Content, *, durable: bool) -> None:
        """Write the content; on OSError no file is left."""
        try:
            _write(self._descriptor, content)
            _apply_attributes(self._handle, self._descriptor, self._like)
            if durable:
                os.fsync(self._descriptor)
        except BaseException:
            self.discard()
            raise

    def appear(self, *, durable: bool) -> FileFingerprint:
        """Name the file in the directory and return its fingerprint."""
        try:
            if not self.named:
                self._link_or_copy(durable=durable)
            return file_fingerprint(os.fstat(self._descriptor))
        finally:
            self.close()

    def _link_or_copy(self, *, durable: bool) -> None:
        source = f"/proc/self/fd/{self._descriptor}"
        try:
            os.link(source, self._name, dst_dir_fd=self._handle, follow_symlinks=True)
        except OSError as error:
            if error.errno not in _NO_LINKS:
                raise
        else:
            self.named = True
            return
        unnamed = self._descriptor
        self._descriptor = os.open(self._name, _CREATE, 0o600, dir_fd=self._handle)
        self.named = True
        try:
            os.lseek(unnamed, 0, os.SEEK_SET)
            while data := os.read(unnamed, 1 << 20):
                _write(self._descriptor, Content(data))
            os.fchmod(self._descriptor, stat.S_IMODE(os.fstat(unnamed).st_mode))
            _apply_attributes(self._handle, self._descriptor, self._like)
            if durable:
                os.fsync(self._descriptor)
        finally:
            os.close(unnamed)

    def discard(self) -> None:
        """Remove the file; may be called twice."""
        if self.named:
            with suppress(OSError):
                os.unlink(self._name, dir_fd=self._handle)
        with suppress(OSError):
            self.close()

    def close(self) -> None:
        """Close the handle; may be called twice."""
        descriptor, self._descriptor = self._descriptor, -1
        if descriptor >= 0:
            os.close(descriptor)


def write_temp(
    handle: int, name: str, content: Content, like: TempAttributes, *, durable: bool
) -> FileFingerprint:
    """Write a named temporary file; on OSError no file is left."""
    temp = TempFile(handle, name, like, lambda: None)
    temp.fill(content, durable=durable)
    try:
        return temp.appear(durable=durable)
    except OSError:
        temp.discard()
        raise


def file_fingerprint(info: os.stat_result) -> FileFingerprint:
    """Return the fingerprint of the file with this stat."""
    return FileFingerprint(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)


def _write(descriptor: int, content: Content) -> None:
    pending = deque(memoryview(part).cast("B") for part in content.parts if len(part))
    while pending:
        count = os.writev(descriptor, list(islice(pending, _PARTS_AT_ONCE)))
        if count <= 0:
            raise OSError(errno.EIO, "nothing more could be written")
        while pending and count >= len(pending[0]):
            count -= len(pending.popleft())
        if count:
            pending[0] = pending[0][count:]


def _apply_attributes(handle: int, descriptor: int, like: TempAttributes) -> None:
    if like.old is None:
        if like.mode is not None:
            os.fchmod(descriptor, like.mode & 0o777)
        return
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.old.st_uid, like.old.st_gid):
        # Only root may change the owner; otherwise the writing user owns the file.
        with suppress(PermissionError):
            os.fchown(descriptor, like.old.st_uid, like.old.st_gid)
    # Like any write, this clears set-uid and set-gid.
    mode = like.mode if like.mode is not None else stat.S_IMODE(like.old.st_mode)
    os.fchmod(descriptor, mode & 0o777)
    _copy_xattrs(handle, like.name, descriptor)


def _copy_xattrs(handle: int, name: str, descriptor: int) -> None:
    if not hasattr(os, "listxattr"):
        return
    # Best effort: not every file system has them, and some may only be set by root.
    with suppress(OSError):
        old = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
        try:
            for key in os.listxattr(old):
                if key.startswith(_KEPT_XATTRS):
                    with suppress(OSError):
                        os.setxattr(descriptor, key, os.getxattr(old, key))
        finally:
            os.close(old)


_LEADS_ELSEWHERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV, errno.EACCES)


class Parent:
    """An open handle of a place's directory, and the directories that were created for it."""

    def __init__(
        self, roots: Roots, place: Place, wait_for_intent: WaitForIntent | None, *, durable: bool
    ) -> None:
        """Open the directory, or call `wait_for_intent` and create it. Raises OSError;
        FileNotFoundError if it is missing and `wait_for_intent` is None.
        """
        rel, _, self.name = place.rel.rpartition("/")
        if not self.name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if place.root != PLAN_FILE_ROOT and roots.hides(roots.absolute(place.root, place.rel)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self._roots = roots
        self._place = place._replace(rel=rel)
        self._made: list[str] = []
        try:
            self.handle = roots.open(self._place, LIST)
        except FileNotFoundError:
            if wait_for_intent is None:
                raise
            wait_for_intent()
            self.handle = self._make(rel, durable=durable)

    def is_current(self) -> bool:
        """Return whether the path still leads to this directory."""
        try:
            now = self._roots.open(self._place, LOOK_IN)
        except OSError as error:
            # Other errors do not show where the path leads.
            if error.errno not in _LEADS_ELSEWHERE:
                raise
            return False
        try:
            return os.path.samestat(os.fstat(now), os.fstat(self.handle))
        finally:
            os.close(now)

    def remove_made(self) -> bool:
        """Remove the created directories that are empty; return False on a disk error."""
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
        # If another process creates it at this moment, `remove_made` must not remove it.
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=handle)
            self._made.append(rel)
            if durable:
                os.fsync(handle)
        return os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)


def remove_name(name: str, directory: int) -> bool:
    """Remove a file; return False on a disk error."""
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
        # This file system has no hard links either. The caller has just checked that the target is
        # missing.
        os.rename(source, target, src_dir_fd=handle, dst_dir_fd=handle)
    else:
        try:
            os.unlink(source, dir_fd=handle)
        except OSError:
            # The file must not keep two names; the caller checks whether this one was removed.
            with suppress(OSError):
                os.unlink(target, dir_fd=handle)
            raise


def exchange(handle: int, one: str, two: str) -> bool:
    """Exchange the names of two files atomically; return False if the file system cannot."""
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
    """Return the renameat2 function of the C library; None if it has none."""
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
    """Return whether syncfs is as reliable as an fsync of every file."""
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
