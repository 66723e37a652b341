"""Walking a root for protected names: every directory is listed once, and not again until
its time stamps say that an entry came or went.

Only names and kinds are looked at here; `host/stamps` says when a directory is unchanged.
"""

from __future__ import annotations

import os
from itertools import chain
from typing import Final, NamedTuple

from handrail.core.protected_names import fold_name
from handrail.core.protected_table import REPOSITORY_ENTRIES
from handrail.host.files.paths.openat2 import LIST, Opener
from handrail.host.sandbox.protected.name_table import (
    BARE,
    FILE,
    FIRST,
    GIT,
    WHOLE,
    ProtectedNameTable,
)
from handrail.host.snapshots.stamps import DirectoryStamps, Stamp, identity

_MOST_DIRECTORIES: Final = 100_000
_MOST_ENTRIES: Final = 1_500_000
# Packages bring settings of editors and the like along, which do nothing there. A repository does:
# git enters it from the one around it, and runs what its configuration names.
_PACKAGES: Final = "node_modules"
_REPOSITORY: Final = frozenset(REPOSITORY_ENTRIES)


class WatchedRoot(NamedTuple):
    """A root: its canonical path and an open handle of it."""

    path: str
    handle: int


class ProtectedHit(NamedTuple):
    """An entry whose name counts, by its path beneath the root."""

    rel: str
    mark: int


class ListingResult(NamedTuple):
    """Where protected names stand, upper ones first, and the directories not looked into."""

    hits: list[ProtectedHit]
    left: frozenset[str]


class _DirectoryListing(NamedTuple):
    stamp: Stamp | None
    folders: tuple[str, ...]
    hits: tuple[ProtectedHit, ...]
    size: int


class ListingCache:
    """The listings of all roots, remembered between walks."""

    def __init__(self, names: ProtectedNameTable, opener: Opener) -> None:
        self._names = names
        self._opener = opener
        self._known: dict[str, dict[str, _DirectoryListing]] = {}
        self._stamps = DirectoryStamps()

    def walk(
        self, top: WatchedRoot, skipped: frozenset[str], left: frozenset[str]
    ) -> ListingResult:
        """Look for names below a root; neither into `skipped` nor into `left`."""
        known, fresh = self._known.get(top.path, {}), dict[str, _DirectoryListing]()
        hits, folders, packages = list[ProtectedHit](), [""], list[str]()
        missed, budget = set(left), _MOST_ENTRIES
        # Both lists grow meanwhile; packages come last, so that the limits meet them first.
        for rel in chain(folders, packages):
            if rel in missed or rel in skipped:
                continue
            if budget < 0 or len(fresh) >= _MOST_DIRECTORIES:
                missed.add(rel)
                continue
            try:
                listing = self._listing(top, rel, known.get(rel))
            except OSError:
                # Gone, or closed to us: as if it were empty.
                continue
            fresh[rel] = listing
            budget -= listing.size
            hits += listing.hits
            (packages if _PACKAGES in rel.split("/") else folders).extend(listing.folders)
        self._known[top.path] = fresh
        return ListingResult(hits, frozenset(missed))

    def _listing(
        self, top: WatchedRoot, rel: str, known: _DirectoryListing | None
    ) -> _DirectoryListing:
        info = os.stat(rel or ".", dir_fd=top.handle, follow_symlinks=False)
        if known is not None and known.stamp == identity(info):
            return known
        stamp = self._stamps.of(info)
        folders, hits, size = self._list(top, rel)
        return _DirectoryListing(stamp, tuple(folders), tuple(hits), size)

    def _list(self, top: WatchedRoot, rel: str) -> tuple[list[str], list[ProtectedHit], int]:
        mark_of, folders, hits, size = self._names.mark, list[str](), list[ProtectedHit](), 0
        above = f"{rel}/" if rel else ""
        own = rel.rpartition("/")[2]
        below = self._names.marks_below(rel) if mark_of(own) & FIRST else {}
        in_package, repository = _PACKAGES in rel.split("/")[:-1], 0
        handle = self._opener(top.handle, os.fsencode(rel) or b".", LIST)
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    size += 1
                    name = entry.name
                    mark = mark_of(name)
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
        finally:
            os.close(handle)
        if repository == len(_REPOSITORY):
            hits.append(ProtectedHit(rel, BARE))
        return folders, hits, size

    def _counts(self, mark: int, is_folder: bool, entry: os.DirEntry[str], rel: str) -> bool:
        if mark & (WHOLE | GIT):
            return True
        if mark & FILE:
            return not is_folder
        return entry.is_symlink() and bool(self._names.rests(rel))
