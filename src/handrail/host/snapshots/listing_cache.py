"""Walks directory trees and lists a directory again only after an entry was added or removed.

Users: protected names, denied paths and denied inodes. Each turns the entries of one directory
into a listing of its own; the cache keeps the listings of the last pass.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import chain
from typing import Generic, NamedTuple, Protocol, TypeVar

from handrail.host.snapshots.entries import DirectoryStamps, Stamp, directory_stamp


class FolderListing(Protocol):
    """What a walk needs to know of the listing of one directory."""

    @property
    def folders(self) -> Sequence[str]:
        """Paths of the directories to visit next."""

    @property
    def size(self) -> int:
        """Number of entries, counted against the limit of the pass."""


class FolderSource(Protocol):
    """Access to directories by path."""

    def lstat(self, path: str) -> os.stat_result:
        """Stat a directory, to compare it with a known stamp; raises OSError."""

    def open_folder(self, path: str) -> int:
        """Open a directory for listing without following links; raises OSError."""


L = TypeVar("L", bound=FolderListing)
ReadEntries = Callable[[str, Iterator[os.DirEntry[str]]], L]


class FolderVisit(NamedTuple, Generic[L]):
    """One directory of a walk. `listing` is None if it was not listed: `error` says why, and is
    None too if the limits of the pass were reached.
    """

    path: str
    info: os.stat_result | None = None
    listing: L | None = None
    error: OSError | None = None


class ListingCache(Generic[L]):
    """The listings of the last pass. Not thread-safe."""

    def __init__(self) -> None:
        self._stamps = DirectoryStamps()
        self._known: dict[str, tuple[Stamp | None, L]] = {}

    def begin(self, *, max_folders: int, max_entries: int) -> ListingPass[L]:
        """Start a pass that visits at most this many directories and entries."""
        return ListingPass(self._stamps, self._known, max_folders, max_entries)

    def finish(self, done: ListingPass[L]) -> None:
        """Keep the listings of this pass and drop all others."""
        self._known = done.visited


class ListingPass(Generic[L]):
    """One or more walks; no directory is visited twice."""

    def __init__(
        self,
        stamps: DirectoryStamps,
        known: dict[str, tuple[Stamp | None, L]],
        max_folders: int,
        max_entries: int,
    ) -> None:
        self.visited: dict[str, tuple[Stamp | None, L]] = {}
        self._stamps = stamps
        self._known = known
        self._folders_left = max_folders
        self._entries_left = max_entries

    def walk(
        self,
        source: FolderSource,
        start: str,
        read: ReadEntries[L],
        skipped: AbstractSet[str] = frozenset(),
        visit_last: Callable[[str], bool] = lambda _: False,
    ) -> Iterator[FolderVisit[L]]:
        """Visit `start` and the directories that its listings name, upper ones first.

        Directories for which `visit_last` is true are visited after all others, so that the limits
        are reached there first; it must be true for all directories below them too.
        """
        queue, last = [start], list[str]()
        # Both lists grow during the loop.
        for path in chain(queue, last):
            if path in self.visited or path in skipped:
                continue
            if self._entries_left < 0 or self._folders_left <= 0:
                yield FolderVisit(path)
                continue
            try:
                info, listing = self._visit(source, path, read)
            except OSError as error:
                yield FolderVisit(path, error=error)
                continue
            yield FolderVisit(path, info, listing)
            (last if visit_last(path) else queue).extend(listing.folders)

    def _visit(
        self, source: FolderSource, path: str, read: ReadEntries[L]
    ) -> tuple[os.stat_result, L]:
        known = self._known.get(path)
        if known is not None and known[0] is not None:
            info = source.lstat(path)
            if known[0] == directory_stamp(info):
                self._keep(path, known[0], known[1])
                return info, known[1]
        handle = source.open_folder(path)
        try:
            info = os.fstat(handle)
            # Taken before the entries are read, so that a later change makes the stamp differ.
            stamp = self._stamps.take(info)
            with os.scandir(handle) as entries:
                listing = read(path, entries)
        finally:
            os.close(handle)
        self._keep(path, stamp, listing)
        return info, listing

    def _keep(self, path: str, stamp: Stamp | None, listing: L) -> None:
        self.visited[path] = stamp, listing
        self._folders_left -= 1
        self._entries_left -= listing.size
