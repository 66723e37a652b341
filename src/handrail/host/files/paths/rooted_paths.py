"""Access by absolute path that goes through a root's handle wherever the path lies in a root.

So the result belongs to the directory that was opened, even if the root's path leads elsewhere now.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from handrail.host.files.paths.openat2 import LIST, LOOK_IN, choose_opener
from handrail.host.files.paths.root_identity import RootHandle


class RootedPaths:
    """Stats and opens absolute paths. Thread-safe."""

    def __init__(self, roots: Sequence[RootHandle] = ()) -> None:
        self._roots = sorted(roots, key=lambda root: -len(root.path))
        self._opener = choose_opener()

    def lstat(self, path: str) -> os.stat_result:
        """Stat a path; raises OSError."""
        for root in self._roots:
            rel = _beneath(path, root.path)
            if rel is not None:
                return root.lstat(rel)
        return os.lstat(path)

    def open_folder(self, path: str) -> int:
        """Open a directory for listing; raises OSError, also if a part of the path is a link."""
        for root in self._roots:
            rel = _beneath(path, root.path)
            if rel is not None:
                return root.open_folder(rel)
        top = os.open("/", LOOK_IN)
        try:
            return self._opener(top, os.fsencode(path.strip("/")) or b".", LIST)
        finally:
            os.close(top)


def is_inside(path: str, top: str) -> bool:
    """Whether a normalised absolute path is `top` or lies beneath it, compared by name."""
    return path == top or path.startswith(f"{top.rstrip('/')}/")


def _beneath(path: str, root: str) -> str | None:
    """The path relative to a root; None if it lies outside."""
    top = root.rstrip("/")
    if path == root:
        return ""
    return path[len(top) + 1 :] if path.startswith(f"{top}/") else None
