"""A directory for the copies of one runtime at a time, held by a lock as long as it is open."""

from __future__ import annotations

import fcntl
import os
from pathlib import Path
from typing import Final

from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.manifest import Manifest

LOCK: Final = "lock"
_SLOTS: Final = 16
_FLAGS: Final = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class SnapshotStore:
    """What lies there: contents, and what is remembered of the roots."""

    def __init__(self, directory: Path, handle: int) -> None:
        self.directory = directory
        self.contents = ContentStore(directory / "contents")
        self.manifest = Manifest(directory)
        self._handle = handle

    def close(self) -> None:
        """Let somebody else have it."""
        os.close(self._handle)


def claim_any(home: Path) -> SnapshotStore:
    """The first place that nobody has; raises OSError if there is none."""
    for number in range(_SLOTS):
        place = claim(home / str(number))
        if place is not None:
            return place
    raise OSError(f"all {_SLOTS} places in {home} are in use")


def claim(directory: Path) -> SnapshotStore | None:
    """This place, None if somebody has it. Raises OSError."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    handle = os.open(directory / LOCK, _FLAGS, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    return SnapshotStore(directory, handle)
