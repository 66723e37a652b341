"""Small contents, one behind the other in a few files: a file of its own would take ten times as
long to write.

Each pack is a pair of files: the contents, and an index that is written after them. Only the
process that has locked the store uses it.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

_RECORD: Final = struct.Struct(">32sQQ")
_MOST_BYTES: Final = 64 << 20
# Contents are written together: for the kernel, a large write costs little more than a small one.
_GROUP_BYTES: Final = 512 << 10
_DATA: Final = ".pack"
_INDEX: Final = ".index"
_APPEND: Final = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW


# Number of the pack, first byte, length. A plain tuple, because the garbage collector does not track
# it, and a first look at a tree makes one for every file.
PackPosition = tuple[int, int, int]


class ContentPacks:
    """The packs in one directory. Not thread-safe."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        # Hashes of contents for which there was no room after they were added.
        self.lost: set[str] = set()
        self._found: dict[str, PackPosition] | None = None
        # Contents that are not written yet, and the hashes of those that are not in an index.
        self._group: list[bytes] = []
        self._group_bytes = 0
        self._unsaved: list[str] = []
        # The pack that is being written: its number, handle and length.
        self._number = 0
        self._handle = -1
        self._end = 0

    def __contains__(self, digest: str) -> bool:
        return digest in self._positions()

    def add(self, digest: str, data: bytes) -> None:
        """Append a content unless it is stored already. If OSError is raised, this content is not
        added, and those of the last calls may be `lost`.
        """
        found = self._positions() if self._found is None else self._found
        if digest not in found:
            self._append(digest, data, found)

    def read(self, digest: str) -> bytes | None:
        """Return the content, unchecked; None if there is none."""
        position = self._positions().get(digest)
        if position is None:
            return None
        try:
            self._write_group()
            pack, offset, length = position
            with self._path(pack, _DATA).open("rb") as file:
                file.seek(offset)
                return file.read(length)
        except OSError:
            return None

    def flush(self) -> None:
        """Write everything for later processes. Raises OSError; contents without room are
        `lost`.
        """
        with suppress(OSError):
            self._write_group()
        if not self._unsaved:
            return
        # All of them are in the pack that is being written: the next one begins after a flush.
        found, pack = self._positions(), _RECORD.pack
        records = [
            pack(bytes.fromhex(digest), offset, length)
            for digest in self._unsaved
            for _, offset, length in (found[digest],)
        ]
        with self._path(self._number, _INDEX).open("ab") as file:
            file.write(b"".join(records))
        self._unsaved = []

    def sweep(self, needed: set[str]) -> None:
        """Remove packs of which less than half is needed, after copying that part. Raises
        OSError.
        """
        self.close()
        packs: dict[int, list[tuple[str, PackPosition]]] = {one: [] for one in self._numbers()}
        for digest, position in self._positions().items():
            packs.setdefault(position[0], []).append((digest, position))
        for number, contents in packs.items():
            live = [digest for digest, _ in contents if digest in needed]
            size = sum(length for digest, (_, _, length) in contents if digest in needed)
            with suppress(FileNotFoundError):
                if 2 * size >= self._path(number, _DATA).stat().st_size > 0:
                    continue
            self._move(live)
            for digest, position in contents:
                if self._positions()[digest] == position:
                    del self._positions()[digest]
            for suffix in (_INDEX, _DATA):
                self._path(number, suffix).unlink(missing_ok=True)

    def close(self) -> None:
        """Write the index and close the pack that is being written. Raises OSError."""
        self.flush()
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)

    def _append(self, digest: str, data: bytes, found: dict[str, PackPosition]) -> None:
        if self._handle < 0 or self._end >= _MOST_BYTES:
            self._begin()
        length = len(data)
        found[digest] = self._number, self._end, length
        self._unsaved.append(digest)
        self._group.append(data)
        self._end += length
        self._group_bytes += length
        if self._group_bytes >= _GROUP_BYTES:
            self._write_group()

    def _write_group(self) -> None:
        """Write the contents of the last calls; if that fails, all of them are lost."""
        data = b"".join(self._group)
        start = self._end - self._group_bytes
        self._group, self._group_bytes = [], 0
        try:
            written = 0
            while written < len(data):
                written += os.write(self._handle, data[written:])
        except OSError:
            self._end = start
            os.ftruncate(self._handle, start)
            found = self._positions()
            lost = [one for one in self._unsaved if found[one][:2] >= (self._number, start)]
            self._unsaved = self._unsaved[: len(self._unsaved) - len(lost)]
            self.lost.update(lost)
            for digest in lost:
                del found[digest]
            raise

    def _move(self, digests: list[str]) -> None:
        """Copy contents to a new pack."""
        if digests and self._handle < 0:
            self._begin(fresh=True)
        for digest in digests:
            data = self.read(digest)
            if data is not None:
                self._append(digest, data, self._positions())
        self.flush()

    def _begin(self, *, fresh: bool = False) -> None:
        """Open the last pack, or a new one if that is full or `fresh`."""
        self.close()
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        last = max(self._numbers(), default=0)
        full = not last or self._path(last, _DATA).stat().st_size >= _MOST_BYTES
        self._number = last + 1 if full or fresh else last
        self._handle = os.open(self._path(self._number, _DATA), _APPEND, 0o600)
        os.close(os.open(self._path(self._number, _INDEX), _APPEND, 0o600))
        self._end = os.fstat(self._handle).st_size

    def _positions(self) -> dict[str, PackPosition]:
        if self._found is None:
            self._found = {}
            for number in self._numbers():
                self._found.update(self._read_index(number))
        return self._found

    def _read_index(self, number: int) -> Iterator[tuple[str, PackPosition]]:
        try:
            data = self._path(number, _INDEX).read_bytes()
        except OSError:
            return
        # A crash may have cut the last record.
        whole = len(data) - len(data) % _RECORD.size
        for own, offset, length in _RECORD.iter_unpack(data[:whole]):
            yield own.hex(), (number, offset, length)

    def _numbers(self) -> list[int]:
        return sorted(
            int(path.stem) for path in self._directory.glob(f"*{_DATA}") if path.stem.isdigit()
        )

    def _path(self, number: int, suffix: str) -> Path:
        return self._directory / f"{number:08d}{suffix}"
