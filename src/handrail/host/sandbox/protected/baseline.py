"""What stood at protected names before a command, as one value per root."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from handrail.host.files.paths.root_identity import RootHandle
from handrail.host.sandbox.protected.images import FileImage
from handrail.host.sandbox.protected.listing import ProtectedHit
from handrail.host.sandbox.protected.name_table import CommandAllowances

What = Literal["changed", "created", "removed", "replaced", "unchecked"]


class RepairedEntry(NamedTuple):
    """One protected name that was not what it had been, or a directory that could not be checked
    for such names because the command made too many (`what` is "unchecked").

    `kept` is where the command's version lies now, None if there was none. `restored` is
    False if what was there before could not be put back in full.
    """

    path: str
    what: What
    kept: str | None
    restored: bool = True


class BaselineEntry(NamedTuple):
    """An entry as it was; `image` is None for anything but files and links."""

    info: os.stat_result
    image: FileImage | None


@dataclass(frozen=True, slots=True)
class RootBaseline:
    """One root as it was.

    `git` are git's own directories, `pending` what git has begun in them and a command may end.
    `ways` are the ordinary directories that lead to entries. `held` are open handles of
    directories: they tell where a directory went, and keep its number from being used again.
    `cut` are tops that hold more than was looked at, `left` directories not looked into.
    `repositories` are the `HEAD` files of repositories that have no name of their own.
    """

    top: RootHandle
    entries: Mapping[str, BaselineEntry]
    git: frozenset[str]
    pending: frozenset[str]
    ways: Mapping[str, os.stat_result]
    held: Mapping[str, int]
    aliases: Sequence[ProtectedHit]
    skipped: frozenset[str]
    left: frozenset[str]
    cut: frozenset[str]
    repositories: frozenset[str] = frozenset()

    def absolute(self, rel: str) -> str:
        """The path as people know it."""
        return self.top.absolute(rel)

    def beneath(self, rel: str) -> Iterator[str]:
        """The entry itself and all entries in it, upper ones first."""
        inside = f"{rel}/"
        return (one for one in self.entries if one == rel or one.startswith(inside))


@dataclass(slots=True)
class ProtectedBaseline:
    """All roots as they were before a command. `partial` says what could not be looked at,
    `unchecked` what of it in roots that were looked at as a whole before the command.
    """

    views: Sequence[RootBaseline]
    allowed: CommandAllowances
    partial: list[str]
    unchecked: dict[str, None] = field(default_factory=dict)
    _open: bool = True

    def leave(self, path: str) -> None:
        """Leave what stands at an absolute path as it is: somebody was allowed to change it."""
        for view in self.views:
            if path.startswith(view.top.prefix):
                lifted = self.allowed.lifted.with_path(path.removeprefix(view.top.prefix))
                self.allowed = self.allowed._replace(lifted=lifted)

    def close(self) -> None:
        """Let go of the handles; safe to call twice."""
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
