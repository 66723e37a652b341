"""The output of a program within bounds: head and tail in memory, the full text in a file.

Every byte is kept or counted as dropped. Nothing here waits for a reader.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

# A result shows at most 30,000 characters of up to four bytes, a third of them from the end.
HEAD_BYTES: Final = 128 * 1024
TAIL_BYTES: Final = 64 * 1024
_CREATE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
# Live output: at most this much per stream, at most this often.
_LIVE_BYTES: Final = 64 * 1024
_LIVE_EVERY_S: Final = 0.05


class SpillTarget(NamedTuple):
    """The directory for the full text of a long stream, and its size limit."""

    directory: str
    max_bytes: int


class OutputCapture:
    """One stream of one program."""

    def __init__(self, name: str, room: SpillTarget | None) -> None:
        self._name = name
        self._room = room
        self._head = bytearray()
        self._tail = bytearray()
        self._total = 0
        self._file = -1
        self._saved: str | None = None
        self._saved_bytes = 0

    def take(self, data: memoryview) -> None:
        """Append output."""
        free = HEAD_BYTES - len(self._head)
        self._total += len(data)
        if free > 0:
            self._head += data[:free]
            data = data[free:]
        if not data:
            return
        if self._total > HEAD_BYTES + TAIL_BYTES:
            self._spill(data)
        if len(data) >= TAIL_BYTES:
            self._tail[:] = data[-TAIL_BYTES:]
            return
        self._tail += data
        # Not on every call: cutting the front copies the rest.
        if len(self._tail) > 4 * TAIL_BYTES:
            del self._tail[:-TAIL_BYTES]

    def close(self) -> tuple[dict[str, Any], bytes]:
        """The fields of `Captured` as a header, and head and tail as one body."""
        if self._file >= 0:
            os.close(self._file)
            self._file = -1
        tail = self._tail[-TAIL_BYTES:]
        kept = max(self._saved_bytes, len(self._head)) + len(tail)
        header = {
            "head": len(self._head),
            "total": self._total,
            "saved": self._saved,
            "dropped": max(self._total - kept, 0),
        }
        return header, bytes(self._head + tail)

    def _spill(self, data: memoryview) -> None:
        if self._room is None:
            return
        if self._saved is None and not self._open(self._room.directory):
            self._room = None
            return
        self._write(data)

    def _open(self, directory: str) -> bool:
        path = Path(directory, f"{os.urandom(4).hex()}-{self._name}.txt")
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._file = os.open(path, _CREATE, 0o600)
        except OSError:
            return False
        self._saved = str(path)
        # Until now head and tail held everything.
        self._write(memoryview(self._head))
        self._write(memoryview(self._tail))
        return True

    def _write(self, data: memoryview) -> None:
        if self._file < 0 or self._room is None:
            return
        data = data[: self._room.max_bytes - self._saved_bytes]
        with suppress(OSError):
            while data:
                written = os.write(self._file, data)
                self._saved_bytes += written
                data = data[written:]
            return
        # Disk full: the file keeps what was written, without a hole.
        os.close(self._file)
        self._file = -1


class LiveOutput:
    """Output for a live view: a few updates per second, the rest is skipped."""

    def __init__(self, send: Callable[[str, bytes, int], bool]) -> None:
        self._send = send
        self._waiting: dict[str, bytearray] = {}
        self._skipped: dict[str, int] = {}
        self._next = 0.0

    def take(self, stream: str, data: memoryview) -> None:
        """Buffer output for the next update, up to the limit."""
        waiting = self._waiting.setdefault(stream, bytearray())
        free = _LIVE_BYTES - len(waiting)
        if free > 0:
            waiting += data[:free]
        if len(data) > free:
            self._skipped[stream] = self._skipped.get(stream, 0) + len(data) - max(free, 0)

    def due(self) -> float | None:
        """When `flush` should be called next; None if nothing is buffered."""
        return self._next if self._waiting else None

    def flush(self, now: float) -> None:
        """Send the buffered output if an update is due."""
        if now < self._next or not self._waiting:
            return
        self._next = now + _LIVE_EVERY_S
        for stream, data in self._waiting.items():
            skipped = self._skipped.pop(stream, 0)
            if not self._send(stream, bytes(data), skipped):
                self._skipped[stream] = skipped + len(data)
        self._waiting.clear()
