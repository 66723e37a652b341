"""Whether the history of a git repository has moved. Its directory is not copied: git keeps
its own history, and a file of it put back alone would break the whole.
"""

from __future__ import annotations

import os
from typing import Final

from handrail.host.files.openat2 import LIST

# What a commit, a checkout, a reset or a fetch changes; looking around changes none of it.
_WATCHED: Final = ("HEAD", "logs/HEAD", "packed-refs", "refs/heads", "refs/tags")


def mark_of(directory: int, name: str) -> tuple[int, ...] | None:
    """When the history of the repository in this directory moved last; None if there is none."""
    try:
        handle = os.open(name, LIST | os.O_NOFOLLOW, dir_fd=directory)
    except OSError:
        return None
    try:
        return tuple(_changed_ns(handle, path) for path in _WATCHED)
    finally:
        os.close(handle)


def _changed_ns(handle: int, path: str) -> int:
    try:
        return os.stat(path, dir_fd=handle, follow_symlinks=False).st_ctime_ns
    except OSError:
        return 0
