"""The store of one runtime, locked while it is open, and unused stores."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.manifest import Manifest

LOCK: Final = "lock"
_SLOTS: Final = 16
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class SnapshotStore:
    """The contents and the manifest in one directory."""

    def __init__(self, directory: Path, handle: int) -> None:
        self.directory = directory
        self.contents = ContentStore(directory / "contents", directory / "packs")
        self.manifest = Manifest(directory)
        self._handle = handle

    def close(self) -> None:
        """Close the packs and release the lock."""
        try:
            with suppress(OSError):
                self.contents.close()
        finally:
            os.close(self._handle)


def claim_any(home: Path) -> SnapshotStore:
    """The first free store; raises OSError if there is none."""
    for number in range(_SLOTS):
        place = claim(home / str(number))
        if place is not None:
            return place
    raise OSError(f"all {_SLOTS} places in {home} are in use")


def claim(directory: Path) -> SnapshotStore | None:
    """The store in this directory; None if it is in use. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(directory / LOCK, _FLAGS, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return SnapshotStore(directory, handle)


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
