"""New content in a temporary file next to its target, with the attributes of what it replaces."""

from __future__ import annotations

import errno
import os
import stat
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import islice
from typing import Final, NamedTuple

from handrail.core.places import Place
from handrail.core.text.content import Content
from handrail.host.files.reading import content_equals
from handrail.host.files.roots import LOOK_IN, READ, Roots

_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Only Linux has unnamed files; elsewhere the bit is missing.
_UNNAMED: Final = os.O_RDWR | os.O_CLOEXEC | getattr(os, "O_TMPFILE", 0)
_NO_UNNAMED: Final = (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL, errno.ENOENT, errno.ENOSYS)
# No hard links on this file system, or no /proc to name the file by.
_NO_LINKS: Final = (errno.EPERM, errno.EOPNOTSUPP, errno.ENOENT, errno.EXDEV)
_PARTS_AT_ONCE: Final = 512
_KEPT_XATTRS: Final = ("user.", "system.posix_acl_access", "security.selinux")


# Returns once it is recorded that something is about to appear; raises if it may not.
Announce = Callable[[], None]


class FileFingerprint(NamedTuple):
    """Identifies a file that was written, to recognise it later."""

    device: int
    inode: int
    size: int
    mtime_ns: int


class TempAttributes(NamedTuple):
    """What the new file takes over: the old file, by name and stat, and the wanted mode."""

    name: str
    old: os.stat_result | None
    mode: int | None


class TempFile:
    """A new file in a directory, unnamed where the file system can, so that a crash leaves
    nothing; `appear` gives it its name.
    """

    def __init__(self, handle: int, name: str, like: TempAttributes, announce: Announce) -> None:
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
            announce()
            self._descriptor = os.open(name, _CREATE, mode, dir_fd=handle)
            self.named = True

    def fill(self, content: Content, *, durable: bool) -> None:
        """Write the content; on OSError nothing is left."""
        try:
            _write(self._descriptor, content)
            _dress(self._handle, self._descriptor, self._like)
            if durable:
                os.fsync(self._descriptor)
        except BaseException:
            self.discard()
            raise

    def appear(self, *, durable: bool) -> FileFingerprint:
        """Give it its name in the directory; returns its fingerprint."""
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
            _dress(self._handle, self._descriptor, self._like)
            if durable:
                os.fsync(self._descriptor)
        finally:
            os.close(unnamed)

    def discard(self) -> None:
        """Remove it; may be called twice."""
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
    """Write a named temporary file; on OSError nothing is left."""
    temp = TempFile(handle, name, like, lambda: None)
    temp.fill(content, durable=durable)
    try:
        return temp.appear(durable=durable)
    except OSError:
        temp.discard()
        raise


def file_fingerprint(info: os.stat_result) -> FileFingerprint:
    """The fingerprint of the file with this stat."""
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


def _dress(handle: int, descriptor: int, like: TempAttributes) -> None:
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


class TempLink:
    """A new link in a directory, created by `appear`."""

    def __init__(self, handle: int, name: str, target: Content) -> None:
        self._handle = handle
        self._name = name
        self._target = target.tobytes()
        self.named = False

    def appear(self, *, durable: bool) -> FileFingerprint:
        """Create it under its temporary name; returns its fingerprint."""
        del durable  # A link is in its directory, which the caller writes through.
        os.symlink(self._target, os.fsencode(self._name), dir_fd=self._handle)
        self.named = True
        return file_fingerprint(os.stat(self._name, dir_fd=self._handle, follow_symlinks=False))

    def close(self) -> None:
        """Nothing: there is no handle."""


class LinkedTemp:
    """A temporary name that is a hard link to another file."""

    named = True

    def appear(self, *, durable: bool) -> FileFingerprint:
        """Never called: the name exists from the beginning."""
        raise NotImplementedError(f"a name appears once (durable={durable})")

    def close(self) -> None:
        """Nothing: there is no handle."""


def link_to(
    roots: Roots, place: Place, handle: int, name: str, content: Content
) -> FileFingerprint | None:
    """Hard-link the file at a place into a directory if it has exactly this content; None if it
    does not, is missing, or the file system cannot.
    """
    above, _, last = place.rel.rpartition("/")
    try:
        folder = roots.open(place._replace(rel=above), LOOK_IN)
    except OSError:
        return None
    try:
        os.link(last, name, src_dir_fd=folder, dst_dir_fd=handle, follow_symlinks=False)
    except OSError:
        return None
    finally:
        os.close(folder)
    # The linked file is checked, whatever it was before.
    made = _written_if_same(handle, name, content)
    if made is None:
        os.unlink(name, dir_fd=handle)
    return made


def _written_if_same(handle: int, name: str, content: Content) -> FileFingerprint | None:
    info = os.stat(name, dir_fd=handle, follow_symlinks=False)
    if not stat.S_ISREG(info.st_mode) or info.st_size != content.size:
        return None
    try:
        descriptor = os.open(name, READ | os.O_NOFOLLOW, dir_fd=handle)
    except OSError:
        return None
    try:
        same = content_equals(descriptor, content)
    finally:
        os.close(descriptor)
    return file_fingerprint(info) if same else None
