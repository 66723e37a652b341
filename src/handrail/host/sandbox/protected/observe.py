"""Records protected names: before a command as a baseline, after it for comparison."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.names.protected_names import NameTable
from handrail.host.files.root_identity import RootHandle
from handrail.host.files.roots import LOOK_IN, READ, real_path
from handrail.host.sandbox.protected.baseline import (
    BaselineEntry,
    FileImage,
    ImageCache,
    ProtectedBaseline,
    RootBaseline,
    path_prefixes,
    unread,
)
from handrail.host.sandbox.protected.name_table import (
    BARE,
    FIRST,
    GIT,
    CommandAllowances,
    ProtectedNameTable,
)
from handrail.host.sandbox.protected.scan import (
    ListingResult,
    ProtectedHit,
    ProtectedListings,
    ProtectedScan,
)

_POINTER: Final = b"gitdir:"
_LONGEST: Final = 4096


class ProtectedAliases:
    """Finds other paths that have the effect of a protected name: the target of a link there, and
    the directory that a `.git` file points to. They are looked up before a command only, because a
    link that the command made must not turn ordinary files into protected ones.
    """

    def __init__(self, names: ProtectedNameTable, hidden: Sequence[str]) -> None:
        self._names = names
        self._hidden = hidden

    def find(
        self, hits: Mapping[RootHandle, Sequence[ProtectedHit]]
    ) -> dict[RootHandle, list[ProtectedHit]]:
        """Return the targets below the roots, by root."""
        found: dict[RootHandle, list[ProtectedHit]] = {top: [] for top in hits}
        for top, hit in ((top, hit) for top, some in hits.items() for hit in some):
            for path, mark in self._targets(top, hit):
                at = _owner(path, list(hits))
                # A link to a directory above itself would protect everything.
                if at is None or f"{top.path}/{hit.rel}".startswith(f"{path}/"):
                    continue
                if not any(f"{path}/".startswith(f"{place}/") for place in self._hidden):
                    found[at[0]].append(ProtectedHit(at[1], mark))
        return found

    def _targets(self, top: RootHandle, hit: ProtectedHit) -> Iterator[tuple[str, int]]:
        info = None if hit.mark & BARE else top.lstat_beneath(hit.rel)
        if info is None:
            return
        path = top.absolute(hit.rel)
        if stat.S_ISLNK(info.st_mode):
            target = real_path(path)
            if hit.mark & ~FIRST:
                yield target, hit.mark & ~FIRST
            for rest, mark in self._names.rests(hit.rel) if hit.mark & FIRST else ():
                yield f"{target}/{rest}", mark
        elif hit.mark & GIT and stat.S_ISREG(info.st_mode):
            pointed = self._read_pointer(top, hit.rel)
            if pointed is not None:
                yield real_path(f"{path.rpartition('/')[0]}/{pointed}"), GIT

    def _read_pointer(self, top: RootHandle, rel: str) -> str | None:
        with suppress(OSError):
            descriptor = top.open(rel, READ)
            try:
                text = os.read(descriptor, _LONGEST)
            finally:
                os.close(descriptor)
            if text.startswith(_POINTER):
                return os.fsdecode(text.removeprefix(_POINTER).strip().split(b"\n")[0])
        return None


def _owner(path: str, tops: Sequence[RootHandle]) -> tuple[RootHandle, str] | None:
    for top in sorted(tops, key=lambda one: -len(one.path)):
        if path.startswith(top.prefix):
            return top, path.removeprefix(top.prefix)
    return None


_MOST_HELD: Final = 64


class ProtectedObserver:
    """Records protected names, and caches what did not change."""

    def __init__(self, table: NameTable, directory: Path, hidden: Sequence[str]) -> None:
        self.images = ImageCache(directory)
        self._names = ProtectedNameTable(table)
        self._listings = ProtectedListings(self._names)
        self._aliases = ProtectedAliases(self._names, hidden)
        self._hidden = tuple(hidden)

    def before(self, tops: Sequence[RootHandle], allowed: CommandAllowances) -> ProtectedBaseline:
        """The baseline of all roots."""
        skipped = {top: self._skipped(top, tops) for top in tops}
        walked = {top: self._listings.walk(top, skipped[top], frozenset()) for top in tops}
        aliases = self._aliases.find({top: one.hits for top, one in walked.items()})
        views = [self._view(top, walked[top], aliases[top], skipped[top], allowed) for top in tops]
        self.images.keep_only(_images(views))
        return ProtectedBaseline(views, allowed, [gap for view in views for gap in _gaps(view)])

    def after(self, view: RootBaseline, snapshot: ProtectedBaseline) -> ProtectedScan:
        """The protected names of one root now."""
        walked = self._listings.walk(view.top, view.skipped, view.left)
        missed = [view.absolute(rel) for rel in sorted(walked.left - view.left)]
        snapshot.partial += missed
        if not view.left:
            snapshot.unchecked.update(dict.fromkeys(missed))
        return self._scan(view.top, [*walked.hits, *view.aliases], snapshot.allowed)

    def _view(
        self,
        top: RootHandle,
        walked: ListingResult,
        aliases: Sequence[ProtectedHit],
        skipped: frozenset[str],
        allowed: CommandAllowances,
    ) -> RootBaseline:
        scan = self._scan(top, [*walked.hits, *aliases], allowed)
        entries = {rel: self._baseline_entry(top, rel, info) for rel, info in scan.entries.items()}
        ways = self._stat_parents(top, entries) | scan.ways
        folders = [rel for rel in scan.tops if stat.S_ISDIR(scan.entries[rel].st_mode)]
        return RootBaseline(
            top=top,
            entries=entries,
            git=frozenset(scan.git),
            pending=frozenset(scan.pending),
            ways=ways,
            held=self._open_directories(top, [*folders, *ways]),
            aliases=aliases,
            skipped=skipped,
            left=walked.left,
            cut=frozenset(scan.cut),
            repositories=frozenset(scan.repositories),
        )

    def _scan(
        self, top: RootHandle, hits: Sequence[ProtectedHit], allowed: CommandAllowances
    ) -> ProtectedScan:
        return ProtectedScan(top, self._names, allowed).run(hits)

    def _baseline_entry(self, top: RootHandle, rel: str, info: os.stat_result) -> BaselineEntry:
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
            return BaselineEntry(info, None)
        known = self.images.recall(info)
        if known is not None:
            return BaselineEntry(info, known)
        try:
            with top.open_parent(rel) as (handle, name):
                return BaselineEntry(info, self.images.take(handle, name, info))
        except OSError:
            return BaselineEntry(info, unread(info))

    def _stat_parents(
        self, top: RootHandle, entries: Mapping[str, BaselineEntry]
    ) -> dict[str, os.stat_result]:
        ways = dict[str, os.stat_result]()
        for above in dict.fromkeys(way for rel in entries for way in path_prefixes(rel)[:-1]):
            info = None if above in entries else top.lstat_beneath(above)
            if info is not None:
                ways[above] = info
        return ways

    def _open_directories(self, top: RootHandle, folders: Sequence[str]) -> dict[str, int]:
        held = dict[str, int]()
        for rel in folders[:_MOST_HELD]:
            with suppress(OSError):
                held[rel] = top.open(rel, LOOK_IN)
        return held

    def _skipped(self, top: RootHandle, tops: Sequence[RootHandle]) -> frozenset[str]:
        """Return the paths beneath this root that are not entered: hidden ones and other roots."""
        prefix = top.prefix
        others = (*self._hidden, *(one.path for one in tops))
        return frozenset(path[len(prefix) :] for path in others if path.startswith(prefix))


def _images(views: Sequence[RootBaseline]) -> Iterator[FileImage]:
    for view in views:
        for seen in view.entries.values():
            if seen.image is not None:
                yield seen.image


def _gaps(view: RootBaseline) -> Iterator[str]:
    """Return the paths that were not recorded, or cannot be restored."""
    unheld = [rel for rel, seen in view.entries.items() if seen.image and not seen.image.held]
    return map(view.absolute, [*sorted(view.left), *sorted(view.cut), *unheld])
