"""Protects names from commands: lists the paths that a sandbox mounts read-only, and restores after
a command what was changed, in rounds, until nothing differs.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from handrail.core.names.protected_names import NameTable
from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected.baseline import (
    ProtectedBaseline,
    RepairedEntry,
    RootBaseline,
    path_prefixes,
)
from handrail.host.sandbox.protected.name_table import AllowedPaths, CommandAllowances
from handrail.host.sandbox.protected.observe import ProtectedObserver
from handrail.host.sandbox.protected.quarantine import Quarantine
from handrail.host.sandbox.protected.restore import EntryRestorer
from handrail.host.sandbox.protected.tampering import BaselineComparison, ProtectedChange

# Each round can reveal further changes, such as those in a directory that was unreadable before.
_ROUNDS: Final = 20
_MOST_UNCHECKED: Final = 10


class _RootRepair(NamedTuple):
    view: RootBaseline
    restore: EntryRestorer
    compare: BaselineComparison


class ProtectedRepair:
    """The repair after one command."""

    def __init__(
        self,
        observer: ProtectedObserver,
        snapshot: ProtectedBaseline,
        directory: Path,
        held: Collection[str],
    ) -> None:
        self._observer = observer
        self._snapshot = snapshot
        self._held = held
        self._repaired: dict[str, RepairedEntry] = {}
        self._quarantine = Quarantine(directory)
        tops = [view.top for view in snapshot.views]
        self._sides = [
            self._root_repair(view, EntryRestorer(view, tops, observer.images, self._quarantine))
            for view in snapshot.views
        ]

    def run(self) -> list[RepairedEntry]:
        """Restore everything that can be restored; return what had changed."""
        try:
            self._repair_in_rounds()
        finally:
            self._quarantine.close()
        unchecked = list(self._snapshot.unchecked)[:_MOST_UNCHECKED]
        return [
            *(_without_missing_copy(one) for one in self._repaired.values()),
            *(RepairedEntry(path, "unchecked", None, restored=False) for path in unchecked),
        ]

    def _repair_in_rounds(self) -> None:
        found, last = list(self._differences()), list[tuple[_RootRepair, ProtectedChange]]()
        for _ in range(_ROUNDS):
            if not found or found == last:
                break
            # Moved directories are moved back first; only then can new entries be distinguished
            # from moved ones.
            if not self._bring_all_back(found):
                for side, one in found:
                    self._repair_entry(side, one)
            found, last = list(self._differences()), found
        for side, one in found:
            self._record_repair(side, one, None, restored=False)

    def _root_repair(self, view: RootBaseline, restore: EntryRestorer) -> _RootRepair:
        prefix = view.top.prefix
        held = [path.removeprefix(prefix) for path in self._held if path.startswith(prefix)]
        allowed = self._snapshot.allowed
        return _RootRepair(
            view, restore, BaselineComparison(view, self._observer, allowed, held, restore)
        )

    def _differences(self) -> Iterator[tuple[_RootRepair, ProtectedChange]]:
        for side in self._sides:
            scan = self._observer.after(side.view, self._snapshot)
            for one in side.compare.differences(scan):
                yield side, one

    def _bring_all_back(self, found: Sequence[tuple[_RootRepair, ProtectedChange]]) -> bool:
        brought = [self._bring_back(side, one) for side, one in found]
        return any(brought)

    def _bring_back(self, side: _RootRepair, one: ProtectedChange) -> bool:
        if one.what not in ("removed", "replaced"):
            return False
        for rel in path_prefixes(one.rel):
            if rel not in side.view.held or not self._is_moved(side, rel, one.rel):
                continue
            try:
                kept = side.restore.bring_back(rel)
            except OSError:
                continue
            self._record_repair(side, one, kept)
            return True
        return False

    def _is_moved(self, side: _RootRepair, rel: str, wanted: str) -> bool:
        """Return whether a directory's path is missing or leads to something else."""
        info = side.view.top.lstat_beneath(rel)
        if info is None or not stat.S_ISDIR(info.st_mode):
            return True
        return rel == wanted and side.restore.moved_to(rel) not in (None, (side.view.top, rel))

    def _repair_entry(self, side: _RootRepair, one: ProtectedChange) -> None:
        try:
            if one.what == "created" or one.rel not in side.view.entries:
                self._record_repair(side, one, side.restore.take_away(one.rel))
            else:
                self._put_back(side, one)
        except OSError:
            self._record_repair(side, one, None, restored=False)

    def _put_back(self, side: _RootRepair, one: ProtectedChange) -> None:
        self._record_repair(side, one, side.restore.put_back(one.rel))
        if one.what == "changed":
            return
        for rel in side.view.beneath(one.rel):
            # These directories had more entries than the baseline contains.
            whole = rel not in side.view.git and rel not in side.view.cut
            try:
                if rel != one.rel:
                    side.restore.put_back(rel)
            except OSError:
                whole = False
            if not whole:
                self._record_repair(side, one, None, restored=False)

    def _record_repair(
        self, side: _RootRepair, one: ProtectedChange, kept: str | None, *, restored: bool = True
    ) -> None:
        path = side.view.absolute(one.rel)
        repaired = self._repaired.get(path)
        if repaired is not None:
            kept, restored = kept or repaired.kept, restored and repaired.restored
            one = one._replace(what=repaired.what)
        self._repaired[path] = RepairedEntry(path, one.what, kept, restored)


def _without_missing_copy(one: RepairedEntry) -> RepairedEntry:
    """Return the entry without its quarantine path if it was moved back from there."""
    return one if one.kept is None or os.path.lexists(one.kept) else one._replace(kept=None)


class ProtectedState:
    """Records protected names before a command and repairs them after it.

    `directory` is a private directory for copies and the quarantine; `hidden` are paths that are
    never entered. Methods block; one instance serves all commands.
    """

    def __init__(self, table: NameTable, directory: Path, *, hidden: Sequence[str] = ()) -> None:
        self._directory = directory
        self._observer = ProtectedObserver(table, directory, [*hidden, str(directory.resolve())])

    def take(
        self,
        tops: Sequence[RootHandle],
        *,
        lifted: Sequence[str] = (),
        git_writable: bool = False,
        sequences: bool = False,
        repositories: bool = False,
    ) -> ProtectedBaseline:
        """Record the protected names; `repair` or the baseline's `close` releases the baseline.

        `lifted` are paths and globs beneath a root that the user allowed for this command.
        `git_writable`: the command may write in `.git`, except where git finds programs or
        configuration. `sequences`: it may leave an operation for git to continue, such as a rebase;
        the steps can run programs, so other commands may not. `repositories`: it may create
        repositories, as `git init` does.
        """
        allowed = CommandAllowances(AllowedPaths(lifted), git_writable, sequences, repositories)
        return self._observer.before(tops, allowed)

    def repair(
        self, snapshot: ProtectedBaseline, *, held: Collection[str] = ()
    ) -> Sequence[RepairedEntry]:
        """Restore what differs from the baseline, and return it; releases the baseline.

        `held` are those of `read_only_paths` that the sandbox kept read-only: the command cannot
        have changed them, so changes inside them are left alone.
        """
        try:
            return ProtectedRepair(self._observer, snapshot, self._directory, held).run()
        finally:
            snapshot.close()


def read_only_paths(snapshot: ProtectedBaseline) -> tuple[str, ...]:
    """The absolute paths to mount read-only for the command: they exist and are not links."""
    return tuple(
        dict.fromkeys(
            view.absolute(rel)
            for view in snapshot.views
            for rel in _mount_paths(view, snapshot.allowed)
        )
    )


def _mount_paths(view: RootBaseline, allowed: CommandAllowances) -> Iterator[str]:
    bound = set[str]()
    for rel, seen in view.entries.items():
        mode = seen.info.st_mode
        if stat.S_ISDIR(mode):
            # A part of this directory must stay writable, so only its other entries are mounted.
            if allowed.lifted.reaches(rel) or (allowed.git_writable and rel in view.git):
                continue
        elif not stat.S_ISREG(mode):
            continue
        if view.pending.intersection(path_prefixes(rel)):
            continue
        if not bound.intersection(path_prefixes(rel)):
            bound.add(rel)
            yield rel
