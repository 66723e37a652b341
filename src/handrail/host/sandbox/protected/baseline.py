"""The state of protected names before a command, one value per root."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from handrail.host.files.root_identity import RootHandle
from handrail.host.sandbox.protected.images import FileImage
from handrail.host.sandbox.protected.listing import ProtectedHit
from handrail.host.sandbox.protected.name_table import CommandAllowances

What = Literal["changed", "created", "removed", "replaced", "unchecked"]


class RepairedEntry(NamedTuple):
    """One protected name that was changed, or a directory that could not be checked because the
    command created too many entries (`what` is "unchecked").

    `kept` is the path of the command's version in the quarantine, None if there was none.
    `restored` is False if the former state could not be restored completely.
    """

    path: str
    what: What
    kept: str | None
    restored: bool = True


class BaselineEntry(NamedTuple):
    """An entry before the command; `image` is None for anything but files and links."""

    info: os.stat_result
    image: FileImage | None


@dataclass(frozen=True, slots=True)
class RootBaseline:
    """The protected names of one root before a command, by path beneath the root."""

    top: RootHandle
    entries: Mapping[str, BaselineEntry]
    # Git's own directories.
    git: frozenset[str]
    # Steps that git has begun in them, which a command may finish.
    pending: frozenset[str]
    # Ordinary directories that lead to entries.
    ways: Mapping[str, os.stat_result]
    # Open handles of directories, to find them after a move and to keep their inode from reuse.
    held: Mapping[str, int]
    aliases: Sequence[ProtectedHit]
    # Paths that were not entered: hidden ones and other roots.
    skipped: frozenset[str]
    # Directories that were not listed.
    left: frozenset[str]
    # Names that hold more entries than were recorded.
    cut: frozenset[str]
    # The `HEAD` files of repositories in directories of any name.
    repositories: frozenset[str] = frozenset()

    def absolute(self, rel: str) -> str:
        """The absolute path."""
        return self.top.absolute(rel)

    def beneath(self, rel: str) -> Iterator[str]:
        """The entry and all entries below it, upper ones first."""
        inside = f"{rel}/"
        return (one for one in self.entries if one == rel or one.startswith(inside))


@dataclass(slots=True)
class ProtectedBaseline:
    """All roots before a command. `partial` are paths that could not be checked, `unchecked` those
    of them in roots that were checked completely before the command.
    """

    views: Sequence[RootBaseline]
    allowed: CommandAllowances
    partial: list[str]
    unchecked: dict[str, None] = field(default_factory=dict)
    _open: bool = True

    def leave(self, path: str) -> None:
        """Exclude a path from the repair: a tool was allowed to change it."""
        for view in self.views:
            if path.startswith(view.top.prefix):
                lifted = self.allowed.lifted.with_path(path.removeprefix(view.top.prefix))
                self.allowed = self.allowed._replace(lifted=lifted)

    def close(self) -> None:
        """Close the handles; may be called twice."""
        if not self._open:
            return
        self._open = False
        for view in self.views:
            for handle in view.held.values():
                with suppress(OSError):
                    os.close(handle)

    def __del__(self) -> None:
        self.close()


def path_prefixes(rel: str) -> list[str]:
    """The path and all directories above it, uppermost first: a, a/b, a/b/c."""
    parts = rel.split("/")
    return ["/".join(parts[: count + 1]) for count in range(len(parts))]
