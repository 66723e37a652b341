"""Looking at protected names: before a command for a snapshot, after it for a comparison."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from handrail.core.protected_names import NameTable
from handrail.host.files.paths.openat2 import LOOK_IN, choose_opener
from handrail.host.sandbox.protected.aliases import Aliases
from handrail.host.sandbox.protected.baseline import Seen, Snapshot, View, chain
from handrail.host.sandbox.protected.images import Image, Images, unread
from handrail.host.sandbox.protected.listing import Hit, Listings, Top, Walked
from handrail.host.sandbox.protected.name_table import Allowed, Names
from handrail.host.sandbox.protected.scan import Scan, lstat_beneath

_MOST_HELD: Final = 64


class Look:
    """Sees what stands at protected names, and remembers what need not be looked at again."""

    def __init__(self, table: NameTable, directory: Path, hidden: Sequence[str]) -> None:
        self.opener = choose_opener()
        self.images = Images(directory)
        self._names = Names(table)
        self._listings = Listings(self._names, self.opener)
        self._aliases = Aliases(self._names, self.opener, hidden)
        self._hidden = tuple(hidden)

    def before(self, tops: Sequence[Top], allowed: Allowed) -> Snapshot:
        """Everything that is to be found again after the command."""
        skipped = {top: self._skipped(top, tops) for top in tops}
        walked = {top: self._listings.walk(top, skipped[top], frozenset()) for top in tops}
        aliases = self._aliases.find({top: one.hits for top, one in walked.items()})
        views = [self._view(top, walked[top], aliases[top], skipped[top], allowed) for top in tops]
        self.images.keep_only(_images(views))
        return Snapshot(views, allowed, [gap for view in views for gap in _gaps(view)])

    def after(self, view: View, snapshot: Snapshot) -> Scan:
        """What stands at the names of one root now."""
        walked = self._listings.walk(view.top, view.skipped, view.left)
        snapshot.partial += map(view.absolute, sorted(walked.left - view.left))
        return self._scan(view.top, [*walked.hits, *view.aliases], snapshot.allowed)

    def _view(
        self,
        top: Top,
        walked: Walked,
        aliases: Sequence[Hit],
        skipped: frozenset[str],
        allowed: Allowed,
    ) -> View:
        scan = self._scan(top, [*walked.hits, *aliases], allowed)
        entries = {rel: self._seen(top, rel, info) for rel, info in scan.entries.items()}
        ways = self._ways(top, entries) | scan.ways
        folders = [rel for rel in scan.tops if stat.S_ISDIR(scan.entries[rel].st_mode)]
        return View(
            top=top,
            entries=entries,
            git=frozenset(scan.git),
            pending=frozenset(scan.pending),
            ways=ways,
            held=self._hold(top, [*folders, *ways]),
            aliases=aliases,
            skipped=skipped,
            left=walked.left,
            cut=frozenset(scan.cut),
            repositories=frozenset(scan.repositories),
        )

    def _scan(self, top: Top, hits: Sequence[Hit], allowed: Allowed) -> Scan:
        return Scan(top, self._names, self.opener, allowed).run(hits)

    def _seen(self, top: Top, rel: str, info: os.stat_result) -> Seen:
        if not (stat.S_ISREG(info.st_mode) or stat.S_ISLNK(info.st_mode)):
            return Seen(info, None)
        known = self.images.recall(info)
        if known is not None:
            return Seen(info, known)
        above, _, name = rel.rpartition("/")
        try:
            handle = self.opener(top.handle, os.fsencode(above) or b".", LOOK_IN)
        except OSError:
            return Seen(info, unread(info))
        try:
            return Seen(info, self.images.take(handle, name, info))
        finally:
            os.close(handle)

    def _ways(self, top: Top, entries: Mapping[str, Seen]) -> dict[str, os.stat_result]:
        ways = dict[str, os.stat_result]()
        for above in dict.fromkeys(way for rel in entries for way in chain(rel)[:-1]):
            info = None if above in entries else lstat_beneath(self.opener, top, above)
            if info is not None:
                ways[above] = info
        return ways

    def _hold(self, top: Top, folders: Sequence[str]) -> dict[str, int]:
        held = dict[str, int]()
        for rel in folders[:_MOST_HELD]:
            with suppress(OSError):
                held[rel] = self.opener(top.handle, os.fsencode(rel), LOOK_IN)
        return held

    def _skipped(self, top: Top, tops: Sequence[Top]) -> frozenset[str]:
        """What another root or nobody looks into, as paths beneath this root."""
        prefix = f"{top.path.rstrip('/')}/"
        others = (*self._hidden, *(one.path for one in tops))
        return frozenset(path[len(prefix) :] for path in others if path.startswith(prefix))


def _images(views: Sequence[View]) -> Iterator[Image]:
    for view in views:
        for seen in view.entries.values():
            if seen.image is not None:
                yield seen.image


def _gaps(view: View) -> Iterator[str]:
    """What could not be looked at, or could not be put back."""
    unheld = [rel for rel, seen in view.entries.items() if seen.image and not seen.image.held]
    return map(view.absolute, [*sorted(view.left), *sorted(view.cut), *unheld])
