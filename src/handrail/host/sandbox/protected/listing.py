"""Finds the protected names below a root by names and kinds of entries only."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Final, NamedTuple

from handrail.core.names.protected_names import fold_name
from handrail.core.names.protected_table import REPOSITORY_ENTRIES
from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected.name_table import (
    BARE,
    FILE,
    FIRST,
    GIT,
    WHOLE,
    ProtectedNameTable,
)
from handrail.host.snapshots.listing_cache import ListingCache

_MOST_DIRECTORIES: Final = 100_000
_MOST_ENTRIES: Final = 1_500_000
# Packages contain settings of editors and the like, which have no effect there. A repository has:
# git enters it from the one around it, and runs what its configuration names.
_PACKAGES: Final = "node_modules"
_REPOSITORY: Final = frozenset(REPOSITORY_ENTRIES)


class ProtectedHit(NamedTuple):
    """An entry with a protected name."""

    # Path beneath the root.
    rel: str
    # Bits of `name_table`: why the name counts.
    mark: int


class ListingResult(NamedTuple):
    """The protected names of a root."""

    # Upper entries first.
    hits: list[ProtectedHit]
    # Directories that were not listed.
    left: frozenset[str]


class _NameListing(NamedTuple):
    folders: tuple[str, ...]
    hits: tuple[ProtectedHit, ...]
    size: int


class ProtectedListings:
    """Finds protected names below roots."""

    def __init__(self, names: ProtectedNameTable) -> None:
        self._names = names
        self._caches: dict[str, ListingCache[_NameListing]] = {}

    def walk(
        self, root: RootHandle, skipped: frozenset[str], left: frozenset[str]
    ) -> ListingResult:
        """Find names below a root, neither in `skipped` nor in `left`."""
        cache = self._caches.setdefault(root.path, ListingCache())
        walk = cache.begin(max_folders=_MOST_DIRECTORIES, max_entries=_MOST_ENTRIES)
        hits, missed = list[ProtectedHit](), set(left)
        for visit in walk.walk(root, "", self._read, skipped | left, visit_last=_is_package):
            if visit.listing is not None:
                hits += visit.listing.hits
            elif visit.error is None:
                missed.add(visit.path)
            # A directory that is gone or cannot be opened counts as empty.
        cache.finish(walk)
        return ListingResult(hits, frozenset(missed))

    def _read(self, rel: str, entries: Iterator[os.DirEntry[str]]) -> _NameListing:
        find_mark, folders, hits, size = self._names.mark, list[str](), list[ProtectedHit](), 0
        above = f"{rel}/" if rel else ""
        own = rel.rpartition("/")[2]
        below = self._names.marks_below(rel) if find_mark(own) & FIRST else {}
        in_package, repository = _is_package(rel.rpartition("/")[0]), 0
        for entry in entries:
            size += 1
            name = entry.name
            mark = find_mark(name)
            if below:
                mark |= below.get(fold_name(name), 0)
            if in_package:
                mark &= GIT
            repository += name in _REPOSITORY
            is_folder = entry.is_dir(follow_symlinks=False)
            if mark and self._counts(mark, is_folder, entry, above + name):
                hits.append(ProtectedHit(above + name, mark))
            elif is_folder:
                folders.append(above + name)
        if repository == len(_REPOSITORY):
            hits.append(ProtectedHit(rel, BARE))
        return _NameListing(tuple(folders), tuple(hits), size)

    def _counts(self, mark: int, is_folder: bool, entry: os.DirEntry[str], rel: str) -> bool:
        if mark & (WHOLE | GIT):
            return True
        if mark & FILE:
            return not is_folder
        return entry.is_symlink() and bool(self._names.rests(rel))


def _is_package(rel: str) -> bool:
    return _PACKAGES in rel.split("/")
