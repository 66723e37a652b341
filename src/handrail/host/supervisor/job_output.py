"""The output of a job on disk: its first megabyte and its last fifteen, in segments of equal size.

The name of a segment is its position, so a reader in another process needs neither a lock nor an
index. Only the job's runner writes.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

SEGMENT_BYTES: Final = 1 << 20
# In addition to the first one.
LAST_SEGMENTS: Final = 15
_PREFIX: Final = "output."
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class JobOutputWriter:
    """Writes the output of a job, both streams in order of arrival."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._number = -1
        self._file = -1
        self._free = 0

    def take(self, data: memoryview) -> None:
        """Write more output. After a disk error nothing more is written."""
        try:
            while data:
                if not self._free:
                    self._next()
                written = os.write(self._file, data[: self._free])
                self._free -= written
                data = data[written:]
        except OSError:
            self.close()
            self._directory = Path(os.devnull)

    def close(self) -> None:
        """Close the current segment."""
        if self._file >= 0:
            os.close(self._file)
        self._file = -1
        self._free = 0

    def _next(self) -> None:
        self.close()
        self._number += 1
        self._file = os.open(_path(self._directory, self._number), _CREATE, 0o600)
        self._free = SEGMENT_BYTES
        old = self._number - LAST_SEGMENTS
        if old > 0:
            _path(self._directory, old).unlink(missing_ok=True)


class JobOutputPart(NamedTuple):
    """A part of a job's output; see `JobOutput`."""

    data: bytes
    next_offset: int
    missing: int


def read_output(directory: Path, offset: int, limit: int) -> JobOutputPart:
    """Read at most `limit` bytes at `offset`, up to the next gap."""
    sizes = _sizes(directory)
    offset = max(offset, 0)
    start = _first_kept(sizes, offset)
    data = bytearray()
    position = start
    while len(data) < limit:
        number, inside = divmod(position, SEGMENT_BYTES)
        piece = _read_piece(_path(directory, number), inside, limit - len(data))
        if not piece:
            break
        data += piece
        position += len(piece)
    return JobOutputPart(bytes(data), position, start - offset)


def _first_kept(sizes: Mapping[int, int], offset: int) -> int:
    """The first kept byte at or after the offset; the offset itself if there is none."""
    for number in sorted(sizes):
        start = number * SEGMENT_BYTES
        if start + sizes[number] > offset:
            return max(start, offset)
    # Past the end nothing is missing: it was not written yet.
    return offset


def _sizes(directory: Path) -> dict[int, int]:
    sizes = {}
    with os.scandir(directory) as entries:
        for entry in entries:
            number = entry.name.removeprefix(_PREFIX)
            if entry.name != number and number.isdigit():
                try:
                    sizes[int(number)] = entry.stat(follow_symlinks=False).st_size
                except FileNotFoundError:
                    # The job dropped this segment during the scan.
                    continue
    return sizes


def _read_piece(path: Path, offset: int, limit: int) -> bytes:
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except FileNotFoundError:
        return b""
    try:
        return os.pread(handle, limit, offset)
    finally:
        os.close(handle)


def _path(directory: Path, number: int) -> Path:
    return directory / f"{_PREFIX}{number}"
