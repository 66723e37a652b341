"""A link that is about to take its place, under a temp name beside it."""

from __future__ import annotations

import os

from handrail.core.content import Content
from handrail.host.files.temp import Written, written


class TempLink:
    """A new link in a directory; nothing of it is there before `appear`."""

    def __init__(self, handle: int, name: str, target: Content) -> None:
        self._handle = handle
        self._name = name
        self._target = target.tobytes()
        self.named = False

    def appear(self, *, durable: bool) -> Written:
        """Make it under its temp name; returns what bears that name."""
        del durable  # A link is in its directory, which the caller writes through.
        os.symlink(self._target, os.fsencode(self._name), dir_fd=self._handle)
        self.named = True
        return written(os.stat(self._name, dir_fd=self._handle, follow_symlinks=False))

    def close(self) -> None:
        """There is no handle to let go of."""
