"""Reads windows of lines from text files of any size; newlines are counted once.

Memory is bounded by one chunk, however large the file or its lines are. Counting can be stopped
between two chunks. It ends at a hole of a sparse file, which contains no text.
"""

from __future__ import annotations

import errno
import os
import threading
import time
from array import array
from bisect import bisect_left
from collections import OrderedDict
from collections.abc import Callable
from hashlib import sha256
from typing import Final, NamedTuple

from handrail.core.names.caller_words import shown_arg
from handrail.core.places import Place, Stat
from handrail.core.ports.machine import Window
from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import TextForm, detect
from handrail.host.files.errors import quoted
from handrail.host.files.messages import BINARY_FILE, CHANGED_WHILE_READ, LINE_NOT_REACHED

BLOCK: Final = 16 * 1024
_CHUNK: Final = 16 * BLOCK
# Bytes of one window; a longer line is cut.
BUDGET: Final = 1 << 20
LONGEST_LINE: Final = 64 * 1024
_SNIFFED: Final = 8 * 1024
_HEAD: Final = 64 * 1024
_REMEMBERED: Final = 32
# The time that one call may spend counting lines; the next call continues from there.
_COUNTING_S: Final = 30.0

_Identity = tuple[int, int, int, int, int]


class NewlineScanner:
    """Counts and finds newlines of one encoding in a buffer."""

    def __init__(self, form: TextForm) -> None:
        self._unit = form.unit
        self._encoding = form.encoding
        self.mark = "\n".encode(form.encoding)

    def count(self, data: bytearray | bytes, start: int, end: int) -> int:
        """Return the number of lines that end between two offsets."""
        if self._unit == 1:
            return data.count(b"\n", start, end)
        # In UTF-16 the bytes of a newline can also occur across two characters.
        return bytes(data[start:end]).decode(self._encoding, "replace").count("\n")

    def after(self, data: bytes, nth: int) -> int:
        """Return the offset after the nth newline, which must exist."""
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
    """The bytes of some lines, and their offset. `cut` says that the first line is incomplete."""

    start: int
    raw: bytes
    cut: bool


class LineIndex:
    """The positions of lines in one unchanging file: the number of newlines before each block, for
    the part that was counted so far.
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
        """Return the bytes of `count` lines from line `first` (1-based), at most BUDGET bytes.

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
        """Count until this many newlines were found or the file ends."""
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
        return LineSlice(start, raw, cut=False) if count <= 0 else self._whole_lines(start, raw)

    def _whole_lines(self, start: int, raw: bytes) -> LineSlice:
        """Return the lines that end within the budget, or the beginning of a single longer line."""
        ended = self._newlines.count(raw, 0, len(raw))
        if ended:
            return LineSlice(start, raw[: self._newlines.after(raw, ended)], cut=False)
        return LineSlice(start, raw[:LONGEST_LINE], cut=True)


class LargeWindows:
    """Reads windows of large files, and keeps their line indexes."""

    def __init__(self) -> None:
        self._indexes: OrderedDict[_Identity, LineIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Stop counting; may be called from any thread."""
        self._closed = True

    def window(self, descriptor: int, stat: Stat, place: Place, first: int, count: int) -> Window:
        """Implement `Files.window` for a large file: at most 1 MB; a longer line is cut and
        noted.
        """
        index = self._index(descriptor, stat, place)
        taken = self._take(index, descriptor, place, first, count)
        form, text = _decode(index.form, taken.raw, at_start=taken.start == 0)
        lines = split_lines(text)
        end = taken.start + len(taken.raw)
        more = bool(lines) and (taken.cut or end < stat.size)
        total = index.total
        if total is None and count and not more:
            total = first - 1 + len(lines)
        return Window(
            text=form.show("\n".join(lines)),
            number=len(lines),
            first=first,
            total=total,
            more=more,
            whole=False,
            encoding=form.name,
            stat=stat,
            digest=None,
            shown_digest=sha256(taken.raw).hexdigest(),
            note=_long_line_note(first) if taken.cut else form.note,
            unterminated=bool(lines) and not more and not text.endswith("\n"),
        )

    def _take(
        self, index: LineIndex, descriptor: int, place: Place, first: int, count: int
    ) -> LineSlice:
        until = time.monotonic() + _COUNTING_S
        try:
            return index.take(
                descriptor, first, count, lambda: self._closed or time.monotonic() > until
            )
        except ValueError:
            raise CHANGED_WHILE_READ.error(path=quoted(place.path)) from None
        except UnreadableHole:
            raise binary_problem(place) from None
        except IndexClosed:
            raise LINE_NOT_REACHED.error(
                first=first, path=quoted(place.path), counting_s=_COUNTING_S
            ) from None

    def _index(self, descriptor: int, stat: Stat, place: Place) -> LineIndex:
        identity = stat[:5]
        with self._lock:
            index = self._indexes.get(identity)
            if index is not None:
                self._indexes.move_to_end(identity)
                return index
        index = LineIndex(_sniff(descriptor, stat.size, place))
        # The file may change again without a new time stamp, so the index cannot be reused.
        if stat.settled:
            with self._lock:
                self._indexes[identity] = index
                if len(self._indexes) > _REMEMBERED:
                    self._indexes.popitem(last=False)
        return index


def split_lines(text: str) -> list[str]:
    """Split text into lines without their endings (LF or CR LF); a lone CR is part of its line."""
    lines = text.split("\n")
    last = lines.pop()
    if "\r" in text:
        lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    if last:
        lines.append(last)
    return lines


def binary_problem(place: Place) -> ProblemRaised:
    """Return the problem for a file that is not text."""
    word = shown_arg("max_bytes")
    way = (
        f"pass {word} to read some of its bytes" if word else "run a program that knows its format"
    )
    return BINARY_FILE.error(path=quoted(place.path), way=way)


def _sniff(descriptor: int, size: int, place: Place) -> TextForm:
    head = os.pread(descriptor, _HEAD, 0)
    form = detect(head[:_SNIFFED], partial=size > _SNIFFED)
    if form is None or (form.unit == 2 and size % 2):
        raise binary_problem(place)
    return detect(head, partial=size > _HEAD) or form


def _decode(form: TextForm, raw: bytes, *, at_start: bool) -> tuple[TextForm, str]:
    body = raw.removeprefix(form.bom) if at_start else raw
    try:
        return form, form.decode_part(body)
    except UnicodeDecodeError:
        return form.tolerant, form.tolerant.decode_part(body)


def _long_line_note(number: int) -> str:
    return f"line {number} is very long: only its first {LONGEST_LINE} bytes are given"


def _in_hole(descriptor: int, offset: int) -> bool:
    """Return whether the whole chunk at this offset is a hole."""
    try:
        return os.lseek(descriptor, offset, os.SEEK_DATA) >= offset + _CHUNK
    except OSError as error:
        # ENXIO means that no data follows: the rest is a hole, unless the offset is the end of the
        # file.
        return error.errno == errno.ENXIO and offset < os.fstat(descriptor).st_size


def _fill(descriptor: int, view: memoryview, offset: int) -> int:
    got = 0
    while got < len(view):
        more = os.preadv(descriptor, [view[got:]], offset + got)
        if not more:
            break
        got += more
    return got
