"""New content in a temp file beside its target, with the attributes of what it replaces."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from handrail.core.content import Content
from handrail.host.files.openat2 import READ

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_PARTS_AT_ONCE: Final = 512
_KEPT_XATTRS: Final = ("user.", "system.posix_acl_access", "security.selinux")


class Written(NamedTuple):
    """A file as we wrote it, to be recognised later."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class Likeness(NamedTuple):
    """What the new file takes over: the old file, by name and stat, and the wanted mode."""

    name: str
    old: os.stat_result | None
    mode: int | None


def write_temp(
    handle: int, name: str, content: Content, like: Likeness, *, durable: bool
) -> Written:
    """Write a temp file into the directory; on OSError nothing is left behind."""
    # A new file gets its mode from the umask, which cannot be asked for without changing it.
    descriptor = os.open(name, _CREATE, 0o666 if like.old is None else 0o600, dir_fd=handle)
    try:
        _write(descriptor, content)
        _dress(handle, descriptor, like)
        if durable:
            os.fsync(descriptor)
        return written(os.fstat(descriptor))
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(name, dir_fd=handle)
        raise
    finally:
        os.close(descriptor)


def written(info: os.stat_result) -> Written:
    """What identifies the file with this stat as the one that was written."""
    return Written(info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns)


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


def _dress(handle: int, descriptor: int, like: Likeness) -> None:
    if like.old is None:
        if like.mode is not None:
            os.fchmod(descriptor, like.mode & 0o777)
        return
    mine = os.fstat(descriptor)
    if (mine.st_uid, mine.st_gid) != (like.old.st_uid, like.old.st_gid):
        # Only root may give files away; without that the writer owns what it wrote.
        with suppress(PermissionError):
            os.fchown(descriptor, like.old.st_uid, like.old.st_gid)
    # Like any write, this takes set-uid and set-gid away.
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
