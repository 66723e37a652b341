"""Snapshots of a set of roots around programs, with copies of contents.

Each runtime has a store of its own, so that no runtime removes copies that another one needs.
"""

from __future__ import annotations

import json
import os
import shutil
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from handrail.core.ports.machine import Blobs
from handrail.core.ports.snapshots import EntryChange, ObservedWrites, SnapshotLimits, TreeDiff
from handrail.host.files.root_identity import RootHandle
from handrail.host.files.roots import LOOK
from handrail.host.repository_files import describe_history_change
from handrail.host.snapshots.content_store import ContentStore
from handrail.host.snapshots.entries import StorageUsage, TreeIndex
from handrail.host.snapshots.entry_reader import SnapshotServices, find_other_names
from handrail.host.snapshots.store_dir import ManifestPosition, SnapshotStore, claim, claim_any
from handrail.host.snapshots.walker import IndexWalk
from handrail.host.state.identities import RuntimePresence

_MOST_BYTES: Final = 128 << 20


def create_write_log(directory: Path) -> str:
    """Return the path of a new write log; create its directory."""
    directory.mkdir(mode=0o700, parents=True, exist_ok=True)
    return str(directory / os.urandom(8).hex())


def read_write_log(path: str) -> ObservedWrites | None:
    """Read and remove a write log; return None if it was not written."""
    try:
        with Path(path).open("rb") as file:
            text = file.read(_MOST_BYTES)
            written_ns = os.fstat(file.fileno()).st_mtime_ns
    except OSError:
        return None
    with suppress(OSError):
        Path(path).unlink()
    return parse(text)._replace(written_ns=written_ns)


def parse(text: bytes) -> ObservedWrites:
    """Parse a write log; a truncated line is ignored."""
    files: dict[str, tuple[int, int] | None] = {}
    trees: dict[str, None] = {}
    blind = False
    for line in text.splitlines():
        try:
            said: Any = json.loads(line)
        except ValueError:
            break
        if said is None:
            blind = True
        elif len(said) == 1:
            trees[f"{said[0]}/"] = None
        else:
            files.setdefault(said[0], None if said[1] is None else (said[1][0], said[1][1]))
    return ObservedWrites(files, tuple(trees), blind=blind)


# The bytes that unreferenced copies may use before they are removed.
_MOST_STALE: Final = 64 << 20


@dataclass(slots=True, eq=False)
class PendingSnapshot:
    """A snapshot of some paths or of whole roots, to be compared later."""

    scopes: tuple[tuple[int, str], ...] | None
    trees: dict[str, TreeIndex]
    usage: StorageUsage
    # Maps repositories to the marks of their histories; None if not recorded yet.
    repositories: dict[str, tuple[int, ...]] | None = None
    position: ManifestPosition | None = None


class LocalSnapshots:
    """Implements `WorkspaceSnapshots`. `directory` is private and outside every root; it is
    removed on close if `temporary`. `presence` marks this runtime as open; without one, the
    snapshots mark it themselves.
    """

    def __init__(
        self,
        roots: Sequence[tuple[str, int]],
        directory: Path,
        *,
        limits: SnapshotLimits,
        hidden: Sequence[str] = (),
        temporary: bool = False,
        presence: RuntimePresence | None = None,
    ) -> None:
        self._tops = [RootHandle(path, handle) for path, handle in roots]
        self._limits = limits
        self._hidden = frozenset(hidden)
        self._home = directory
        self._temporary = temporary
        self._lock = threading.Lock()
        self._presence = presence or RuntimePresence(directory / "present")
        self._place: SnapshotStore | None = None
        # Stores of ended runtimes whose copies are still needed.
        self._gone: list[SnapshotStore] = []
        self._trees: dict[str, TreeIndex] = {}
        self._kept: list[PendingSnapshot] = []
        # Partial snapshots of ended runtimes that were compared.
        self._compared: list[tuple[SnapshotStore, ManifestPosition]] = []

    def capture(
        self,
        scopes: Sequence[tuple[int, str]] | None,
        progress: Callable[[int], None] | None = None,
    ) -> PendingSnapshot:
        """Take a snapshot of these paths, or of all roots if None, copying new contents. `progress`
        is called with the number of files copied so far. Raises OSError.
        """
        with self._lock:
            place = self._open()
            if scopes is not None:
                usage = StorageUsage()
                trees = {top.path: TreeIndex(usage) for top in self._tops}
                before = PendingSnapshot(tuple(self._widened(scopes)), trees, usage)
                self._compare(before, collects=False)
                before.position = None if self._temporary else place.manifest.save_apart(trees)
                return before
            before = PendingSnapshot(None, self._trees, self._usage)
            self._compare(before, collects=False, progress=progress)
            before.position = place.manifest.save(self._trees)
            self._tidy(place, _MOST_STALE)
            return before

    def diff(self, before: PendingSnapshot) -> TreeDiff:
        """Return what changed since the snapshot. Raises OSError."""
        with self._lock:
            place = self._open()
            changes = self._compare(before, collects=True)
            place.manifest.forget(before.position)
            if before in self._kept:
                self._kept.remove(before)
                if before.position is not None:
                    place.manifest.kept.remove(before.position)
            elif before.scopes is None:
                place.manifest.save(self._trees)
            elif self._trees:
                # Copies that were made for this snapshot alone.
                self._usage.stale += before.usage.size
            return changes

    def keep(self, before: PendingSnapshot) -> PendingSnapshot:
        """Keep this snapshot until `diff` has used it, even if newer ones are taken."""
        with self._lock:
            usage = StorageUsage()
            trees = {path: tree.copy(usage) for path, tree in before.trees.items()}
            kept = PendingSnapshot(
                before.scopes, trees, usage, before.repositories, before.position
            )
            self._kept.append(kept)
            if before.position is not None:
                self._open().manifest.kept.append(before.position)
            return kept

    def new_write_log(self) -> str:
        """Return the path of a new write log for the tracer."""
        with self._lock:
            return create_write_log(self._open().directory / "notes")

    def read_write_log(self, notes: str) -> ObservedWrites | None:
        """Return the content of a write log; None if there was no tracer."""
        return read_write_log(notes)

    def is_only_runtime(self) -> bool:
        """Return whether no other runtime is open on these roots."""
        return self._presence.is_only_runtime()

    def crash_reference(self, before: PendingSnapshot, notes: str) -> Mapping[str, Any]:
        """Return a reference by which a snapshot is found after a crash."""
        if before.position is None or self._place is None:
            return {}
        slot = self._place.directory.name
        found = {"slot": slot, "notes": Path(notes).name, **before.position._asdict()}
        return found if before.scopes is None else {**found, "scopes": before.scopes}

    def diff_since(
        self, reference: Mapping[str, Any]
    ) -> tuple[TreeDiff, ObservedWrites | None] | None:
        """Return what changed since a snapshot of an ended runtime, and which writes of its program
        were traced; None if the snapshot is lost. Raises OSError.
        """
        with self._lock:
            place = self._reopen(str(reference.get("slot", "")))
            if place is None:
                return None
            position = ManifestPosition(
                str(reference.get("name", "")), int(reference.get("length", 0))
            )
            trees = place.manifest.load_position(position)
            if trees is None or any(top.path not in trees for top in self._tops):
                return None
            usage, scopes = StorageUsage(), reference.get("scopes")
            found = {top.path: trees[top.path].count_in(usage) for top in self._tops}
            if scopes is not None:
                scopes = tuple((int(root), str(rel)) for root, rel in scopes)
                self._compared.append((place, position))
            elif place is self._place:
                self._trees = found
                place.manifest.restart()
            name = Path(str(reference.get("notes") or "none")).name
            noted = read_write_log(str(place.directory / "notes" / name))
            before = PendingSnapshot(scopes, found, usage)
            return self._compare(before, collects=True, contents=place.contents), noted

    def export_content(self, digest: str, size: int, blobs: Blobs) -> bool:
        """Add a copied content to `blobs`; return False if the copy is lost or there is no room."""
        with self._lock:
            places = (self._open(), *self._gone)
            return any(one.contents.export(digest, size, blobs) for one in places)

    def close(self) -> None:
        """Release the store; its copies stay for the next runtime, unless it is temporary."""
        with self._lock:
            self._presence.close()
            for place, position in self._compared:
                place.manifest.forget(position)
            if self._place is not None:
                # The next runtime has no record of these copies.
                self._tidy(self._place, 0)
            for place in (*self._gone, *([] if self._place is None else [self._place])):
                place.close()
            self._gone, self._compared, self._place, self._trees = [], [], None, {}
            if self._temporary:
                shutil.rmtree(self._home, ignore_errors=True)

    @property
    def _usage(self) -> StorageUsage:
        return self._trees[self._tops[0].path].usage

    def _compare(
        self,
        before: PendingSnapshot,
        *,
        collects: bool,
        contents: ContentStore | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> TreeDiff:
        kept = contents or self._open().contents
        services = SnapshotServices(kept, self._limits, self._hidden, before.usage, progress)
        deltas, unseen = list[EntryChange](), 0
        left, marks = dict[str, str](), dict[str, tuple[int, ...]]()
        for number, top in enumerate(self._tops):
            seed = None if before.trees is self._trees else self._trees.get(top.path)
            walk = IndexWalk(
                number, top, before.trees[top.path], services, collects=collects, seed=seed
            )
            rels = None if before.scopes is None else _within(before.scopes, number)
            if rels is None or "" in rels:
                walk.whole()
            else:
                walk.places(rels)
            deltas += walk.found.deltas
            unseen += walk.found.unseen
            left |= {top.absolute(rel): why for rel, why in walk.found.left.items()}
            marks |= {top.absolute(rel): mark for rel, mark in walk.repositories.items()}
        lost = kept.flush()
        if lost:
            for top in self._tops:
                before.trees[top.path].mark_lost(lost)
        known = marks if before.repositories is None else before.repositories
        before.repositories = marks
        moved = {
            path: describe_history_change(path, known.get(path))
            for path in marks
            if marks[path] != known.get(path)
        }
        trees = [before.trees[top.path] for top in self._tops]
        names = find_other_names(deltas, trees, self._tops, everywhere=before.scopes is not None)
        return TreeDiff(tuple(deltas), left, unseen, moved, names)

    def _widened(self, scopes: Sequence[tuple[int, str]]) -> list[tuple[int, str]]:
        """Replace paths in a missing directory by the topmost missing directory."""
        found = set()
        for root, rel in scopes:
            names = rel.split("/")
            for count in range(1, len(names) + 1):
                part = "/".join(names[:count])
                if count == len(names) or not self._there(root, part):
                    found.add((root, part))
                    break
        return [
            (root, rel)
            for root, rel in sorted(found)
            if found.isdisjoint((root, above) for above in _folders_above(rel))
        ]

    def _there(self, root: int, rel: str) -> bool:
        try:
            handle = self._tops[root].open(rel, LOOK)
        except OSError:
            return False
        os.close(handle)
        return True

    def _tidy(self, place: SnapshotStore, most_stale: int) -> None:
        if self._usage.stale > most_stale:
            trees = [
                *self._trees.values(),
                *(t for one in self._kept for t in one.trees.values()),
            ]
            needed = {digest for tree in trees for digest in tree.digests()}
            place.contents.sweep(needed | place.manifest.apart() | place.manifest.elsewhere)
            self._usage.stale = 0

    def _open(self) -> SnapshotStore:
        """Return the store of this runtime: the first free one."""
        place = self._place
        if place is None:
            place = claim_any(self._home)
            self._use(place)
        return place

    def _reopen(self, slot: str) -> SnapshotStore | None:
        """Return the store of an ended runtime; None if it is in use or missing."""
        known = [one for one in (self._place, *self._gone) if one is not None]
        found = next((one for one in known if one.directory.name == slot), None)
        if found is None and slot.isdigit() and (self._home / slot).is_dir():
            found = claim(self._home / slot)
            if found is not None and self._place is None:
                self._use(found)
            elif found is not None:
                self._gone.append(found)
        return found

    def _use(self, place: SnapshotStore) -> None:
        self._place = place
        self._trees = place.manifest.load([top.path for top in self._tops])


def _folders_above(rel: str) -> list[str]:
    found = []
    while "/" in rel:
        rel = rel.rpartition("/")[0]
        found.append(rel)
    return found


def _within(scopes: Sequence[tuple[int, str]], number: int) -> list[str]:
    return [rel for root, rel in scopes if root == number]
