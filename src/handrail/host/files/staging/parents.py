"""The directory of a change: opened beneath its root, created if missing."""

from __future__ import annotations

import errno
import os
from contextlib import suppress
from typing import Final

from handrail.core.places import Place
from handrail.host.files.errors import FAILING
from handrail.host.files.paths.openat2 import LIST, LOOK_IN
from handrail.host.files.paths.roots import Roots
from handrail.host.files.staging.temp import Announce

_LEADS_ELSEWHERE: Final = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP, errno.EXDEV, errno.EACCES)


class Parent:
    """An open handle of a place's directory, and the directories created for it."""

    def __init__(
        self, roots: Roots, place: Place, announce: Announce | None, *, durable: bool
    ) -> None:
        """Raises OSError; FileNotFoundError if it is missing and `announce` is None. `announce` is
        called before a directory is created.
        """
        rel, _, self.name = place.rel.rpartition("/")
        if not self.name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if roots.hidden and roots.hides(roots.absolute(place.root, place.rel)):
            raise OSError(errno.EXDEV, os.strerror(errno.EXDEV))
        self._roots = roots
        self._place = place._replace(rel=rel)
        self._made: list[str] = []
        try:
            self.handle = roots.open(self._place, LIST)
        except FileNotFoundError:
            if announce is None:
                raise
            announce()
            self.handle = self._make(rel, durable=durable)

    def is_current(self) -> bool:
        """Whether the path still leads to this directory."""
        try:
            now = self._roots.open(self._place, LOOK_IN)
        except OSError as error:
            # Other errors say nothing about where the path leads.
            if error.errno not in _LEADS_ELSEWHERE:
                raise
            return False
        try:
            return os.path.samestat(os.fstat(now), os.fstat(self.handle))
        finally:
            os.close(now)

    def remove_made(self) -> bool:
        """Remove the created directories that are empty; False on a disk error."""
        clean = True
        while self._made:
            try:
                remove_empty(self._roots, self._place._replace(rel=self._made.pop()))
            except OSError as error:
                clean = clean and error.errno not in FAILING
        return clean

    def close(self) -> None:
        """Close the handle; may be called twice."""
        handle, self.handle = self.handle, -1
        if handle >= 0:
            os.close(handle)

    def _make(self, rel: str, *, durable: bool) -> int:
        handle = self._roots.open(self._place._replace(rel=""), LIST)
        above = ""
        try:
            for name in rel.split("/"):
                above = f"{above}/{name}" if above else name
                below = self._enter(handle, name, above, durable=durable)
                os.close(handle)
                handle = below
        except OSError:
            os.close(handle)
            self.remove_made()
            raise
        return handle

    def _enter(self, handle: int, name: str, rel: str, *, durable: bool) -> int:
        with suppress(FileNotFoundError):
            return os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)
        # Another process may create it at this moment; then it is not removed.
        with suppress(FileExistsError):
            os.mkdir(name, dir_fd=handle)
            self._made.append(rel)
            if durable:
                os.fsync(handle)
        return os.open(name, LIST | os.O_NOFOLLOW, dir_fd=handle)


def remove_name(name: str, directory: int) -> bool:
    """Remove a file; False on a disk error."""
    try:
        os.unlink(name, dir_fd=directory)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    return True


def remove_empty(roots: Roots, place: Place) -> None:
    """Remove a directory; raises OSError if it is not empty or not a directory."""
    above, _, name = place.rel.rpartition("/")
    if not name:
        raise OSError(errno.EBUSY, os.strerror(errno.EBUSY))
    handle = roots.open(place._replace(rel=above), LOOK_IN)
    try:
        os.rmdir(name, dir_fd=handle)
    finally:
        os.close(handle)
