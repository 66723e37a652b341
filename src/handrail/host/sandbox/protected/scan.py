"""Finds the entries at protected names, each by its own lstat.

Upper entries come before lower ones. No link is followed and no content is read.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

from handrail.core.names.protected_names import fold_name
from handrail.core.names.protected_table import REPOSITORY_ENTRIES
from handrail.host.files.root_identity import RootHandle, lstat_at
from handrail.host.sandbox.protected.name_table import (
    BARE,
    FILE,
    FIRST,
    GIT,
    WHOLE,
    CommandAllowances,
    ProtectedNameTable,
)
from handrail.host.snapshots.listing_cache import ListingCache

_MOST_DIRECTORIES: Final = 100_000
_MOST_LISTED: Final = 1_500_000
# Installed packages contain editor settings and the like, which have no effect there. A repository
# in them has an effect: git enters it from the surrounding repository and runs the programs that
# its configuration names.
_PACKAGES: Final = "node_modules"
_REPOSITORY: Final = frozenset(REPOSITORY_ENTRIES)

# Entries per name of the table, and in total.
_MOST_ENTRIES: Final = 10_000
_MOST_IN_ALL: Final = 200_000
_DEEPEST_GROUP: Final = 8

# The files that make git run a program or use other files. Objects, refs, index and logs are not
# among them, because a commit changes these.
_GIT_FILES: Final = ("config", "config.worktree", "commondir", "gitdir")
_GIT_TREES: Final = ("hooks", "remotes", "branches")
# These contain lines that `git rebase --continue` and the like execute. A commit may finish such an
# operation, but only certain commands may begin one.
_GIT_SEQUENCES: Final = ("rebase-merge", "rebase-apply", "sequencer", "BISECT_NAMES")
# Lock files are temporary; one that remains prevents git from writing.
_GIT_LOCKS: Final = ("config.lock", "config.worktree.lock")
_GIT_INSIDE: Final = {
    "info": ("attributes",),
    "objects": (),
    "objects/info": ("alternates", "http-alternates"),
}
_GIT_GROUPS: Final = ("modules", "worktrees")


class ProtectedScan:
    """The protected entries of one root."""

    def __init__(
        self,
        root: RootHandle,
        names: ProtectedNameTable,
        allowed: CommandAllowances,
    ) -> None:
        self.entries: dict[str, os.stat_result] = {}
        # Entries whose own name is protected.
        self.tops: list[str] = []
        # Directories of git that only contain entries.
        self.ways: dict[str, os.stat_result] = {}
        # Git's own directories.
        self.git: set[str] = set()
        # Operations that git has begun in them, which may be finished.
        self.pending: set[str] = set()
        # Names that contain more entries than were scanned.
        self.cut: set[str] = set()
        # The `HEAD` files of repositories in directories of any name.
        self.repositories: set[str] = set()
        self._most = _MOST_ENTRIES
        self._root = root
        self._names = names
        self._lifted = allowed.lifted
        self._git_writable = allowed.git_writable
        self._sequences = () if allowed.git_writable and allowed.sequences else _GIT_SEQUENCES

    def run(self, hits: Iterable[ProtectedHit]) -> ProtectedScan:
        """Scan these names and everything below them; return this object."""
        for hit in hits:
            if hit.rel in self.entries or self._lifted.covers(hit.rel):
                continue
            self._most = min(len(self.entries) + _MOST_ENTRIES, _MOST_IN_ALL)
            if hit.mark & BARE:
                self._bare(hit.rel)
            else:
                self._scan_hit(hit)
        return self

    def _scan_hit(self, hit: ProtectedHit) -> None:
        info = self._root.lstat_beneath(hit.rel)
        is_folder = info is not None and stat.S_ISDIR(info.st_mode)
        if info is None or (is_folder and not hit.mark & ~(FILE | FIRST)):
            return
        self.tops.append(hit.rel)
        self.entries[hit.rel] = info
        if not stat.S_ISDIR(info.st_mode):
            return
        if hit.mark & GIT:
            self._git(hit.rel)
        else:
            self._tree(hit.rel)
        if len(self.entries) > self._most:
            self.cut.add(hit.rel)

    def _tree(self, top: str) -> None:
        pending = [top]
        for rel in pending:
            if len(self.entries) > self._most:
                return
            for name, info in self._list_entries(rel):
                below = f"{rel}/{name}"
                if self._lifted.covers(below):
                    continue
                self.entries[below] = info
                if not stat.S_ISDIR(info.st_mode):
                    continue
                if self._names.mark(name) & GIT:
                    self._git(below)
                else:
                    pending.append(below)

    def _bare(self, rel: str) -> None:
        """Scan a repository in a directory of any name: its existence and the files that git
        executes are protected.
        """
        head = f"{rel}/HEAD".lstrip("/")
        if rel not in self.git and not self._lifted.covers(head):
            self.repositories.add(head)
            self._git(rel)

    def _git(self, rel: str) -> None:
        self.git.add(rel)
        above = f"{rel}/" if rel else ""
        for name in _GIT_FILES:
            self._record_entry(f"{above}{name}")
        for name in (*_GIT_TREES, *self._sequences, *_GIT_LOCKS):
            if self._record_entry(f"{above}{name}"):
                self._tree(f"{above}{name}")
        passing = self._sequences if self._git_writable else ()
        self.pending.update(f"{above}{name}" for name in (*passing, *_GIT_LOCKS))
        for way, names in _GIT_INSIDE.items():
            if self._is_plain_directory(f"{above}{way}"):
                for name in names:
                    self._record_entry(f"{above}{way}/{name}")
        for name in _GIT_GROUPS:
            if self._is_plain_directory(f"{above}{name}"):
                self._group(f"{above}{name}", 0)

    def _group(self, rel: str, depth: int) -> None:
        """Scan git directories below this one; a submodule's name may contain slashes."""
        for name, info in self._list_entries(rel):
            below = f"{rel}/{name}"
            if not stat.S_ISDIR(info.st_mode):
                if stat.S_ISLNK(info.st_mode):
                    self._record_entry(below)
            elif self._root.lstat_beneath(f"{below}/HEAD") is not None:
                self._git(below)
            elif depth < _DEEPEST_GROUP:
                self._group(below, depth + 1)

    def _is_plain_directory(self, rel: str) -> bool:
        """Whether the entry is a directory; any other entry of that name is protected itself."""
        info = self._root.lstat_beneath(rel)
        if info is None:
            return False
        if stat.S_ISDIR(info.st_mode):
            self.ways[rel] = info
            return True
        return self._record_entry(rel)

    def _record_entry(self, rel: str) -> bool:
        """Record an entry if it exists; return whether it is a directory."""
        info = self._root.lstat_beneath(rel)
        if info is None or self._lifted.covers(rel):
            return False
        self.entries[rel] = info
        return stat.S_ISDIR(info.st_mode)

    def _list_entries(self, rel: str) -> list[tuple[str, os.stat_result]]:
        try:
            handle = self._root.open_folder(rel)
        except OSError:
            return []
        try:
            return [
                (name, info)
                for name in sorted(os.listdir(handle))  # noqa: PTH208 - by handle
                if (info := lstat_at(handle, name)) is not None
            ]
        finally:
            os.close(handle)


class ProtectedHit(NamedTuple):
    """An entry with a protected name."""

    # Path beneath the root.
    rel: str
    # Bits of `name_table` that say why the name is protected.
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
        walk = cache.begin(max_folders=_MOST_DIRECTORIES, max_entries=_MOST_LISTED)
        hits, missed = list[ProtectedHit](), set(left)
        for visit in walk.walk(root, "", self._read, skipped | left, visit_last=_is_package):
            if visit.listing is not None:
                hits += visit.listing.hits
            elif visit.error is None:
                missed.add(visit.path)
            # A directory that was removed or cannot be opened counts as empty.
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
            if mark and self._is_protected(mark, is_folder, entry, above + name):
                hits.append(ProtectedHit(above + name, mark))
            elif is_folder:
                folders.append(above + name)
        if repository == len(_REPOSITORY):
            hits.append(ProtectedHit(rel, BARE))
        return _NameListing(tuple(folders), tuple(hits), size)

    def _is_protected(self, mark: int, is_folder: bool, entry: os.DirEntry[str], rel: str) -> bool:
        if mark & (WHOLE | GIT):
            return True
        if mark & FILE:
            return not is_folder
        return entry.is_symlink() and bool(self._names.rests(rel))


def _is_package(rel: str) -> bool:
    return _PACKAGES in rel.split("/")
