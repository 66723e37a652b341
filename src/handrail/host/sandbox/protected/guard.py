"""Protected names around a command: what stood there before it is put back after it.

The sandbox binds what exists read-only where it can; this repairs the rest, on every backend.
Nothing that a command made is deleted: it goes to a quarantine in the state directory.
"""

from __future__ import annotations

import stat
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path

from handrail.core.protected_names import NameTable
from handrail.host.files.paths.root_identity import RootHandle
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
    """Looks at protected names before a command and repairs them after it.

    `directory` is a private place for copies and the quarantine; `hidden` are paths never
    looked into, of which it is one if it lies in a root. Blocking; one for all commands.
    """

    def __init__(self, table: NameTable, directory: Path, *, hidden: Sequence[str] = ()) -> None:
        self._directory = directory
        self._look = ProtectedObserver(table, directory, [*hidden, str(directory.resolve())])

    def take(
        self,
        tops: Sequence[RootHandle],
        *,
        lifted: Sequence[str] = (),
        git_writable: bool = False,
        sequences: bool = False,
        repositories: bool = False,
    ) -> ProtectedBaseline:
        """What stands at protected names now; `repair` or its `close` lets go of it.

        `lifted` are paths and globs beneath a root that a person allowed for this command.
        `git_writable`: it may write in `.git`, except where git finds programs or its way.
        `sequences`: it is a rebase, a cherry-pick or another command that may leave steps for
        git to continue with; such steps can be programs, so that no other command may.
        `repositories`: it is a `git init` or the like, which may make new ones.
        """
        allowed = CommandAllowances(AllowedPaths(lifted), git_writable, sequences, repositories)
        return self._look.before(tops, allowed)

    def repair(
        self, snapshot: ProtectedBaseline, *, held: Collection[str] = ()
    ) -> Sequence[RepairedEntry]:
        """Put back what is not as it was, and say what that was; lets go of the snapshot.

        `held` are those of `read_only_paths` that the sandbox kept read-only throughout: what
        changed inside them was not the command, and is left as it is.
        """
        try:
            return ProtectedRepair(self._look, snapshot, self._directory, held).run()
        finally:
            snapshot.close()


def read_only_paths(snapshot: ProtectedBaseline) -> tuple[str, ...]:
    """What to bind read-only for the command: absolute paths that exist and are no links."""
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
            # Something in it must stay writable: only the rest of it is bound.
            if allowed.lifted.reaches(rel) or (allowed.git_writable and rel in view.git):
                continue
        elif not stat.S_ISREG(mode):
            continue
        if view.pending.intersection(path_prefixes(rel)):
            continue
        if not bound.intersection(path_prefixes(rel)):
            bound.add(rel)
            yield rel
