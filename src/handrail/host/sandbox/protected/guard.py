"""Protected names around a command: recorded before it, restored after it.

The sandbox mounts existing names read-only where it can; this repairs the rest, on every backend.
What a command created is not deleted but moved to a quarantine in the state directory.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

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
from handrail.host.sandbox.protected.repair import ProtectedRepair


class ProtectedState:
    """Records protected names before a command and repairs them after it.

    `directory` is a private directory for copies and the quarantine; `hidden` are paths that are
    never entered. Blocking; one instance serves all commands.
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
        """Record the protected names; `repair` or the baseline's `close` releases it.

        `lifted` are paths and globs beneath a root that the user allowed for this command.
        `git_writable`: it may write in `.git`, except where git finds programs or configuration.
        `sequences`: it may leave steps for git to continue, such as a rebase; steps can be
        programs, so other commands may not. `repositories`: it may create repositories, such as
        `git init`.
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
    """Absolute paths to mount read-only for the command: existing, not links."""
    return tuple(
        dict.fromkeys(
            view.absolute(rel) for view in snapshot.views for rel in _bound(view, snapshot.allowed)
        )
    )


def _bound(view: RootBaseline, allowed: CommandAllowances) -> Iterator[str]:
    bound = set[str]()
    for rel, seen in view.entries.items():
        mode = seen.info.st_mode
        if stat.S_ISDIR(mode):
            # A part of it must stay writable, so only its other entries are mounted.
            if allowed.lifted.reaches(rel) or (allowed.git_writable and rel in view.git):
                continue
        elif not stat.S_ISREG(mode):
            continue
        if view.pending.intersection(path_prefixes(rel)):
            continue
        if not bound.intersection(path_prefixes(rel)):
            bound.add(rel)
            yield rel
