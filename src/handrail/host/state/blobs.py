"""Keeps old file contents by hash, in files next to the store."""

from __future__ import annotations

import os
import time
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.messages import BLOB_DAMAGED, BLOB_MISSING, BLOB_NOT_KEPT, BLOB_UNREADABLE

QUOTA_BYTES: Final = 2 << 30
_PACKED: Final = ".z"
# Longer than it takes to write one content.
_WRITTEN_S: Final = 86_400


class DirectoryBlobs:
    """One file per content, named by SHA-256; written once, durable, mode 0600.

    When the quota is reached, nothing more is kept, and calls report that they cannot be undone.
    Contents are never dropped to make room.
    """

    def __init__(self, directory: Path, *, quota_bytes: int = QUOTA_BYTES) -> None:
        self._directory = directory
        self._quota = quota_bytes
        self._used: int | None = None

    def keep(self, content: Content) -> str:
        """Keep a content; return its hash. Writes nothing if the content is kept already."""
        digest = content.digest
        target = self._directory / digest
        if self._has_content(digest):
            return digest
        try:
            self._write(target, content)
        except OSError as error:
            raise BLOB_NOT_KEPT.error(
                directory=str(self._directory), reason=error.strerror
            ) from error
        self._count(content.size)
        return digest

    def load(self, digest: str) -> bytes:
        """Return the content with this hash. Raises `not_found` if it is missing or damaged,
        `unavailable` on a disk error.
        """
        path = self._directory / digest
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            data = self._unpack(path.with_suffix(_PACKED), digest)
        except OSError as error:
            raise _unreadable(path, error) from error
        content = Content(data)
        if content.digest != digest:
            raise BLOB_DAMAGED.error(digest=digest)
        return data

    def target(self, digest: str) -> str | None:
        """Return the path to which a file can be moved instead of `keep`; None if only `keep`
        works.
        """
        try:
            self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        except OSError:
            return None
        return str(self._directory / digest)

    def adopted(self, size: int) -> None:
        """Count a file of this size that was moved to the path from `target`."""
        self._count(size)

    def has_room(self, size: int) -> bool:
        """Return whether this many more bytes may be kept."""
        if self._used is None:
            self._used = self._measure()
        return self._used + size <= self._quota

    def pack(self) -> int:
        """Compress contents; return the bytes saved. Slow: not for use during a call."""
        saved = 0
        for path in self._files():
            if path.suffix != _PACKED and not path.name.startswith("."):
                with suppress(FileNotFoundError):
                    saved += self._pack_one(path)
        self._used = None
        return saved

    def could_free(self, promised: set[str]) -> int:
        """Return the bytes that `drop_all_but` and then `pack` would free. Equally slow."""
        return sum(
            self._saving(path) if path.stem in promised else _size(path)
            for path in self._files()
            if not path.name.startswith(".")
        )

    def drop_all_but(self, promised: set[str]) -> int:
        """Remove contents that no undo needs, and files of killed writers; the bytes freed."""
        freed, dead_s = 0, time.time() - _WRITTEN_S
        for path in self._files():
            temporary = path.name.startswith(".")
            if _is_abandoned(path, dead_s) if temporary else path.stem not in promised:
                freed += _size(path)
                path.unlink(missing_ok=True)
        self._used = None
        return freed

    def _has_content(self, digest: str) -> bool:
        try:
            self.load(digest)
        except ProblemRaised:
            return False
        return True

    def _files(self) -> list[Path]:
        return sorted(self._directory.iterdir()) if self._directory.is_dir() else []

    def _measure(self) -> int:
        # There may be very many files, so they are read one at a time, without an object for each.
        try:
            with os.scandir(self._directory) as entries:
                return sum(map(_entry_size, entries))
        except FileNotFoundError:
            return 0

    def _count(self, size: int) -> None:
        if self._used is not None:
            self._used += size

    def _write(self, target: Path, content: Content) -> None:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        temp = target.with_name(f".{target.name}.{os.getpid()}.{os.urandom(4).hex()}")
        descriptor = os.open(temp, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        try:
            for part in content.parts:
                _write_all(descriptor, part)
            os.fsync(descriptor)
            temp.rename(target)
            _sync_directory(self._directory)
        except BaseException:
            temp.unlink(missing_ok=True)
            raise
        finally:
            os.close(descriptor)

    def _saving(self, path: Path) -> int:
        packed = _packed(path) if path.suffix != _PACKED else None
        return path.stat().st_size - len(packed) if packed is not None else 0

    def _pack_one(self, path: Path) -> int:
        packed = _packed(path)
        if packed is None:
            return 0
        size = path.stat().st_size
        self._write(path.with_suffix(_PACKED), Content(packed))
        path.unlink()
        return size - len(packed)

    def _unpack(self, path: Path, digest: str) -> bytes:
        try:
            packed = path.read_bytes()
            return zlib.decompress(packed)
        except FileNotFoundError:
            raise BLOB_MISSING.error(digest=digest) from None
        except OSError as error:
            raise _unreadable(path, error) from error
        except zlib.error:
            raise BLOB_DAMAGED.error(digest=digest) from None


class MemoryBlobs:
    """Keeps contents in memory, for a store without files."""

    def __init__(self, *, quota_bytes: int = 256 << 20) -> None:
        self._contents: dict[str, bytes] = {}
        self._used = 0
        self._quota = quota_bytes

    def keep(self, content: Content) -> str:
        """Keep a content; returns its hash."""
        if content.digest not in self._contents:
            self._contents[content.digest] = content.tobytes()
            self._used += content.size
        return content.digest

    def load(self, digest: str) -> bytes:
        """The content with this hash; raises `not_found`."""
        try:
            return self._contents[digest]
        except KeyError:
            raise BLOB_MISSING.error(digest=digest) from None

    def target(self, digest: str) -> str | None:
        """Return None: there is no path in memory."""
        del digest
        return None

    def adopted(self, size: int) -> None:
        """Do nothing: no file can be moved into memory."""
        del size

    def has_room(self, size: int) -> bool:
        """Return whether this many more bytes may be kept."""
        return self._used + size <= self._quota


def _is_abandoned(path: Path, dead_s: float) -> bool:
    """Whether a temporary file was last written so long ago that its writer must have ended."""
    try:
        return path.stat().st_mtime < dead_s
    except FileNotFoundError:
        return False


def _size(path: Path) -> int:
    """Return the size of a file; 0 if another process has just removed or packed it."""
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _entry_size(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except FileNotFoundError:
        return 0


def _packed(path: Path) -> bytes | None:
    """Return the compressed content; None if compression saves too little."""
    content = Content(path.read_bytes())
    packed = zlib.compress(content.tobytes(), 6)
    # A damaged content is left alone; `load` reports it.
    if content.digest != path.name or len(packed) > content.size * 0.9:
        return None
    return packed


def _unreadable(path: Path, error: OSError) -> ProblemRaised:
    return BLOB_UNREADABLE.error(path=str(path), reason=error.strerror)


def _sync_directory(directory: Path) -> None:
    # Without this, a power failure could lose the name and with it the content.
    descriptor = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_all(descriptor: int, part: bytes | memoryview) -> None:
    view = memoryview(part)
    while view:
        view = view[os.write(descriptor, view) :]
