"""The inodes of denied files, by which a denied file is recognised under any other name: a hard
link, or a name that it was given a moment ago.
"""

from __future__ import annotations

import os
import stat
import sys
from collections.abc import Iterator
from contextlib import suppress
from typing import Final, NamedTuple

from handrail.core.ports.read_denials import HiddenPaths
from handrail.host.files.root_identity import RootedPaths
from handrail.host.snapshots.listing_cache import ListingCache, ListingPass

Inode = tuple[int, int]

_MOST_ENTRIES: Final = 200_000


def inode_number(info: os.stat_result) -> Inode:
    """The identity of a file on this machine, whatever its name."""
    return info.st_dev, info.st_ino


class InodeSet(NamedTuple):
    """The inodes of denied files and directories. `complete` is False if some are missing."""

    inodes: frozenset[Inode] = frozenset()
    complete: bool = True

    def covers(self, info: os.stat_result) -> bool:
        """Whether an open file is denied. With an incomplete set, every file with several names
        is, because one of the names may be denied.
        """
        if inode_number(info) in self.inodes:
            return True
        return not self.complete and info.st_nlink > 1

    def union(self, other: InodeSet) -> InodeSet:
        """The inodes of both sets."""
        return InodeSet(self.inodes | other.inodes, self.complete and other.complete)


class _InodeListing(NamedTuple):
    inodes: tuple[Inode, ...]
    folders: tuple[str, ...]
    size: int


class DeniedInodes:
    """Collects the inodes of denied paths. Not thread-safe."""

    def __init__(self, paths: RootedPaths | None = None) -> None:
        """`paths` accesses what lies in the roots by their handles."""
        self._paths = RootedPaths() if paths is None else paths
        self._cache = ListingCache[_InodeListing]()

    def collect(self, hidden: HiddenPaths) -> InodeSet:
        """The inodes of these paths and of everything below them. Blocks."""
        listings = self._cache.begin(max_folders=sys.maxsize, max_entries=sys.maxsize)
        inodes: set[Inode] = set()
        complete = hidden.complete
        for path in hidden.paths:
            try:
                info = self._paths.lstat(path)
            except FileNotFoundError:
                continue
            except OSError:
                complete = False
                continue
            inodes.add(inode_number(info))
            if stat.S_ISDIR(info.st_mode):
                complete &= self._collect_below(path, listings, inodes)
            if len(inodes) > _MOST_ENTRIES:
                complete = False
                break
        self._cache.finish(listings)
        return InodeSet(frozenset(inodes), complete)

    def _collect_below(
        self, top: str, listings: ListingPass[_InodeListing], inodes: set[Inode]
    ) -> bool:
        """Add the inodes below a directory; whether all of them were added."""
        complete = True
        for visit in listings.walk(self._paths, top, _read_entries):
            if visit.info is not None and visit.listing is not None:
                inodes.add(inode_number(visit.info))
                inodes.update(visit.listing.inodes)
            elif not isinstance(visit.error, FileNotFoundError):
                complete = False
                # It may have become a file since its directory was listed.
                with suppress(OSError):
                    inodes.add(inode_number(self._paths.lstat(visit.path)))
            if len(inodes) > _MOST_ENTRIES:
                return False
        return complete


def _read_entries(path: str, entries: Iterator[os.DirEntry[str]]) -> _InodeListing:
    inodes: list[Inode] = []
    folders: list[str] = []
    size = 0
    for entry in entries:
        size += 1
        try:
            info = entry.stat(follow_symlinks=False)
        except FileNotFoundError:
            continue
        if stat.S_ISDIR(info.st_mode):
            folders.append(f"{path}/{entry.name}")
        else:
            inodes.append(inode_number(info))
    return _InodeListing(tuple(inodes), tuple(folders), size)
