"""Private copies of large protected files, named by their hash."""

from __future__ import annotations

import errno
import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final

from handrail.host.state.directories import private_directory

_QUOTA: Final = 512 << 20
_CHUNK: Final = 1 << 20
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class PrivateCopies:
    """A directory of copies; those used longest ago go first when there are too many."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory

    def keep(self, descriptor: int, size: int, needed: Collection[str]) -> str:
        """Copy an open file, unless it is kept already; returns its hash. Raises OSError."""
        digest = file_digest(descriptor)
        target = private_directory(self._directory) / digest
        try:
            os.utime(target)
        except FileNotFoundError:
            self._make_room(size, {*needed, digest})
            self._write(descriptor, target)
        return digest

    def parts(self, digest: str) -> Iterator[bytes]:
        """The content in pieces; raises OSError, at the end too, if the copy is damaged."""
        hashed = sha256()
        with (self._directory / digest).open("rb") as copy:
            while part := copy.read(_CHUNK):
                hashed.update(part)
                yield part
        if hashed.hexdigest() != digest:
            raise OSError(errno.EIO, "the kept copy is damaged")

    def _write(self, descriptor: int, target: Path) -> None:
        temp = target.with_name(f".{os.urandom(8).hex()}")
        out = os.open(temp, _CREATE, 0o600)
        try:
            _copy(descriptor, out, target.name)
            temp.rename(target)
        except OSError:
            temp.unlink(missing_ok=True)
            raise
        finally:
            os.close(out)

    def _make_room(self, size: int, needed: Collection[str]) -> None:
        kept = [(info.st_mtime_ns, info.st_size, path) for path, info in self._files()]
        total = size + sum(one[1] for one in kept)
        for _, bytes_, path in sorted(kept):
            if total <= _QUOTA:
                return
            if path.name not in needed:
                path.unlink(missing_ok=True)
                total -= bytes_

    def _files(self) -> Iterator[tuple[Path, os.stat_result]]:
        for path in self._directory.iterdir():
            with suppress(FileNotFoundError):
                yield path, path.lstat()


def file_digest(descriptor: int) -> str:
    """The hash of an open file, from its beginning."""
    os.lseek(descriptor, 0, os.SEEK_SET)
    hashed = sha256()
    while part := os.read(descriptor, _CHUNK):
        hashed.update(part)
    return hashed.hexdigest()


def _copy(source: int, target: int, digest: str) -> None:
    os.lseek(source, 0, os.SEEK_SET)
    hashed = sha256()
    while part := os.read(source, _CHUNK):
        hashed.update(part)
        view = memoryview(part)
        while view:
            view = view[os.write(target, view) :]
    if hashed.hexdigest() != digest:
        raise OSError(errno.ESTALE, "it changed while it was copied")
