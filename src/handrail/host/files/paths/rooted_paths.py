"""Looking at absolute paths: those that lie in a root are looked at beneath the root's handle.

So what is found is in the directory that was opened, wherever its path leads by now.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from handrail.host.files.paths.openat2 import LIST, LOOK_IN, choose_opener
from handrail.host.files.paths.root_identity import RootHandle


class RootedPaths:
    """Looks at paths; without roots, each is looked at by its name. For any thread."""

    def __init__(self, roots: Sequence[RootHandle] = ()) -> None:
        self._roots = sorted(roots, key=lambda root: -len(root.path))
        self._opener = choose_opener()

    def lstat(self, path: str) -> os.stat_result:
        """What bears the name; raises OSError."""
        for root in self._roots:
            rel = _beneath(path, root.path)
            if rel is not None:
                return os.stat(rel or ".", dir_fd=root.handle, follow_symlinks=False)
        return os.lstat(path)

    def open_folder(self, path: str) -> int:
        """A handle to list a folder by; raises OSError, also if a part of the path is a link."""
        for root in self._roots:
            rel = _beneath(path, root.path)
            if rel is not None:
                return self._opener(root.handle, os.fsencode(rel) or b".", LIST)
        top = os.open("/", LOOK_IN)
        try:
            return self._opener(top, os.fsencode(path.strip("/")) or b".", LIST)
        finally:
            os.close(top)


def _beneath(path: str, root: str) -> str | None:
    """The path from a root, None if it does not lie there."""
    top = root.rstrip("/")
    if path == root:
        return ""
    return path[len(top) + 1 :] if path.startswith(f"{top}/") else None
