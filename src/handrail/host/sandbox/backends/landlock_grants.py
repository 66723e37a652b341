"""What Landlock's rules are made from: open handles, chosen by inode and never by name.

A name that was looked at may lead elsewhere by the time a rule is made. So what must stay closed,
and the folders on the way to it, are known by their inodes. Each tree is opened through no link. A
closed inode is left out, a folder on the way is opened entry by entry, all else is granted whole.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable
from enum import Enum
from functools import cache
from typing import Final, NamedTuple

from handrail.host.files.paths.openat2 import LOOK, Opener, choose_opener
from handrail.host.sandbox.recipe import LandlockRules

_NAME: Final = LOOK | os.O_NOFOLLOW
_LISTING: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST: Final = 20_000


# Opens a tree by its path, for looking only; raises OSError.
OpenTree = Callable[[str], int]


class AccessRight(Enum):
    """What a rule allows beneath its handle."""

    READ = "read"
    LIST = "list"
    WRITE = "write"


class PathGrant(NamedTuple):
    """One rule to be: a handle, what is allowed beneath it, and the inode that it is."""

    handle: int
    right: AccessRight
    inode: str


def inode_key(info: os.stat_result) -> str:
    """An inode as a word that travels to the process that starts programs."""
    return f"{info.st_dev}:{info.st_ino}"


def open_without_links(path: str) -> int:
    """A handle of an absolute path, for looking only; raises OSError if a part is a link."""
    top = os.open("/", LOOK | os.O_DIRECTORY)
    try:
        return _opener()(top, os.fsencode(path.strip("/")) or b".", LOOK)
    finally:
        os.close(top)


def inode_chain(path: str) -> list[str]:
    """The inodes of `/` and of each part of a path, down to itself; raises OSError if a part is
    missing or a link.
    """
    handle = os.open("/", LOOK | os.O_DIRECTORY)
    try:
        chain = [inode_key(os.fstat(handle))]
        for name in path.strip("/").split("/") if path != "/" else ():
            below = os.open(name, _NAME, dir_fd=handle)
            os.close(handle)
            handle = below
            info = os.fstat(handle)
            if stat.S_ISLNK(info.st_mode):
                raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), path)
            chain.append(inode_key(info))
        return chain
    finally:
        os.close(handle)


class GrantSet:
    """Collects the grants of a set of rules. `close` lets go of their handles."""

    def __init__(self, rules: LandlockRules, open_top: OpenTree | None = None) -> None:
        """Open everything, trees by `open_top`; raises OSError if there is too much of it."""
        self._open_top = open_top or open_without_links
        self._closed = frozenset(rules.closed)
        self._ways = frozenset(rules.ways)
        self._listed = frozenset(rules.listed)
        self._all: list[PathGrant] = []
        try:
            self._take(rules.read, AccessRight.READ)
            self._take(rules.write, AccessRight.WRITE)
        except BaseException:
            self.close()
            raise

    @property
    def inodes(self) -> tuple[tuple[AccessRight, str], ...]:
        """What is granted, to be compared with another time."""
        return tuple((one.right, one.inode) for one in self._all)

    def handles(self, right: AccessRight) -> list[int]:
        """The handles that are granted so."""
        return [one.handle for one in self._all if one.right is right]

    def close(self) -> None:
        """Let go of the handles; the rules that were made of them stay."""
        granted, self._all = self._all, []
        for one in granted:
            os.close(one.handle)

    def _take(self, tops: Iterable[str], right: AccessRight) -> None:
        for top in tops:
            try:
                handle = self._open_top(top)
            except OSError:
                # Missing, or a link: what that leads to is granted for itself or not at all.
                continue
            self._grant(handle, right)

    def _grant(self, handle: int, right: AccessRight) -> None:
        """Grant what a handle is, as far as it may be; takes the handle over."""
        info = os.fstat(handle)
        inode = inode_key(info)
        if stat.S_ISLNK(info.st_mode) or inode in self._closed:
            os.close(handle)
            return
        if inode not in self._ways or not stat.S_ISDIR(info.st_mode):
            self._keep(PathGrant(handle, right, inode))
            return
        try:
            self._enter(handle, right)
        finally:
            if right is AccessRight.READ and inode in self._listed:
                self._keep(PathGrant(handle, AccessRight.LIST, inode))
            else:
                os.close(handle)

    def _enter(self, folder: int, right: AccessRight) -> None:
        try:
            listing = os.open(".", _LISTING, dir_fd=folder)
        except OSError:
            return
        try:
            for name in sorted(os.listdir(listing)):  # noqa: PTH208 - by handle
                try:
                    below = os.open(name, _NAME, dir_fd=listing)
                except OSError:
                    continue
                self._grant(below, right)
        finally:
            os.close(listing)

    def _keep(self, grant: PathGrant) -> None:
        self._all.append(grant)
        if len(self._all) > _MOST:
            raise OSError(errno.E2BIG, "too many files lie beside what is hidden")


@cache
def _opener() -> Opener:
    return choose_opener()
