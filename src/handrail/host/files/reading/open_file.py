"""Reads regular files beneath the roots, whole or in part.

Files are opened without blocking and stat'ed before the first read: a pipe, a socket or a device
is refused.
"""

from __future__ import annotations

import os
import stat
from typing import Final, NamedTuple

from handrail.core.places import Kind, Place, Stat
from handrail.core.ports.machine import FileContent
from handrail.core.problems import ProblemRaised
from handrail.core.text.content import Content
from handrail.host.files.errors import not_regular_problem, problem_from_oserror, quoted
from handrail.host.files.messages import FILE_GROWS, FILE_MISSING, FILE_TOO_LARGE
from handrail.host.files.paths.openat2 import LOOK, READ
from handrail.host.files.paths.roots import Roots
from handrail.host.files.reading.suggest import suggest_names
from handrail.host.snapshots.stamps import is_settled

_GROWTH: Final = 1 << 20
_COMPARED_AT_ONCE: Final = 256 * 1024


class OpenRegularFile(NamedTuple):
    """A regular file, open for reading, with its stat."""

    descriptor: int
    info: os.stat_result


def open_regular(roots: Roots, place: Place) -> OpenRegularFile:
    """Open for reading; raises `not_found`, `not_text`, `denied` or `stale`."""
    if place.kind is Kind.SPECIAL:
        # Opening some devices has effects, so it is not tried.
        _refuse_special(roots, place)
    try:
        descriptor = roots.open(place, READ)
    except FileNotFoundError as error:
        raise missing_file_problem(roots, place) from error
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    try:
        info = os.fstat(descriptor)
    except OSError as error:
        os.close(descriptor)
        raise problem_from_oserror(error, place.path) from error
    if not stat.S_ISREG(info.st_mode):
        os.close(descriptor)
        raise not_regular_problem(info.st_mode, place.path)
    return OpenRegularFile(descriptor, info)


def read(roots: Roots, place: Place, max_bytes: int | None) -> FileContent:
    """The whole file; see `Files.read`."""
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
    return FileContent(Content(data), make_stat(info))


def read_part(roots: Roots, place: Place, offset: int, count: int) -> bytes:
    """A part of a file; see `Files.read_part`."""
    descriptor, _ = open_regular(roots, place)
    try:
        return os.pread(descriptor, count, offset)
    except OSError as error:
        raise problem_from_oserror(error, place.path) from error
    finally:
        os.close(descriptor)


def read_all(descriptor: int, size: int, place: Place) -> bytes:
    """Everything from here to the end of a file of about this size."""
    # One byte more than expected: if it does not come, the end was reached in one call.
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
    """The stat of an entry; None if there is none; see `Files.stat`."""
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


def make_stat(info: os.stat_result) -> Stat:
    """A `Stat` from the system's, with whether its time stamps are settled."""
    changed = info.st_ctime_ns
    return Stat(
        info.st_dev,
        info.st_ino,
        info.st_size,
        info.st_mtime_ns,
        changed,
        info.st_mode,
        info.st_nlink,
        is_settled(changed),
    )


def missing_file_problem(roots: Roots, place: Place) -> ProblemRaised:
    """The problem of a missing file, with similar names."""
    names = suggest_names(roots, place)
    hint = (
        f"did you mean {', '.join(map(repr, names))}?"
        if names
        else "list_files shows what is there"
    )
    return FILE_MISSING.error(path=quoted(place.path), hint=hint)


def _refuse_special(roots: Roots, place: Place) -> None:
    now = stat_place(roots, place)
    if now is not None and not stat.S_ISREG(now.mode):
        raise not_regular_problem(now.mode, place.path)


def _too_large(place: Place, size: int, max_bytes: int) -> ProblemRaised:
    return FILE_TOO_LARGE.error(path=quoted(place.path), size=size, max_bytes=max_bytes)


def content_equals(descriptor: int, content: Content) -> bool:
    """Whether an open file has exactly this content from its position to its end."""
    for part in content.parts:
        view = memoryview(part).cast("B")
        while view:
            data = os.read(descriptor, min(len(view), _COMPARED_AT_ONCE))
            # As bytes: comparing with a memoryview is done byte by byte.
            if not data or bytes(view[: len(data)]) != data:
                return False
            view = view[len(data) :]
    return not os.read(descriptor, 1)
