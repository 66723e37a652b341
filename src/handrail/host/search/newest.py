"""Ordering files by their time of change."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable

from handrail.host.search.roots import Root


def newest_first(root: Root, rels: Iterable[str]) -> list[str]:
    """Regular files, the last changed first, equal times by path; what is gone is left out."""
    handle = root.fd
    dated: list[tuple[int, str]] = []
    for rel in rels:
        try:
            info = os.stat(rel, dir_fd=handle, follow_symlinks=False)
        except OSError:
            continue
        if stat.S_ISREG(info.st_mode):
            dated.append((-info.st_mtime_ns, rel))
    dated.sort()
    return [rel for _, rel in dated]
