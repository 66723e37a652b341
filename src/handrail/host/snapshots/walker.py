"""Walks one root and updates its index: every directory by its own handle, following no link.

Only entries that differ from the index are read. The loop over directory entries runs for every
command: one stat and one comparison each.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Sequence
from typing import Final, NamedTuple

from handrail.core.ports.snapshots import EntryChange
from handrail.host.files.root_identity import RootHandle
from handrail.host.files.roots import LIST
from handrail.host.repository_files import history_mark
from handrail.host.snapshots.entries import (
    FOLDER,
    TreeEntry,
    TreeIndex,
    file_state,
    folder_entry,
    kept_bytes,
)
from handrail.host.snapshots.entry_reader import EntryReader, FoundEntry, SnapshotServices

TOO_MANY = "there are more files than are looked at"

_GIT: Final = ".git"
_ENTER: Final = LIST | os.O_NOFOLLOW
# One handle is open per level.
_DEEPEST: Final = 200
TOO_DEEP: Final = "it lies too deep"
CLOSED: Final = "it could not be entered"
# Large and reproducible directories: walked last, as far as the limits allow.
_LAST: Final = frozenset(
    {"node_modules", ".venv", "venv", "target", "build", "dist", ".tox", ".cache", "__pycache__"}
)


class _Level(NamedTuple):
    rel: str
    handle: int
    folders: list[str]
    quiet: bool


class IndexWalk:
    """Updates the index of a root; `found` has the changes. `seed` is an index to reuse."""

    def __init__(
        self,
        number: int,
        root: RootHandle,
        tree: TreeIndex,
        services: SnapshotServices,
        *,
        collects: bool,
        seed: TreeIndex | None = None,
    ) -> None:
        self.repositories: dict[str, tuple[int, ...]] = {}
        self._root = root
        self._tree = tree
        self._services = services
        # Directories with hidden entries.
        self._hiding = frozenset(path.rpartition("/")[0] or "/" for path in services.hidden)
        self._later: list[tuple[str, bool]] = []
        reader = EntryReader(services, seed, time.time_ns())
        self.found = DiffCollector(number, tree, services, reader, collects=collects)
        # Filled before a program; not changed afterwards.
        self._linked: dict[str, tuple[int, int]] | None = None if collects else {}
        if self._linked is not None:
            tree.linked = self._linked

    def whole(self) -> None:
        """Walk the whole root."""
        self._walk("", quiet=False)
        self._finish()

    def places(self, rels: Sequence[str]) -> None:
        """Walk these paths and everything below them."""
        for rel in rels:
            above, _, name = rel.rpartition("/")
            try:
                handle = self._open(above)
            except OSError:
                self.found.gone(above, name)
                continue
            try:
                self._place(above, handle, name)
            finally:
                os.close(handle)
        self._finish()

    def _place(self, above: str, handle: int, name: str) -> None:
        rel = child_path(above, name)
        if name == _GIT or self._hides(rel):
            return
        try:
            info = os.stat(name, dir_fd=handle, follow_symlinks=False)
        except OSError:
            self.found.gone(above, name)
            return
        if not stat.S_ISDIR(info.st_mode):
            if self._linked is not None and info.st_nlink > 1 and stat.S_ISREG(info.st_mode):
                self._linked[rel] = (info.st_dev, info.st_ino)
            self.found.meet(above, handle, name, info, quiet=False)
        elif self.found.meet_folder(above, name, info, quiet=False):
            self._walk(rel, quiet=False)

    def _finish(self) -> None:
        for rel, quiet in self._later:
            self._walk(rel, quiet=quiet)
        if self._tree.left != self.found.left:
            self._tree.left = self.found.left
            self._tree.dirty.add("")

    def _walk(self, rel: str, *, quiet: bool) -> None:
        last = not _LAST.isdisjoint(rel.split("/"))
        levels: list[_Level] = []
        try:
            self._enter(levels, self._open_or_leave(rel), rel, quiet=quiet)
            while levels:
                level = levels[-1]
                if not level.folders:
                    os.close(levels.pop().handle)
                    continue
                name = level.folders.pop()
                rel = child_path(level.rel, name)
                if name in _LAST and not last:
                    self._later.append((rel, level.quiet))
                elif len(levels) >= _DEEPEST:
                    self.found.left[rel] = TOO_DEEP
                else:
                    handle = self._open_or_leave(rel, level.handle, name)
                    self._enter(levels, handle, rel, quiet=level.quiet)
        finally:
            for level in levels:
                os.close(level.handle)

    def _enter(self, levels: list[_Level], handle: int | None, rel: str, *, quiet: bool) -> None:
        if handle is None:
            return
        # New entries cannot be distinguished from entries that were not indexed.
        quiet = quiet or rel in self._tree.left
        level = _Level(rel, handle, [], quiet)
        levels.append(level)
        level.folders.extend(self._visit(rel, handle, quiet=quiet))

    def _visit(self, rel: str, handle: int, *, quiet: bool) -> list[str]:
        """Compare one directory; return the directories in it."""
        listing = self._tree.listings.get(rel)
        if listing is None:
            if not self.found.room:
                self.found.pass_over(rel, quiet=quiet)
                return []
            listing = self._tree.listings[rel] = {}
            self._tree.dirty.add(rel)
        get, odd, met, most = listing.get, list[FoundEntry](), 0, len(listing)
        most += self.found.room
        linked = self._linked
        try:
            with os.scandir(handle) as entries:
                for entry in entries:
                    try:
                        info = entry.stat(follow_symlinks=False)
                    except OSError:
                        continue
                    if linked is not None and info.st_nlink > 1 and stat.S_ISREG(info.st_mode):
                        linked[child_path(rel, entry.name)] = (info.st_dev, info.st_ino)
                    old = get(entry.name)
                    if old is not None and old[0] == (
                        info.st_mtime_ns,
                        info.st_ctime_ns,
                        info.st_ino,
                        info.st_size,
                        info.st_mode,
                        info.st_dev,
                    ):
                        met += 1
                        continue
                    odd.append((entry.name, info))
                    if len(odd) > most:
                        break
        except OSError:
            self.found.left[rel] = CLOSED
            return []
        met += sum(1 for name, _ in odd if name in listing)
        if met < len(listing):
            self._drop_missing(rel, handle)
        return self._settle(rel, handle, odd, quiet=quiet)

    def _settle(self, rel: str, handle: int, odd: list[FoundEntry], *, quiet: bool) -> list[str]:
        folders = []
        hides = self._root.absolute(rel) in self._hiding
        for name, info in odd if hides else self.found.copy_new(rel, handle, odd):
            if name == _GIT:
                self._repository(child_path(rel, name), handle)
            elif hides and self._hides(child_path(rel, name)):
                continue
            elif not stat.S_ISDIR(info.st_mode):
                self.found.meet(rel, handle, name, info, quiet=quiet)
            elif self.found.meet_folder(rel, name, info, quiet=quiet):
                folders.append(name)
        return folders

    def _drop_missing(self, rel: str, handle: int) -> None:
        present = set(os.listdir(handle))
        for name in list(self._tree.listings.get(rel, ())):
            if name not in present:
                self.found.gone(rel, name)

    def _repository(self, rel: str, handle: int) -> None:
        mark = history_mark(handle, _GIT)
        if mark is not None:
            self.repositories[rel] = mark

    def _open(self, rel: str) -> int:
        return self._root.open_folder(rel)

    def _open_or_leave(self, rel: str, handle: int | None = None, name: str = "") -> int | None:
        try:
            return self._open(rel) if handle is None else os.open(name, _ENTER, dir_fd=handle)
        except OSError:
            # Unreadable, or replaced since it was listed.
            self.found.left[rel] = CLOSED
            return None

    def _hides(self, rel: str) -> bool:
        return self._root.absolute(rel) in self._services.hidden


class DiffCollector:
    """Updates the index of a root, entry by entry. If not `collects`, changes are not collected.
    `quiet`: new entries are not collected, because the directory was not indexed before.
    """

    def __init__(
        self,
        root: int,
        tree: TreeIndex,
        services: SnapshotServices,
        reader: EntryReader,
        *,
        collects: bool,
    ) -> None:
        self.deltas: list[EntryChange] = []
        self.left: dict[str, str] = {}
        self.unseen = 0
        self._root = root
        self._tree = tree
        self._usage = services.usage
        self._entries = services.entries
        self._reader = reader
        self._collects = collects

    @property
    def room(self) -> int:
        """How many more entries fit the limit."""
        return max(0, self._entries - self._usage.files)

    def meet(self, rel: str, handle: int, name: str, info: os.stat_result, *, quiet: bool) -> None:
        """Update an entry that is not a directory."""
        old = self._old(rel, name)
        if old is None and self._usage.files >= self._entries:
            self.pass_over(rel, quiet=quiet)
            return
        freed = kept_bytes(old) if old is not None else 0
        found = self._reader.read(rel, handle, name, info, freed)
        if found is None:
            self.gone(rel, name)
            return
        if old is not None and _same(old, found.entry):
            if old != found.entry:
                self._tree.put(rel, name, found.entry)
            return
        if old is not None and stat.S_ISDIR(old.mode):
            self._below_gone(child_path(rel, name))
        self._tree.put(rel, name, found.entry)
        if self._collects:
            self._collect(rel, name, old, found.entry, quiet=quiet, links=found.links)

    def copy_new(self, rel: str, handle: int, found: list[FoundEntry]) -> list[FoundEntry]:
        """Add the files of a directory of which nothing is indexed, if no changes are collected and
        all entries fit the limit; return the entries that remain.
        """
        listing = self._tree.listings.get(rel)
        if listing is None or listing or self._collects or len(found) > self.room:
            return found
        others = self._reader.copy_new(rel, handle, found, listing)
        if listing:
            self._tree.dirty.add(rel)
        return others

    def meet_folder(self, rel: str, name: str, info: os.stat_result, *, quiet: bool) -> bool:
        """Update a directory; return whether to enter it."""
        old = self._old(rel, name)
        if old is None and not self.room:
            self.pass_over(rel, quiet=quiet)
            return False
        entry = folder_entry(info.st_mode)
        if old != entry:
            self._tree.put(rel, name, entry)
            self._collect(rel, name, old, entry, quiet=quiet)
        return True

    def gone(self, rel: str, name: str) -> None:
        """Remove an entry that no longer exists."""
        old = self._old(rel, name)
        if old is None:
            return
        if old.what == FOLDER:
            self._below_gone(child_path(rel, name))
        self._tree.drop(rel, name)
        self._collect(rel, name, old, None, quiet=False)

    def pass_over(self, rel: str, *, quiet: bool) -> None:
        """Note that an entry of this directory exceeds the limit."""
        self.left[rel] = TOO_MANY
        if not quiet and self._collects:
            self.unseen += 1

    def _below_gone(self, rel: str) -> None:
        for name in list(self._tree.listings.get(rel, ())):
            self.gone(rel, name)
        self._tree.listings.pop(rel, None)
        self._tree.dirty.add(rel)

    def _old(self, rel: str, name: str) -> TreeEntry | None:
        listing = self._tree.listings.get(rel)
        return None if listing is None else listing.get(name)

    def _collect(
        self,
        rel: str,
        name: str,
        old: TreeEntry | None,
        new: TreeEntry | None,
        *,
        quiet: bool,
        links: int = 1,
    ) -> None:
        if not self._collects or (quiet and old is None):
            return
        names = 2 if child_path(rel, name) in self._tree.linked else 1
        before = file_state(old, names) if old is not None else None
        after = file_state(new, links) if new is not None else None
        self.deltas.append(EntryChange(self._root, child_path(rel, name), before, after))


def child_path(rel: str, name: str) -> str:
    """The path of an entry in a directory."""
    return f"{rel}/{name}" if rel else name


def _same(old: TreeEntry, new: TreeEntry) -> bool:
    """Return whether type, mode and content are equal."""
    if stat.S_IFMT(old.mode) != stat.S_IFMT(new.mode):
        return False
    unknown = stat.S_ISREG(old.mode) and "!" in (old.what[0], new.what[0])
    if unknown or old.signature == new.signature:
        return old.signature == new.signature and (unknown or old.what == new.what)
    return old.what == new.what and old.mode == new.mode
