"""Reads the folder of a skill and hashes all its files; nothing outside the folder is read."""

from __future__ import annotations

import os
import stat
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple

from handrail.host.files.reading import is_settled
from handrail.skills.manifest import InvalidSkill

MANIFEST: Final = "SKILL.md"
MAX_FILES: Final = 500
MAX_BYTES: Final = 10_000_000
_MAX_DEPTH: Final = 8
_ENTER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_READ: Final = os.O_RDONLY | os.O_NONBLOCK | os.O_NOFOLLOW | os.O_CLOEXEC
_CHUNK: Final = 1 << 16

Signature = tuple[str, int, int, int, int]


class FolderContent(NamedTuple):
    """The text of SKILL.md, and a hash over the names, modes and contents of all files."""

    manifest: str
    digest: str


def read_folder(folder: Path, max_manifest_bytes: int) -> FolderContent:
    """Read a skill's folder; raises `InvalidSkill` for links, special files and folders that are too
    large.
    """
    reader = _FolderReader(max_manifest_bytes)
    try:
        descriptor = os.open(folder, _ENTER)
        try:
            reader.read(descriptor, "", 0)
        finally:
            os.close(descriptor)
    except OSError as error:
        raise InvalidSkill(f"it cannot be read: {error.strerror}") from error
    if reader.manifest is None:
        raise InvalidSkill(f"there is no file {MANIFEST}")
    try:
        text = reader.manifest.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSkill(f"{MANIFEST} is not UTF-8") from error
    return FolderContent(text, reader.hash.hexdigest())


class FolderCache:
    """Reads folders; a folder is read again only if one of its entries has changed."""

    def __init__(self, max_manifest_bytes: int) -> None:
        self._max_manifest = max_manifest_bytes
        self._known: dict[Path, tuple[list[Signature], FolderContent]] = {}

    def read(self, folder: Path) -> FolderContent:
        """The current content of a folder; raises `InvalidSkill`."""
        before = _list_signatures(folder)
        known = self._known.get(folder)
        if known is not None and before is not None and known[0] == before:
            return known[1]
        self._known.pop(folder, None)
        content = read_folder(folder, self._max_manifest)
        # A recent time of change does not prove that the content stays the same.
        if before is not None and all(map(is_settled, (one[2] for one in before))):
            self._known[folder] = before, content
        return content


def _list_signatures(folder: Path) -> list[Signature] | None:
    """Path, inode, time of change, size and mode of every entry of a folder; None if it cannot be read."""
    found, waiting = [], [str(folder)]
    try:
        while waiting:
            above = waiting.pop()
            info = os.lstat(above)
            found.append((above, info.st_ino, info.st_ctime_ns, info.st_size, info.st_mode))
            if stat.S_ISDIR(info.st_mode):
                with os.scandir(above) as entries:
                    waiting += [entry.path for entry in entries]
            if len(found) > MAX_FILES + 1:
                return None
    except OSError:
        return None
    return sorted(found)


class _FolderReader:
    """Walks a folder in a fixed order."""

    def __init__(self, max_manifest_bytes: int) -> None:
        self._max_manifest = max_manifest_bytes
        self._files = 0
        self._bytes = 0
        self.hash = sha256()
        self.manifest: bytes | None = None

    def read(self, folder: int, prefix: str, depth: int) -> None:
        """Read one directory and everything below it."""
        if depth > _MAX_DEPTH:
            raise InvalidSkill(f"it has more than {_MAX_DEPTH} levels of folders")
        for name in sorted(os.listdir(folder)):
            self._files += 1
            if self._files > MAX_FILES:
                raise InvalidSkill(f"it has more than {MAX_FILES} files")
            path = f"{prefix}{name}"
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
            if stat.S_ISDIR(info.st_mode):
                inner = os.open(name, _ENTER, dir_fd=folder)
                try:
                    self._add(f"dir\0{path}\0".encode("utf-8", "surrogateescape"))
                    self.read(inner, f"{path}/", depth + 1)
                finally:
                    os.close(inner)
            elif stat.S_ISREG(info.st_mode):
                self._read_file(folder, name, path)
            else:
                raise InvalidSkill(f"{path[:100]!r} is a link or a special file")

    def _read_file(self, folder: int, name: str, path: str) -> None:
        descriptor = os.open(name, _READ, dir_fd=folder)
        try:
            info = os.fstat(descriptor)
            if not stat.S_ISREG(info.st_mode):
                raise InvalidSkill(f"{path[:100]!r} is not a regular file")
            if path == MANIFEST and info.st_size > self._max_manifest:
                raise InvalidSkill(f"{MANIFEST} has more than {self._max_manifest // 1000} kB")
            executable = bool(info.st_mode & 0o111)
            self._add(f"file\0{path}\0{executable}\0".encode("utf-8", "surrogateescape"))
            content = self._content(descriptor)
        finally:
            os.close(descriptor)
        self._add(sha256(content).digest())
        if path == MANIFEST:
            self.manifest = content

    def _content(self, descriptor: int) -> bytes:
        chunks = []
        while chunk := os.read(descriptor, _CHUNK):
            self._bytes += len(chunk)
            if self._bytes > MAX_BYTES:
                raise InvalidSkill(f"its files have more than {MAX_BYTES // 1_000_000} MB")
            chunks.append(chunk)
        return b"".join(chunks)

    def _add(self, data: bytes) -> None:
        self.hash.update(len(data).to_bytes(8, "big") + data)
