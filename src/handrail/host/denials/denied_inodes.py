"""The inodes of withheld files: by these a file is recognised under any other name.

A hard link, or a name that a withheld file got a moment ago, is not a withheld path; but what is
opened there is the withheld file.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from handrail.core.read_denials import HiddenPaths
from handrail.host.files.paths.rooted_paths import RootedPaths
from handrail.host.snapshots.stamps import DirectoryStamps, Stamp, identity

Inode = tuple[int, int]

_MOST_ENTRIES: Final = 200_000


def inode_number(info: os.stat_result) -> Inode:
    """What identifies a file on this machine, whatever its name."""
    return info.st_dev, info.st_ino


class InodeSet(NamedTuple):
    """The inodes of withheld files and folders. `complete` is False if some are missing."""

    inodes: frozenset[Inode] = frozenset()
    complete: bool = True

    def covers(self, info: os.stat_result) -> bool:
        """Whether an open file is withheld. Of an incomplete set every file with several names
        counts as withheld, because another of its names may be.
        """
        if inode_number(info) in self.inodes:
            return True
        return not self.complete and info.st_nlink > 1

    def union(self, other: InodeSet) -> InodeSet:
        """The inodes of both sets."""
        return InodeSet(self.inodes | other.inodes, self.complete and other.complete)


class _FolderInodes(NamedTuple):
    stamp: Stamp | None
    inodes: tuple[Inode, ...]
    folders: tuple[str, ...]


class DeniedInodes:
    """Collects the inodes of withheld paths. A folder is listed again only when its time stamps
    say that it changed. Not for several threads at once.
    """

    def __init__(self, paths: RootedPaths | None = None) -> None:
        """`paths` looks at what lies in the roots by their handles."""
        self._paths = RootedPaths() if paths is None else paths
        self._stamps = DirectoryStamps()
        self._known: dict[str, _FolderInodes] = {}

    def collect(self, hidden: HiddenPaths) -> InodeSet:
        """The inodes of these paths and of all that lies in them. Blocks."""
        fresh: dict[str, _FolderInodes] = {}
        inodes: set[Inode] = set()
        complete = hidden.complete
        queue = list(hidden.paths)
        for path in queue:
            if len(inodes) > _MOST_ENTRIES:
                complete = False
                break
            try:
                info = self._paths.lstat(path)
                inodes.add(inode_number(info))
                if not _is_folder(info):
                    continue
                folder = fresh[path] = self._folder(path, info)
            except FileNotFoundError:
                continue
            except OSError:
                complete = False
                continue
            inodes.update(folder.inodes)
            queue += folder.folders
        self._known = fresh
        return InodeSet(frozenset(inodes), complete)

    def _folder(self, path: str, info: os.stat_result) -> _FolderInodes:
        known = self._known.get(path)
        if known is not None and known.stamp == identity(info):
            return known
        stamp = self._stamps.of(info)
        inodes: list[Inode] = []
        folders: list[str] = []
        for name, below in self._entries(path):
            if _is_folder(below):
                folders.append(f"{path}/{name}")
            else:
                inodes.append(inode_number(below))
        return _FolderInodes(stamp, tuple(inodes), tuple(folders))

    def _entries(self, path: str) -> Iterator[tuple[str, os.stat_result]]:
        handle = self._paths.open_folder(path)
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    try:
                        yield entry.name, entry.stat(follow_symlinks=False)
                    except FileNotFoundError:
                        continue
        finally:
            os.close(handle)


def _is_folder(info: os.stat_result) -> bool:
    return info.st_mode & 0o170000 == 0o040000
