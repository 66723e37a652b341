"""Copies of file contents by SHA-256: each in a private file, or in packs if they are small.

A copy is never a hard link to a file of the workspace, which a program could change in place.
Copies are not synced: they survive the end of the process but not a power failure, so the hash is
checked whenever a copy is used.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import itertools
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.ports.machine import Blobs
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.snapshots.content_packs import ContentPacks

_FICLONE: Final = 0x40049409
# Below this size, copying is cheaper than sharing blocks.
_WORTH_SHARING: Final = 64 * 1024
_CHUNK: Final = 1 << 20
# Larger files are copied in pieces.
_IN_MEMORY: Final = 8 << 20
# Without O_EXCL: a crashed process with this pid may have left the name.
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW

# Shared by all stores of the process, which may use one directory.
_numbers: Final = itertools.count(1)


class ContentStore:
    """A directory of copies; small ones are packed in `packs`, if given. Not thread-safe."""

    def __init__(self, directory: Path, packs: Path | None = None) -> None:
        self._packs = None if packs is None else ContentPacks(packs)
        # Contents with fewer bytes are packed.
        self.packed_below = 0 if packs is None else _WORTH_SHARING
        self._directory = directory
        self._name = str(directory)
        self._shares: bool | None = None
        self._folders: set[str] = set()

    def take(self, source: int, size: int) -> str:
        """Copy the first `size` bytes of an open file; return the hash. Raises OSError."""
        if size >= _WORTH_SHARING and self._shares is not False:
            digest = self._share(source)
            if digest is not None:
                return digest
        if size > _IN_MEMORY:
            return self._copy_in_parts(source, size)
        data = read_all(source, size)
        digest = hashlib.sha256(data).hexdigest()
        if self._packs is not None and len(data) < self.packed_below:
            self._packs.add(digest, data)
            return digest
        target = self._path(digest)
        if not _has_size(target, len(data)):
            temp = self._temp()
            handle = os.open(temp, _NEW, 0o600)
            try:
                _write_all(handle, data)
                os.rename(temp, target)  # noqa: PTH104 - a path object costs more than the rename
            except OSError:
                os.unlink(temp)  # noqa: PTH108 - as above
                raise
            finally:
                os.close(handle)
        else:
            os.utime(target)
        return digest

    def pack(self, data: bytes) -> str:
        """Keep a content with less than `packed_below` bytes; return the hash. Raises OSError."""
        digest = hashlib.sha256(data).hexdigest()
        if self._packs is not None:
            self._packs.add(digest, data)
        return digest

    def load(self, digest: str) -> bytes | None:
        """Return the content with this hash; None if the copy is missing or damaged."""
        data = None if self._packs is None else self._packs.read(digest)
        try:
            data = Path(self._path(digest)).read_bytes() if data is None else data
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def read_parts(self, digest: str) -> Iterator[bytes]:
        """Yield the content in pieces. Raises OSError if the copy is missing, at the end if it is
        damaged.
        """
        state = hashlib.sha256()
        with Path(self._path(digest)).open("rb") as copy:
            while part := copy.read(_CHUNK):
                state.update(part)
                yield part
        if state.hexdigest() != digest:
            raise OSError(errno.EIO, "the kept copy is damaged")

    def export(self, digest: str, size: int, blobs: Blobs) -> bool:
        """Add a content to `blobs`, as a hard link to the copy where possible. Returns False if the
        copy is missing or damaged, or there is no room.
        """
        data = self.load(digest)
        if data is None or not blobs.has_room(size):
            return False
        target = blobs.target(digest)
        if target is not None:
            try:
                if self._packs is not None and digest in self._packs:
                    _write_new(target, data)
                else:
                    # The copy is never written again.
                    os.link(self._path(digest), target)
            except FileExistsError:
                if _has_size(target, size):
                    return True
            except OSError:
                pass
            else:
                blobs.adopted(size)
                return True
        try:
            blobs.keep(Content(data))
        except ProblemRaised:
            return False
        return True

    def sweep(self, needed: set[str]) -> None:
        """Remove all other copies; a pack stays while half of it is needed."""
        with suppress(OSError):
            if self._packs is not None:
                self._packs.sweep(needed)
            for path in self._files():
                if path.name not in needed:
                    path.unlink(missing_ok=True)

    def flush(self) -> set[str]:
        """Make sure that a later process finds all copies, even after a crash of this one. Returns
        the hashes of copies for which there was no room. Raises OSError.
        """
        if self._packs is None:
            return set()
        self._packs.flush()
        lost, self._packs.lost = self._packs.lost, set()
        return lost

    def close(self) -> None:
        """Close what is open. Raises OSError."""
        if self._packs is not None:
            self._packs.close()

    def evict(self, quota: int, needed: Collection[str]) -> None:
        """Remove the copies unused for longest until all fit the quota; never a needed one."""
        copies = []
        for path in self._files():
            with suppress(FileNotFoundError):
                info = path.lstat()
                copies.append((info.st_mtime_ns, info.st_size, path))
        total = sum(size for _, size, _ in copies)
        for _, size, path in sorted(copies):
            if total <= quota:
                return
            if path.name not in needed:
                path.unlink(missing_ok=True)
                total -= size

    def _files(self) -> Iterator[Path]:
        for folder in list(self._directory.iterdir()):
            yield from list(folder.iterdir()) if folder.is_dir() else [folder]

    def _share(self, source: int) -> str | None:
        """Make a copy that shares its blocks with the file; return None if the file system cannot.
        The copy is hashed, because the file may be written meanwhile.
        """
        temp = self._temp()
        handle = os.open(temp, _NEW, 0o600)
        try:
            fcntl.ioctl(handle, _FICLONE, source)
        except OSError:
            self._shares = False
            os.unlink(temp)  # noqa: PTH108 - as above
            return None
        else:
            self._shares = True
            digest = hash_file(handle)
            os.rename(temp, self._path(digest))  # noqa: PTH104 - as above
            return digest
        finally:
            os.close(handle)

    def _copy_in_parts(self, source: int, size: int) -> str:
        temp = self._temp()
        handle = os.open(temp, _NEW, 0o600)
        try:
            state = hashlib.sha256()
            while size > 0 and (part := os.read(source, min(size, _CHUNK))):
                size -= len(part)
                state.update(part)
                _write_all(handle, part)
            digest = state.hexdigest()
            os.rename(temp, self._path(digest))  # noqa: PTH104 - as in `take`
        except OSError:
            os.unlink(temp)  # noqa: PTH108 - as in `take`
            raise
        finally:
            os.close(handle)
        return digest

    def _path(self, digest: str) -> str:
        folder = digest[:2]
        if folder not in self._folders:
            (self._directory / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folders.add(folder)
        return f"{self._name}/{folder}/{digest}"

    def _temp(self) -> str:
        if not self._folders:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"{self._name}/.{os.getpid()}-{next(_numbers)}"


def read_all(source: int, size: int) -> bytes:
    """Return at most `size` bytes of an open file. The caller detects growth by a second stat."""
    data = os.read(source, size if size < _CHUNK else _CHUNK) if size else b""
    if len(data) == size or not data:
        return data
    parts, wanted = [data], size - len(data)
    while wanted:
        part = os.read(source, min(wanted, _CHUNK))
        if not part:
            break
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def hash_file(handle: int) -> str:
    """The SHA-256 of an open file, from its beginning."""
    state = hashlib.sha256()
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, _CHUNK):
        state.update(part)
    return state.hexdigest()


def _has_size(path: str, size: int) -> bool:
    try:
        return os.stat(path).st_size == size  # noqa: PTH116 - as above
    except OSError:
        return False


def _write_new(target: str, data: bytes) -> None:
    """Write a file completely or not at all, unsynced; raises FileExistsError."""
    folder, _, name = target.rpartition("/")
    temp = f"{folder}/.{name}.{os.getpid()}.{next(_numbers)}"
    handle = os.open(temp, _NEW, 0o600)
    try:
        _write_all(handle, data)
        os.link(temp, target)
    finally:
        os.close(handle)
        os.unlink(temp)  # noqa: PTH108 - as above


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
