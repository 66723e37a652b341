"""Reads regular files beneath the roots: completely, in part, or some lines.

Files are opened without blocking and stat'ed before the first read: a pipe, a socket or a device is
refused. To read lines, files up to 1 MB are read completely and hashed; larger files only as far as
the lines need.
"""

from __future__ import annotations

import os
import stat as stat_module
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final

from handrail.core.places import Kind, Place, Stat
from handrail.core.ports.machine import FileContent, Window
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.core.text.encoding import TextForm, detect
from handrail.host.files.errors import not_regular_problem, problem_from_oserror, quoted
from handrail.host.files.line_index import LargeWindows, binary_problem, split_lines
from handrail.host.files.messages import FILE_GROWS, FILE_MISNAMED, FILE_MISSING, FILE_TOO_LARGE
from handrail.host.files.roots import LOOK, READ, Roots

SMALL: Final = 1 << 20
# A time stamp younger than a tick of the kernel's clock does not show a further change.
TICK_NS: Final = 20_000_000
ROOM: Final = 5 << 20
KEPT_S: Final = 300.0
_Key = tuple[int, str, int, int]
_GROWTH: Final = 1 << 20
# A global, because an access through the class takes long in Python 3.11.
_SPECIAL: Final = Kind.SPECIAL
_COMPARED_AT_ONCE: Final = 256 * 1024


def open_regular(roots: Roots, place: Place) -> tuple[int, os.stat_result]:
    """Open a regular file for reading; return its descriptor and its stat. Raises `not_found`,
    `not_text`, `denied` or `stale`.
    """
    if place.kind is _SPECIAL:
        # Opening some devices has effects, so they are refused before the open.
        _refuse_special(roots, place)
    try:
        descriptor = roots.open_beneath(place.root, place.rel, READ)
    except FileNotFoundError as error:
        raise missing_file_problem(roots, place) from error
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    try:
        info = os.fstat(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise problem_from_oserror(error, place.path) from error
    if not stat_module.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise not_regular_problem(info.st_mode, place.path)
    return descriptor, info


def read(roots: Roots, place: Place, max_bytes: int | None) -> FileContent:
    """Read the whole file; see `Files.read`."""
    descriptor, info = open_regular(roots, place)
    try:
        if max_bytes is not None and info.st_size > max_bytes:
            raise _too_large(place, info.st_size, max_bytes)
        data = read_all(descriptor, info.st_size, place)
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    finally:
        os.close(descriptor)
    if max_bytes is not None and len(data) > max_bytes:
        raise _too_large(place, len(data), max_bytes)
    stat = make_stat(info)
    return FileContent(Content(data), stat)


def read_part(roots: Roots, place: Place, offset: int, count: int) -> bytes:
    """Read a part of a file; see `Files.read_part`."""
    descriptor, _ = open_regular(roots, place)
    try:
        return os.pread(descriptor, count, offset)
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    finally:
        os.close(descriptor)


def read_all(descriptor: int, size: int, place: Place) -> bytes:
    """Read from the current position to the end of a file of about this size."""
    # Ask for one byte more than expected: if it does not arrive, the end was reached in one call.
    data = os.read(descriptor, size + 1)
    if len(data) == size:
        return data
    parts = [data]
    had = len(data)
    while part := os.read(descriptor, _GROWTH):
        parts.append(part)
        had += len(part)
        if had > 2 * size + _GROWTH:
            raise FILE_GROWS.error(path=quoted(place.path))
    return b"".join(parts)


def stat_place(roots: Roots, place: Place) -> Stat | None:
    """Return the stat of an entry, None if there is none; see `Files.stat`."""
    try:
        descriptor = roots.open(place, LOOK)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    try:
        return make_stat(os.fstat(descriptor))
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    finally:
        os.close(descriptor)


def is_settled(changed_ns: int) -> bool:
    """Return whether a time stamp is so old that a further change would alter it."""
    return changed_ns < time.time_ns() - TICK_NS


def make_stat(info: os.stat_result) -> Stat:
    """Make a `Stat` from an `os.stat_result`, including whether its time stamps are settled."""
    changed = info.st_ctime_ns
    return Stat(
        info.st_dev,
        info.st_ino,
        info.st_size,
        info.st_mtime_ns,
        changed,
        info.st_mode,
        info.st_nlink,
        changed < time.time_ns() - TICK_NS,
    )


def describes(seen: Stat, info: os.stat_result) -> bool:
    """Whether an earlier `Stat` and a new `os.stat_result` describe the same unchanged file."""
    now = (info.st_dev, info.st_ino, info.st_size, info.st_mtime_ns, info.st_ctime_ns)
    return seen[:5] == now


def missing_file_problem(roots: Roots, place: Place) -> ProblemRaised:
    """Return the problem for a missing file, with similar names."""
    from handrail.host.files.suggest import suggest_names

    names = suggest_names(roots, place)
    if not names:
        return FILE_MISSING.error(path=quoted(place.path))
    return FILE_MISNAMED.error(path=quoted(place.path), names=", ".join(map(repr, names)))


def _refuse_special(roots: Roots, place: Place) -> None:
    now = stat_place(roots, place)
    if now is not None and not stat_module.S_ISREG(now.mode):
        raise not_regular_problem(now.mode, place.path)


def _too_large(place: Place, size: int, max_bytes: int) -> ProblemRaised:
    return FILE_TOO_LARGE.error(path=quoted(place.path), size=size, max_bytes=max_bytes)


def content_equals(descriptor: int, content: Content) -> bool:
    """Return whether an open file has exactly this content from its current position to its end."""
    for part in content.parts:
        view = memoryview(part).cast("B")
        while view:
            data = os.read(descriptor, min(len(view), _COMPARED_AT_ONCE))
            # Bytes, because a comparison with a memoryview is done byte by byte.
            if not data or bytes(view[: len(data)]) != data:
                return False
            view = view[len(data) :]
    return not os.read(descriptor, 1)


@dataclass(frozen=True, slots=True)
class _CachedWindow:
    data: bytes
    window: Window
    since: float


class WindowCache:
    """The windows that were read last in one runtime; paths that are `secret` are not cached."""

    def __init__(
        self,
        secret: Callable[[str], bool],
        *,
        room: int = ROOM,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._secret = secret
        self._all_room = self._room = room
        self._clock = clock
        self._kept: OrderedDict[_Key, _CachedWindow] = OrderedDict()
        self._lock = threading.Lock()
        self.hits = 0

    def find(self, place: Place, first: int, count: int, data: bytes) -> Window | None:
        """Return the window that was made from equal bytes; None if there is none."""
        key = (place.root, place.rel, first, count)
        kept = self._kept.get(key)
        if kept is None or kept.data != data:
            return None
        if self._clock() - kept.since > KEPT_S:
            with self._lock:
                self._drop(key)
            return None
        # No lock: every read would have to take it. This is a single call, and a window that
        # another thread drops meanwhile does no harm.
        try:  # noqa: SIM105 - a context manager would take longer than the lock
            self._kept.move_to_end(key)
        except KeyError:
            pass
        self.hits += 1
        return kept.window

    def renew(self, place: Place, first: int, count: int, window: Window, stat: Stat) -> Window:
        """Return the cached window of a file whose stat has changed but whose bytes have not."""
        renewed, key = replace(window, stat=stat), (place.root, place.rel, first, count)
        with self._lock:
            kept = self._kept.get(key)
            if kept is not None and kept.window is window:
                self._kept[key] = replace(kept, window=renewed)
        return renewed

    def keep(self, place: Place, first: int, count: int, data: bytes, window: Window) -> None:
        """Cache a window, dropping the least recently used ones."""
        # The text is held twice: as bytes and decoded.
        size = 2 * len(data)
        if size > self._all_room // 2 or self._secret(place.rel):
            return
        key = (place.root, place.rel, first, count)
        with self._lock:
            self._drop(key)
            self._kept[key] = _CachedWindow(data, window, self._clock())
            self._room -= size
            while self._room < 0:
                self._drop(next(iter(self._kept)))

    def _drop(self, key: _Key) -> None:
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._room += 2 * len(kept.data)


class Windows:
    """Reads windows, and caches those of small files."""

    def __init__(self, roots: Roots, cache: WindowCache) -> None:
        self._roots = roots
        self._cache = cache
        self._large = LargeWindows()

    def close(self) -> None:
        """Stop counting lines; may be called from any thread."""
        self._large.close()

    def window(self, place: Place, first: int, count: int) -> Window:
        """Implement `Files.window`: at most 1 MB of text; a longer line is cut, with a note."""
        descriptor, info = open_regular(self._roots, place)
        stat = make_stat(info)
        try:
            if stat.size > SMALL:
                return self._large.window(descriptor, stat, place, max(first, 1), max(count, 0))
            data = read_all(descriptor, stat.size, place)
        except OSError as error:
            raise problem_from_oserror(error, place.path) from error
        finally:
            os.close(descriptor)
        known = self._cache.find(place, first, count, data)
        if known is not None:
            # The cache compares bytes: most files do not change between two reads.
            same = known.stat == stat
            return known if same else self._cache.renew(place, first, count, known, stat)
        form = detect(data)
        if form is None:
            raise binary_problem(place)
        made = _small(data, form, stat, max(first, 1), max(count, 0))
        self._cache.keep(place, first, count, data, made)
        return made


def _small(data: bytes, form: TextForm, stat: Stat, first: int, count: int) -> Window:
    text = form.decode(data)
    total = text.count("\n")
    if text and text[-1] != "\n":
        total += 1
    if first == 1 and count >= total and "\r" not in text:
        # The whole file is wanted: most calls need not split lines.
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
    unterminated = number > 0 and not more and text[-1] != "\n"
    # Positional arguments: this runs for most calls, and keywords cost a microsecond.
    return Window(
        *(shown, number, first, total, more, whole, form.name, stat, digest, shown_digest),
        form.note,
        unterminated,
    )


def _part_digest(text: str, form: TextForm, first: int, count: int) -> str:
    """Return the hash of the bytes of some lines with their endings; line 1 begins with the BOM."""
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
