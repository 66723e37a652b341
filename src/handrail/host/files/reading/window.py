"""Reads some lines of a text file of any size.

Files up to 1 MB are read whole and hashed; of larger ones only what the lines need.
"""

from __future__ import annotations

import os
import threading
import time
from collections import OrderedDict
from hashlib import sha256
from typing import Final

from handrail.core.places import Place, Stat
from handrail.core.ports.machine import Window
from handrail.core.problems import ProblemRaised
from handrail.core.text.encoding import TextForm, detect
from handrail.host.files.errors import problem_from_oserror, quoted
from handrail.host.files.messages import BINARY_FILE, CHANGED_WHILE_READ, LINE_NOT_REACHED
from handrail.host.files.paths.roots import Roots
from handrail.host.files.reading.line_index import (
    LONGEST_LINE,
    IndexClosed,
    LineIndex,
    LineSlice,
    UnreadableHole,
)
from handrail.host.files.reading.open_file import OpenRegularFile, make_stat, open_regular, read_all
from handrail.host.files.reading.read_cache import WindowCache

SMALL: Final = 1 << 20
_SNIFFED: Final = 8 * 1024
_HEAD: Final = 64 * 1024
_REMEMBERED: Final = 32
# How long one call may count lines; the next one continues.
_COUNTING_S: Final = 30.0

_Identity = tuple[int, int, int, int, int]


class Windows:
    """Reads windows, and keeps the line indexes of large files."""

    def __init__(self, roots: Roots, cache: WindowCache) -> None:
        self._roots = roots
        self._cache = cache
        self._indexes: OrderedDict[_Identity, LineIndex] = OrderedDict()
        self._lock = threading.Lock()
        self._closed = False

    def close(self) -> None:
        """Stop counting, in any thread."""
        self._closed = True

    def window(self, place: Place, first: int, count: int) -> Window:
        """See `Files.window`; at most 1 MB of text, a longer line is cut and noted."""
        opened = open_regular(self._roots, place)
        try:
            if opened.info.st_size > SMALL:
                return self._large(opened, place, max(first, 1), max(count, 0))
            data = read_all(opened.descriptor, opened.info.st_size, place)
        except OSError as error:
            raise problem_from_oserror(error, place.path) from error
        finally:
            os.close(opened.descriptor)
        stat = make_stat(opened.info)
        known = self._cache.find(place, first, count, data)
        if known is not None:
            # Like `_replace`, in a quarter of its time: most reads end here.
            return Window(*known[:7], stat, *known[8:])
        form = detect(data)
        if form is None:
            raise binary(place)
        made = _small(data, form, stat, max(first, 1), max(count, 0))
        self._cache.keep(place, first, count, data, made)
        return made

    def _large(self, opened: OpenRegularFile, place: Place, first: int, count: int) -> Window:
        stat = make_stat(opened.info)
        index = self._index(opened.descriptor, stat, place)
        taken = self._take(index, opened.descriptor, place, first, count)
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
            note=_long_line(first) if taken.cut else form.note,
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
            raise binary(place) from None
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
        # Fresh time stamps do not prove that the content is unchanged next time.
        if stat.settled:
            with self._lock:
                self._indexes[identity] = index
                if len(self._indexes) > _REMEMBERED:
                    self._indexes.popitem(last=False)
        return index


def split_lines(text: str) -> list[str]:
    """The lines without their endings (LF or CR LF); a lone CR is part of its line."""
    lines = text.split("\n")
    last = lines.pop()
    if "\r" in text:
        lines = [line[:-1] if line.endswith("\r") else line for line in lines]
    if last:
        lines.append(last)
    return lines


def binary(place: Place) -> ProblemRaised:
    """The problem of a file that is not text."""
    return BINARY_FILE.error(path=quoted(place.path))


def _small(data: bytes, form: TextForm, stat: Stat, first: int, count: int) -> Window:
    text = form.decode(data)
    total = text.count("\n")
    if text and text[-1] != "\n":
        total += 1
    if first == 1 and count >= total and "\r" not in text:
        # Everything as it is: most calls need not split lines.
        shown, number = text[:-1] if text and text[-1] == "\n" else text, total
    else:
        lines = split_lines(text)[first - 1 : first - 1 + count]
        shown, number = "\n".join(lines), len(lines)
    whole = number == total
    digest = sha256(data).hexdigest()
    if form.errors != "strict":
        shown = form.show(shown)
    shown_digest = digest if whole else _part_digest(text, form, first, number)
    more = first - 1 + number < total
    # Positional: this runs for most calls, and keywords cost a microsecond here.
    return Window(
        shown, number, first, total, more, whole, form.name, stat, digest, shown_digest, form.note
    )


def _part_digest(text: str, form: TextForm, first: int, count: int) -> str:
    """The hash of the bytes of some lines, endings included; line 1 begins with the BOM."""
    start = _after(text, 0, first - 1)
    part = text[start : _after(text, start, count)] if count else ""
    bom = form.bom if first == 1 and count else b""
    return sha256(bom + form.encode_part(part)).hexdigest()


def _after(text: str, start: int, newlines: int) -> int:
    for _ in range(newlines):
        start = text.find("\n", start) + 1
        if not start:
            return len(text)
    return start


def _sniff(descriptor: int, size: int, place: Place) -> TextForm:
    head = os.pread(descriptor, _HEAD, 0)
    form = detect(head[:_SNIFFED], partial=size > _SNIFFED)
    if form is None or (form.unit == 2 and size % 2):
        raise binary(place)
    return detect(head, partial=size > _HEAD) or form


def _decode(form: TextForm, raw: bytes, *, at_start: bool) -> tuple[TextForm, str]:
    body = raw.removeprefix(form.bom) if at_start else raw
    try:
        return form, form.decode_part(body)
    except UnicodeDecodeError:
        return form.tolerant, form.tolerant.decode_part(body)


def _long_line(number: int) -> str:
    return f"line {number} is very long: only its first {LONGEST_LINE} bytes are given"
