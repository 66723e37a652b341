"""Finds the programs that Handrail itself runs: by absolute path, never from a root.

A model may write to a root, so a program found there is not trusted.
"""

from __future__ import annotations

import hashlib
import os
import stat
import struct
import sys
import sysconfig
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

from handrail.host.files.root_identity import is_inside

_ELF_MAGIC: Final = b"\x7fELF"
_PT_INTERP: Final = 3


def find_binary(name: str, roots: Sequence[str], *, search_path: str | None = None) -> str | None:
    """Return the resolved absolute path of a helper program; None if there is no trusted one.

    Looks next to this Python first, then along PATH.
    """
    folders = _search_folders(os.environ.get("PATH", "") if search_path is None else search_path)
    return find_trusted((f"{folder}/{name}" for folder in folders), roots)


def find_trusted(candidates: Iterable[str], roots: Sequence[str]) -> str | None:
    """Return the first of these paths that leads to a trusted program, resolved; None if none does.

    Trusted means: a regular executable outside every root; it and its directory are owned by root
    or this user and are not world-writable, so that no other user can have put it there.
    """
    real_roots = [os.path.realpath(root) for root in roots]
    for candidate in candidates:
        folder = os.path.realpath(candidate.rpartition("/")[0] or "/")
        real = os.path.realpath(candidate)
        outside = not any(is_inside(place, r) for place in (folder, real) for r in real_roots)
        folders = {folder, real.rpartition("/")[0] or "/"}
        if outside and is_trusted_file(real) and all(map(_trusted_stat, folders)):
            return real
    return None


def sha256(path: str) -> str:
    """Return the hash of a program's bytes, for `handrail doctor`."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@lru_cache(maxsize=64)
def needs_loader(path: str) -> bool:
    """Return whether starting the program loads shared libraries; a static program does not."""
    with Path(path).open("rb") as file:
        head = file.read(64)
        if len(head) < 64 or head[:4] != _ELF_MAGIC or head[4] != 2:
            return True
        order = "<" if head[5] == 1 else ">"
        (table,) = struct.unpack_from(order + "Q", head, 32)
        size, count = struct.unpack_from(order + "HH", head, 54)
        file.seek(table)
        headers = file.read(size * count)
    kinds = (struct.unpack_from(order + "I", headers, i)[0] for i in range(0, len(headers), size))
    return _PT_INTERP in kinds


def _search_folders(search_path: str) -> Iterator[str]:
    yield os.path.realpath(sysconfig.get_path("scripts"))
    yield os.path.realpath(Path(sys.executable).parent)
    for entry in search_path.split(os.pathsep):
        # An empty or relative entry means the current directory, which may be a root.
        if entry.startswith(os.sep):
            yield os.path.realpath(entry)


def is_trusted_file(path: str) -> bool:
    """Whether a path is a program of root or this user that is not world-writable."""
    info = _trusted_stat(path)
    return info is not None and stat.S_ISREG(info.st_mode) and bool(info.st_mode & 0o111)


def _trusted_stat(path: str) -> os.stat_result | None:
    """Return the stat of a path if its owner is root or this user and it is not world-writable."""
    try:
        info = os.stat(path)  # noqa: PTH116 - a string in, three numbers out
    except OSError:
        return None
    trusted = info.st_uid in (0, os.geteuid()) and not info.st_mode & stat.S_IWOTH
    return info if trusted else None
