"""Finds lines in files of any size by counting newlines once.

Memory is bounded by one chunk, however large the file or its lines are. Counting can be stopped
between two chunks, and ends at a hole of a sparse file, which holds no text.
"""

from __future__ import annotations

import errno
import os
import threading
from array import array
from bisect import bisect_left
from collections.abc import Callable
from typing import Final, NamedTuple

from handrail.core.text.encoding import TextForm

BLOCK: Final = 16 * 1024
_CHUNK: Final = 16 * BLOCK
# Bytes of one window; a longer line is cut.
BUDGET: Final = 1 << 20
LONGEST_LINE: Final = 64 * 1024


class NewlineScanner:
    """Counts and finds newlines of one encoding in a buffer."""

    def __init__(self, form: TextForm) -> None:
        self._unit = form.unit
        self._encoding = form.encoding
        self.mark = "\n".encode(form.encoding)

    def count(self, data: bytearray | bytes, start: int, end: int) -> int:
        """The number of lines that end between two offsets."""
        if self._unit == 1:
            return data.count(b"\n", start, end)
        # In UTF-16 the bytes of a newline also occur across two characters.
        return bytes(data[start:end]).decode(self._encoding, "replace").count("\n")

    def after(self, data: bytes, nth: int) -> int:
        """The offset after the nth newline, which must exist."""
        at = 0
        while nth:
            at = data.index(self.mark, at)
            if at % self._unit:
                at += 1
            else:
                at += self._unit
                nth -= 1
        return at


class IndexClosed(Exception):
    """Counting was stopped; the count so far is kept."""


class UnreadableHole(Exception):
    """The rest of the file was never written."""


class LineSlice(NamedTuple):
    """The bytes of some lines and their offset; `cut`: the first line is incomplete."""

    start: int
    raw: bytes
    cut: bool


class LineIndex:
    """The positions of lines in one unchanging file: newlines before each block, as far as
    counted.
    """

    def __init__(self, form: TextForm) -> None:
        self.form = form
        self.total: int | None = None
        self._newlines = NewlineScanner(form)
        self._before = array("Q", [0])
        self._lock = threading.Lock()

    def take(
        self, descriptor: int, first: int, count: int, stop: Callable[[], bool] = bool
    ) -> LineSlice:
        """The bytes of `count` lines from line `first` (1-based), at most BUDGET of them.

        Raises ValueError if the file is no longer the one that was counted, UnreadableHole if the
        lines lie beyond a hole, and IndexClosed as soon as `stop` returns true.
        """
        skip = first - 1
        with self._lock:
            self._reach(descriptor, skip, stop)
        if skip > self._before[-1]:
            return LineSlice(0, b"", cut=False)
        block = max(bisect_left(self._before, skip) - 1, 0)
        return self._gather(descriptor, block * BLOCK, skip - self._before[block], count)

    def _reach(self, descriptor: int, newlines: int, stop: Callable[[], bool]) -> None:
        """Count until this many newlines were found, or the file ends."""
        if self.total is not None or self._before[-1] >= newlines:
            return
        buffer = bytearray(_CHUNK)
        view = memoryview(buffer)
        offset = (len(self._before) - 1) * BLOCK
        while self._before[-1] < newlines:
            if stop():
                raise IndexClosed
            if _in_hole(descriptor, offset):
                raise UnreadableHole
            got = _fill(descriptor, view, offset)
            for start in range(0, got, BLOCK):
                end = min(start + BLOCK, got)
                seen = self._newlines.count(buffer, start, end)
                self._before.append(self._before[-1] + seen)
            offset += got
            if got < _CHUNK:
                self._finish(descriptor, offset)
                return

    def _finish(self, descriptor: int, size: int) -> None:
        mark = self._newlines.mark
        tail = os.pread(descriptor, len(mark), max(size - len(mark), 0))
        self.total = self._before[-1] + (tail != mark and size > len(self.form.bom))

    def _gather(self, descriptor: int, offset: int, skip: int, count: int) -> LineSlice:
        parts: list[bytes] = []
        start = offset
        had = 0
        while count > 0 and had < BUDGET:
            data = os.pread(descriptor, BLOCK, offset)
            if not data and (parts or not skip):
                return LineSlice(start, b"".join(parts), cut=False)
            offset += len(data)
            if not parts:
                begin = self._newlines.after(data, skip)
                start += begin
                data = data[begin:]
            ended = self._newlines.count(data, 0, len(data))
            if ended >= count:
                data = data[: self._newlines.after(data, count)]
            count -= ended
            parts.append(data)
            had += len(data)
        raw = b"".join(parts)
        return LineSlice(start, raw, cut=False) if count <= 0 else self._whole(start, raw)

    def _whole(self, start: int, raw: bytes) -> LineSlice:
        """The lines that ended within the budget, or the start of one that did not."""
        ended = self._newlines.count(raw, 0, len(raw))
        if ended:
            return LineSlice(start, raw[: self._newlines.after(raw, ended)], cut=False)
        return LineSlice(start, raw[:LONGEST_LINE], cut=True)


def _in_hole(descriptor: int, offset: int) -> bool:
    """Whether the whole chunk at this offset is a hole."""
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA) >= offset + _CHUNK
    except OSError as error:
        # ENXIO: no data up to the end, which is a hole unless this is the end.
        return error.errno == errno.ENXIO and offset < os.fstat(descriptor).st_size


def _fill(descriptor: int, view: memoryview, offset: int) -> int:
    got = 0
    while got < len(view):
        more = os.preadv(descriptor, [view[got:]], offset + got)
        if not more:
            break
        got += more
    return got
