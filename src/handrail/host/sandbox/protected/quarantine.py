"""The quarantine, to which entries are moved that a command created at protected names.

Entries are moved through open directories, never by path, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from handrail.host.files.root_identity import RootHandle
from handrail.host.files.roots import LIST, LOOK_IN, READ
from handrail.host.state.directories import private_directory

_MOST_BYTES: Final = 256 << 20
_MOST_ENTRIES: Final = 20_000
_DEEPEST: Final = 64
_CHUNK: Final = 1 << 20
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_OPEN: Final = LIST | os.O_NOFOLLOW


class Quarantine:
    """The quarantine directory of one repair, created when first needed."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory / "quarantine" / os.urandom(6).hex()
        self._handle = -1
        self._count = 0

    def take(self, handle: int, name: str, called: str | None = None) -> str:
        """Move an entry of an open directory away; return its new path. Raises OSError.

        Between file systems the entry is copied. If it is too large for that, it stays in its
        directory under a random name; `called` is its former name.
        """
        target = self._open()
        self._count += 1
        kept = f"{self._count}-{(called or name)[-80:]}"
        with writable_folder(handle):
            try:
                _rename(handle, name, target, kept)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                return self._copy_over(handle, name, kept)
        return str(self._directory / kept)

    @property
    def top(self) -> RootHandle | None:
        """The directory with its handle; None before it is created."""
        return RootHandle(str(self._directory), self._handle) if self._handle >= 0 else None

    def taken_by_others(self) -> frozenset[tuple[int, int]]:
        """Return device and inode of all entries that the repairs of other commands moved here."""
        found = set[tuple[int, int]]()
        with suppress(OSError), os.scandir(self._directory.parent) as folders:
            for folder in folders:
                if folder.name == self._directory.name:
                    continue
                with suppress(OSError), os.scandir(folder.path) as entries:
                    infos = [entry.stat(follow_symlinks=False) for entry in entries]
                    found.update((info.st_dev, info.st_ino) for info in infos)
        return frozenset(found)

    def close(self) -> None:
        """Close the handle; the entries stay."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1

    def _open(self) -> int:
        if self._handle < 0:
            private_directory(self._directory.parent)
            self._handle = os.open(private_directory(self._directory), _OPEN)
        return self._handle

    def _copy_over(self, handle: int, name: str, kept: str) -> str:
        aside = f"quarantined-{os.urandom(6).hex()}"
        os.rename(name, aside, src_dir_fd=handle, dst_dir_fd=handle)
        try:
            _BoundedCopy().entry(handle, aside, self._handle, kept, 0)
        except OSError:
            # Too large or unreadable: the entry stays under the random name.
            with suppress(OSError):
                _remove(self._handle, kept)
            return f"{handle_path(handle) or ''}/{aside}"
        _remove(handle, aside)
        return str(self._directory / kept)


class _BoundedCopy:
    """Copies one tree up to a limit; raises OSError beyond it."""

    def __init__(self) -> None:
        self._bytes = _MOST_BYTES
        self._entries = _MOST_ENTRIES

    def entry(self, source: int, name: str, target: int, new: str, depth: int) -> None:
        info = os.stat(name, dir_fd=source, follow_symlinks=False)
        self._entries -= 1
        self._bytes -= info.st_size
        if self._entries < 0 or self._bytes < 0 or depth > _DEEPEST:
            raise OSError(errno.EFBIG, "too much to copy")
        if stat.S_ISLNK(info.st_mode):
            os.symlink(os.readlink(name, dir_fd=source), new, dir_fd=target)
        elif stat.S_ISDIR(info.st_mode):
            self._folder(source, name, target, new, depth)
        elif stat.S_ISREG(info.st_mode):
            self._file(source, name, target, new)

    def _folder(self, source: int, name: str, target: int, new: str, depth: int) -> None:
        os.mkdir(new, 0o700, dir_fd=target)
        with (
            _open_folder(source, name) as inside,
            _open_folder(target, new) as below,
            writable_folder(inside),
        ):
            for one in os.listdir(inside):  # noqa: PTH208 - by handle
                self.entry(inside, one, below, one, depth + 1)

    def _file(self, source: int, name: str, target: int, new: str) -> None:
        inside = os.open(name, READ | os.O_NOFOLLOW, dir_fd=source)
        try:
            info = os.fstat(inside)
            if not stat.S_ISREG(info.st_mode):
                raise OSError(errno.EINVAL, "not a regular file")
            out = os.open(new, _CREATE, 0o600, dir_fd=target)
            try:
                # The file may grow meanwhile: copy no more than was counted.
                _copy_bytes(inside, out, info.st_size)
                os.fchmod(out, stat.S_IMODE(info.st_mode) & 0o777)
            finally:
                os.close(out)
        finally:
            os.close(inside)


def _copy_bytes(source: int, target: int, size: int) -> None:
    while size > 0 and (part := os.read(source, min(size, _CHUNK))):
        size -= len(part)
        view = memoryview(part)
        while view:
            view = view[os.write(target, view) :]


def _rename(handle: int, name: str, target: int, kept: str) -> None:
    try:
        os.rename(name, kept, src_dir_fd=handle, dst_dir_fd=target)
    except PermissionError:
        # Moving a directory needs write permission on the directory itself.
        inside = os.open(name, LOOK_IN | os.O_NOFOLLOW, dir_fd=handle)
        try:
            with writable_folder(inside):
                os.rename(name, kept, src_dir_fd=handle, dst_dir_fd=target)
        finally:
            os.close(inside)


def _remove(handle: int, name: str) -> None:
    if stat.S_ISDIR(os.stat(name, dir_fd=handle, follow_symlinks=False).st_mode):
        shutil.rmtree(name, dir_fd=handle)
    else:
        os.unlink(name, dir_fd=handle)


@contextmanager
def _open_folder(handle: int, name: str) -> Iterator[int]:
    inside = os.open(name, _OPEN, dir_fd=handle)
    try:
        yield inside
    finally:
        os.close(inside)


@contextmanager
def writable_folder(handle: int) -> Iterator[None]:
    """Give the owner write permission on a directory while the block runs."""
    info = os.fstat(handle)
    mode, wanted = stat.S_IMODE(info.st_mode), stat.S_IWUSR | stat.S_IXUSR
    if mode & wanted == wanted or info.st_uid != os.geteuid():
        yield
        return
    set_mode(handle, mode | wanted)
    try:
        yield
    finally:
        set_mode(handle, mode)


def set_mode(handle: int, mode: int) -> None:
    """Change the mode of an open directory; raises OSError."""
    try:
        os.fchmod(handle, mode)
    except OSError as error:
        if error.errno != errno.EBADF:
            raise
        # An O_PATH handle supports only this way.
        Path(f"/proc/self/fd/{handle}").chmod(mode)


def handle_path(handle: int) -> str | None:
    """Return the current path of an open directory; None if it was removed or is unknown."""
    try:
        path = str(Path(f"/proc/self/fd/{handle}").readlink())
    except OSError:
        return None
    return None if path.endswith(" (deleted)") else path
