"""Copied contents, one private file each, named by their hash. Never a hard link to a file of
the workspace: a program that writes in place would change the copy too.

Not written through to the disk: they survive the end of this process, not the loss of power.
A copy is believed only if its hash is right when it is used.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.content import Content
from handrail.core.ports import Blobs
from handrail.core.problems import ProblemRaised

_FICLONE: Final = 0x40049409
# Below this, copying is cheaper than asking the file system to share the blocks.
_WORTH_SHARING: Final = 64 * 1024
_CHUNK: Final = 1 << 20
# Without O_EXCL: a name of this process's own that a crash of its namesake left is used again.
_NEW: Final = os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC | os.O_NOFOLLOW


class ContentStore:
    """The copies of one shadow, in a directory of its own."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._name = str(directory)
        self._shares: bool | None = None
        self._folders: set[str] = set()
        self._number = 0

    def take(self, source: int, size: int) -> str:
        """Copy an open file of about this size; returns the hash. Raises OSError."""
        if size >= _WORTH_SHARING and self._shares is not False:
            digest = self._share(source)
            if digest is not None:
                return digest
        data = read_all(source, size)
        digest = hashlib.sha256(data).hexdigest()
        target = self._path(digest)
        if not _has_size(target, len(data)):
            temp = self._temp()
            handle = os.open(temp, _NEW, 0o600)
            try:
                _write_all(handle, data)
                os.rename(temp, target)  # noqa: PTH104 - a path object costs more than the rename
            except OSError:
                os.unlink(temp)  # noqa: PTH108 - the same
                raise
            finally:
                os.close(handle)
        return digest

    def load(self, digest: str) -> bytes | None:
        """The content of a hash; None if it is gone or damaged."""
        try:
            data = Path(self._path(digest)).read_bytes()
        except OSError:
            return None
        return data if hashlib.sha256(data).hexdigest() == digest else None

    def export(self, digest: str, size: int, blobs: Blobs) -> bool:
        """Put a content among the old contents: as another name of the copy, or copied."""
        data = self.load(digest)
        if data is None or not blobs.has_room(size):
            return False
        target = blobs.target(digest)
        if target is not None:
            try:
                # Of our own copy, which is never written again.
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
        """Remove every copy but these."""
        with suppress(OSError):
            for folder in list(self._directory.iterdir()):
                for path in list(folder.iterdir()) if folder.is_dir() else [folder]:
                    if path.name not in needed:
                        path.unlink(missing_ok=True)

    def _share(self, source: int) -> str | None:
        """A copy that shares its blocks with the file; None where that cannot be had. The copy
        is hashed, not the file: what is kept is what the hash says, whoever writes meanwhile.
        """
        temp = self._temp()
        handle = os.open(temp, _NEW, 0o600)
        try:
            fcntl.ioctl(handle, _FICLONE, source)
        except OSError:
            self._shares = False
            os.unlink(temp)  # noqa: PTH108 - the same
            return None
        else:
            self._shares = True
            digest = _hash(handle)
            os.rename(temp, self._path(digest))  # noqa: PTH104 - the same
            return digest
        finally:
            os.close(handle)

    def _path(self, digest: str) -> str:
        folder = digest[:2]
        if folder not in self._folders:
            (self._directory / folder).mkdir(mode=0o700, parents=True, exist_ok=True)
            self._folders.add(folder)
        return f"{self._name}/{folder}/{digest}"

    def _temp(self) -> str:
        self._number += 1
        if not self._folders:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        return f"{self._name}/.{os.getpid()}-{self._number}"


def read_all(source: int, size: int) -> bytes:
    """The first so many bytes of an open file; whether it has grown, its stat tells."""
    parts, wanted = list[bytes](), size
    while wanted:
        part = os.read(source, min(wanted, _CHUNK))
        if not part:
            break
        parts.append(part)
        wanted -= len(part)
    return parts[0] if len(parts) == 1 else b"".join(parts)


def _hash(handle: int) -> str:
    state = hashlib.sha256()
    os.lseek(handle, 0, os.SEEK_SET)
    while part := os.read(handle, _CHUNK):
        state.update(part)
    return state.hexdigest()


def _has_size(path: str, size: int) -> bool:
    try:
        return os.stat(path).st_size == size  # noqa: PTH116 - the same
    except OSError:
        return False


def _write_all(handle: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(handle, view) :]
