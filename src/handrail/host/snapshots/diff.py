"""Updates the index of a tree with changed entries and collects the changes."""

from __future__ import annotations

import os
import stat

from handrail.core.ports.snapshots import EntryChange
from handrail.host.snapshots.entries import (
    FOLDER,
    TreeEntry,
    TreeIndex,
    file_state,
    folder_entry,
    kept_bytes,
)
from handrail.host.snapshots.entry_reader import EntryReader, SnapshotServices

TOO_MANY = "there are more files than are looked at"


class DiffCollector:
    """Updates the index of a root, entry by entry. `collects` False: changes are not collected.
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

    def meet_folder(self, rel: str, name: str, info: os.stat_result, *, quiet: bool) -> bool:
        """Update a directory; whether to enter it."""
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
    """Whether type, mode and content are equal."""
    if stat.S_IFMT(old.mode) != stat.S_IFMT(new.mode):
        return False
    unknown = stat.S_ISREG(old.mode) and "!" in (old.what[0], new.what[0])
    if unknown or old.signature == new.signature:
        return old.signature == new.signature and (unknown or old.what == new.what)
    return old.what == new.what and old.mode == new.mode
