"""Proves that an open file lies in one of the trees that a program may write.

A name proves nothing: it may lead elsewhere by the time it is used. So the file is reached a second
time from the handle of the tree, without following any link, and changed through the handle that
this gives.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Sequence
from functools import cache, cached_property
from typing import Final, NamedTuple

from handrail.host.files.roots import Opener, choose_opener
from handrail.host.sandbox.backends.landlock_grants import OpenTree, inode_key
from handrail.host.sandbox.recipe import LandlockRules

LOOK_AT_NAME: Final = os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC
# A file that is renamed meanwhile is looked for again.
_TRIES: Final = 10


class _Tree(NamedTuple):
    path: bytes
    handle: int
    # Whether a closed inode lies in it.
    has_closed: bool


class WritableTrees:
    """The trees in which a program may change attributes, without what is closed in them."""

    def __init__(self, rules: LandlockRules, open_top: OpenTree) -> None:
        """Open the trees by `open_top`; one that cannot be opened is left out."""
        self._closed = frozenset(rules.closed)
        self._trees: list[_Tree] = []
        for path in sorted(rules.attributes, key=len, reverse=True):
            try:
                handle = open_top(path)
            except OSError:
                continue
            has_closed = inode_key(os.fstat(handle)) in rules.ways
            self._trees.append(_Tree(os.fsencode(path.rstrip("/")), handle, has_closed))
        self._memory_device = _memory_device()

    def close(self) -> None:
        """Close the handles."""
        while self._trees:
            os.close(self._trees.pop().handle)

    def reach(self, handle: int) -> int:
        """A new handle on the same file, reached beneath a tree. Raises OSError: EPERM if the file
        lies in no tree.
        """
        info = os.fstat(handle)
        if info.st_dev == self._memory_device and not info.st_nlink:
            # Anonymous memory has no name, and is reached only through an open file.
            return os.dup(handle)
        for _ in range(_TRIES):
            path = os.readlink(b"/proc/self/fd/%d" % handle)  # noqa: PTH115 - by handle
            found = self._open(path, deleted=not info.st_nlink, handle=handle)
            if found is None:
                continue
            if os.path.samestat(os.fstat(found), info):
                return found
            os.close(found)
        raise OSError(errno.EPERM, os.strerror(errno.EPERM))

    def _open(self, path: bytes, *, deleted: bool, handle: int) -> int | None:
        tree = next((one for one in self._trees if _is_beneath(path, one.path)), None)
        if tree is None or (deleted and tree.has_closed):
            raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        if deleted:
            # It has no name any more; the kernel still knows in which directory it was.
            return os.dup(handle)
        rel = path[len(tree.path) :].strip(b"/")
        if not rel:
            return os.dup(tree.handle)
        try:
            if tree.has_closed:
                return self._walk(tree.handle, rel.split(b"/"))
            return self._opener(tree.handle, rel, LOOK_AT_NAME)
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise OSError(errno.EPERM, os.strerror(errno.EPERM)) from error

    def _walk(self, root: int, names: Sequence[bytes]) -> int:
        """Open a path name by name; raises OSError if one of the inodes is closed."""
        current = os.dup(root)
        for name in names:
            try:
                below = os.open(name, LOOK_AT_NAME, dir_fd=current)
            finally:
                os.close(current)
            current = below
            if inode_key(os.fstat(current)) in self._closed:
                os.close(current)
                raise OSError(errno.EPERM, os.strerror(errno.EPERM))
        return current

    @cached_property
    def _opener(self) -> Opener:
        return choose_opener()


def _is_beneath(path: bytes, top: bytes) -> bool:
    return path == (top or b"/") or path.startswith(top + b"/")


@cache
def _memory_device() -> int:
    """The device number of memory files."""
    handle = os.memfd_create("handrail-device", os.MFD_CLOEXEC)
    try:
        return os.fstat(handle).st_dev
    finally:
        os.close(handle)
