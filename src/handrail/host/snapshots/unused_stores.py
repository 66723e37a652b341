"""Removes copies in stores that no runtime uses; they are made again when needed."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from handrail.host.snapshots.store_dir import LOCK, claim


def remove_unused_stores(home: Path, before_ns: int, *, dry_run: bool) -> int:
    """Empty the free stores that were last used before a time, or only measure them; returns the
    bytes.
    """
    freed = 0
    for directory in _used_before(home, before_ns):
        try:
            place = claim(directory)
        except OSError:
            continue
        if place is None:
            continue
        try:
            freed += sum(_empty(directory, dry_run=dry_run))
        finally:
            place.close()
    return freed


def _used_before(home: Path, before_ns: int) -> Iterator[Path]:
    with suppress(OSError):
        for directory in sorted(home.iterdir()):
            if directory.name.isdigit() and 0 < _last_used_ns(directory) < before_ns:
                yield directory


def _last_used_ns(directory: Path) -> int:
    """When the manifest was last written; 0 if never."""
    found = [0]
    with suppress(OSError):
        found += [one.stat().st_mtime_ns for one in directory.iterdir() if one.name != LOCK]
    return max(found)


def _empty(directory: Path, *, dry_run: bool) -> Iterator[int]:
    """Remove everything but the lock file, which waiting processes must find again."""
    for path in list(directory.iterdir()):
        if path.name == LOCK:
            continue
        yield path.lstat().st_size if path.is_file() else 0
        for folder, _, names in os.walk(path):
            for name in names:
                with suppress(OSError):
                    yield os.lstat(f"{folder}/{name}").st_size
        if dry_run:
            continue
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)
