"""Compares protected names with their baseline."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from typing import NamedTuple

from handrail.host.sandbox.protected.baseline import (
    BaselineEntry,
    RootBaseline,
    What,
    path_prefixes,
)
from handrail.host.sandbox.protected.name_table import CommandAllowances
from handrail.host.sandbox.protected.observe import ProtectedObserver
from handrail.host.sandbox.protected.restore import EntryRestorer
from handrail.host.sandbox.protected.scan import ProtectedScan


class ProtectedChange(NamedTuple):
    """A changed entry; for a whole directory only the directory itself."""

    rel: str
    what: What


class BaselineComparison:
    """Compares one root with its baseline."""

    def __init__(
        self,
        view: RootBaseline,
        observer: ProtectedObserver,
        allowed: CommandAllowances,
        held: Sequence[str],
        restore: EntryRestorer,
    ) -> None:
        self._view = view
        self._images = observer.images
        self._lifted = allowed.lifted
        self._repositories = allowed.repositories
        self._held = held
        self._restore = restore
        self._read_only: frozenset[str] = frozenset()
        # Entries treated as if they had never existed: see `taken_by_others`.
        self._taken: AbstractSet[str] = frozenset()

    def differences(self, scan: ProtectedScan) -> list[ProtectedChange]:
        """All changes, upper entries before lower ones."""
        self._taken = self._restore.taken_by_others()
        self._read_only = frozenset(filter(self._is_in_place, self._held))
        return [*_uppermost(self._removed_or_changed(scan)), *_uppermost(self._created(scan))]

    def _is_in_place(self, rel: str) -> bool:
        """Return whether a read-only path was not moved together with a directory above it."""
        if _is_inside(rel, self._taken):
            return False
        for above in path_prefixes(rel)[:-1]:
            seen = self._view.ways.get(above)
            now = self._view.top.lstat_beneath(above)
            if seen is not None and (now is None or not os.path.samestat(seen, now)):
                return False
        return True

    def _removed_or_changed(self, scan: ProtectedScan) -> Iterator[ProtectedChange]:
        for rel, seen in self._view.entries.items():
            if self._lifted.covers(rel) or _is_inside(rel, self._taken):
                continue
            # The scan may have reached a limit before this entry.
            now = scan.entries.get(rel) or self._view.top.lstat_beneath(rel)
            what = self._difference(rel, seen, now)
            if what == "removed" and _is_inside(rel, self._view.pending):
                continue
            if what is not None and not self._is_impossible(rel, seen.info, what):
                yield ProtectedChange(rel, what)

    def _new_repositories(self, scan: ProtectedScan) -> AbstractSet[str]:
        """Return the repositories that the command was allowed to create, none in an older one."""
        if not self._repositories:
            return frozenset()
        old = self._view.git
        return {rel for rel in scan.git - old if "" not in old and not _is_inside(rel, old)}

    def _created(self, scan: ProtectedScan) -> Iterator[ProtectedChange]:
        made = self._new_repositories(scan)
        ignored = self._view.cut | self._read_only | made
        for rel, info in scan.entries.items():
            known = rel in self._view.entries and not _is_inside(rel, self._taken)
            if known or _is_inside(rel, ignored):
                continue
            if rel in self._view.ways:
                yield ProtectedChange(rel, "replaced")
            elif not (stat.S_ISDIR(info.st_mode) and self._lifted.reaches(rel)):
                yield ProtectedChange(rel, "created")
        for rel in sorted(scan.repositories - self._view.repositories):
            if not self._lifted.covers(rel) and not _is_inside(rel, made):
                yield ProtectedChange(rel, "created")

    def _is_impossible(self, rel: str, info: os.stat_result, what: What) -> bool:
        """Return whether the sandbox made this change impossible; hard links have other names."""
        by_another = what == "changed" and stat.S_ISREG(info.st_mode) and info.st_nlink > 1
        return not by_another and _is_inside(rel, self._read_only)

    def _difference(self, rel: str, seen: BaselineEntry, now: os.stat_result | None) -> What | None:
        if stat.S_ISDIR(seen.info.st_mode) and self._lifted.reaches(rel):
            return None
        if now is None:
            return "removed"
        if stat.S_IFMT(now.st_mode) != stat.S_IFMT(seen.info.st_mode):
            return "replaced"
        if seen.image is None:
            if not os.path.samestat(now, seen.info) and self._restore.moved_to(rel):
                return "replaced"
            return None if _attributes(now) == _attributes(seen.info) else "changed"
        return None if self._is_unchanged(rel, seen, now) else "changed"

    def _is_unchanged(self, rel: str, seen: BaselineEntry, now: os.stat_result) -> bool:
        # With a new hard link the file could be changed by another name.
        if _attributes(now) != _attributes(seen.info) or now.st_nlink > seen.info.st_nlink:
            return False
        image = seen.image
        if image is None or image.proves(now):
            return True
        try:
            with self._view.top.open_parent(rel) as (handle, name):
                return self._images.same(image, handle, name, now)
        except OSError:
            return False


def _attributes(info: os.stat_result) -> tuple[int, int, int, int]:
    return (info.st_mode, info.st_uid, info.st_gid, info.st_rdev)


def _uppermost(found: Iterator[ProtectedChange]) -> Iterator[ProtectedChange]:
    """Leave out entries below a directory that was removed, created, replaced or made
    unreadable.
    """
    whole, closed = set[str](), set[str]()
    for one in found:
        if _is_inside(one.rel, whole) or (one.what == "removed" and _is_inside(one.rel, closed)):
            continue
        (closed if one.what == "changed" else whole).add(one.rel)
        yield one


def _is_inside(rel: str, folders: AbstractSet[str]) -> bool:
    if not folders:
        return False
    above = rel
    while above:
        if above in folders:
            return True
        above = above.rpartition("/")[0]
    return False
