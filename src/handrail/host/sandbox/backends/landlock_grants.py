"""Makes the inputs of Landlock rules: open descriptors, chosen by inode and never by name.

A name may lead elsewhere by the time a rule is made, so denied paths and their parent directories
are identified by inode. Trees are opened without following links. A denied inode is left out, a
directory that leads to one is granted entry by entry, everything else as a whole.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterable, Mapping
from enum import Enum
from functools import cache
from typing import Final, NamedTuple

from handrail.host.files.roots import LOOK, Opener, choose_opener
from handrail.host.sandbox.recipe import LandlockRules

_NAME: Final = LOOK | os.O_NOFOLLOW
_LISTING: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC
_MOST: Final = 20_000


# Name and inode of each entry of a directory, in order.
Listing = list[tuple[str, int]]
# Opens a tree by its path, for stat only; raises OSError.
OpenTree = Callable[[str], int]


class AccessRight(Enum):
    """What a rule allows beneath its descriptor."""

    READ = "read"
    LIST = "list"
    WRITE = "write"


class PathGrant(NamedTuple):
    """One rule: a descriptor, the right beneath it, and its inode."""

    handle: int
    right: AccessRight
    inode: str


def inode_key(info: os.stat_result) -> str:
    """Return an inode as text, for transfer to the process that starts programs."""
    return f"{info.st_dev}:{info.st_ino}"


def open_without_links(path: str) -> int:
    """Open an absolute path for stat only; raises OSError if a part of it is a link."""
    top = os.open("/", LOOK | os.O_DIRECTORY)
    try:
        return _opener()(top, os.fsencode(path.strip("/")) or b".", LOOK)
    finally:
        os.close(top)


def inode_chain(path: str) -> list[str]:
    """Return the inodes of `/` and each part of a path; raises OSError for a missing part or a
    link.
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
    """The grants for a set of rules. `close` closes their descriptors."""

    def __init__(self, rules: LandlockRules, open_top: OpenTree | None = None) -> None:
        """Open everything, trees by `open_top`; raises OSError if there are too many grants."""
        self._open_top = open_top or open_without_links
        self._closed = frozenset(rules.denied)
        self._ways = frozenset(rules.denied_parents)
        self._listed = frozenset(rules.listable)
        self._all: list[PathGrant] = []
        # The entries of the directories that are granted one by one.
        self.listings: dict[str, Listing | None] = {}
        try:
            self._take(rules.read, AccessRight.READ)
            self._take(rules.write, AccessRight.WRITE)
        except BaseException:
            self.close()
            raise

    @property
    def inodes(self) -> tuple[tuple[AccessRight, str], ...]:
        """The granted inodes, for comparison with a later call."""
        return tuple((one.right, one.inode) for one in self._all)

    def handles(self, right: AccessRight) -> list[int]:
        """Return the descriptors with this right."""
        return [one.handle for one in self._all if one.right is right]

    def close(self) -> None:
        """Close the descriptors; rules made from them stay in force."""
        granted, self._all = self._all, []
        for one in granted:
            os.close(one.handle)

    def _take(self, tops: Iterable[str], right: AccessRight) -> None:
        for top in tops:
            try:
                handle = self._open_top(top)
            except OSError:
                # The path is missing, or a link, whose target is granted separately or not at all.
                continue
            self._grant(handle, right, top)

    def _grant(self, handle: int, right: AccessRight, path: str) -> None:
        """Grant what a descriptor refers to, as far as allowed; takes ownership of it."""
        info = os.fstat(handle)
        inode = inode_key(info)
        if stat.S_ISLNK(info.st_mode) or inode in self._closed:
            os.close(handle)
            return
        if inode not in self._ways or not stat.S_ISDIR(info.st_mode):
            self._keep(PathGrant(handle, right, inode))
            return
        try:
            self._enter(handle, right, path)
        finally:
            if right is AccessRight.READ and inode in self._listed:
                self._keep(PathGrant(handle, AccessRight.LIST, inode))
            else:
                os.close(handle)

    def _enter(self, folder: int, right: AccessRight, path: str) -> None:
        self.listings[path] = None
        try:
            listing = os.open(".", _LISTING, dir_fd=folder)
        except OSError:
            return
        try:
            found = self.listings[path] = _list_entries(listing)
            for name, _ in found:
                try:
                    below = os.open(name, _NAME, dir_fd=listing)
                except OSError:
                    continue
                self._grant(below, right, f"{path}/{name}")
        finally:
            os.close(listing)

    def _keep(self, grant: PathGrant) -> None:
        self._all.append(grant)
        if len(self._all) > _MOST:
            raise OSError(errno.E2BIG, "too many files lie beside what is hidden")


def is_listed_alike(listings: Mapping[str, Listing | None]) -> bool:
    """Whether these directories still have the same entries. A replaced entry has another inode."""
    return all(known is not None and _list_path(path) == known for path, known in listings.items())


def _list_path(path: str) -> Listing | None:
    try:
        handle = os.open(path, _LISTING | os.O_NOFOLLOW)
        try:
            return _list_entries(handle)
        finally:
            os.close(handle)
    except OSError:
        return None


def _list_entries(handle: int) -> Listing:
    with os.scandir(handle) as entries:
        return sorted([(entry.name, entry.inode()) for entry in entries])


@cache
def _opener() -> Opener:
    return choose_opener()
