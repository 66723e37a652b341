"""Paths whose content no call may read: the policy lists them, search and sandbox enforce them.

Only contents are hidden: the names of such files may be shown.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class PathGlob(NamedTuple):
    """One pattern: `names` are globs (`*`, `**`) below the directory `top`, compared without regard to
    case. It hides the paths that match, and everything below them. A `floating` pattern has no `top` and
    applies below every root. `origin` says where the pattern comes from.
    """

    top: str
    names: tuple[str, ...]
    floating: bool
    origin: str


class ReadDenyPatterns(Protocol):
    """The patterns of a session, compiled for questions about absolute paths."""

    @property
    def globs(self) -> tuple[PathGlob, ...]:
        """The patterns."""

    @property
    def anchored(self) -> ReadDenyPatterns | None:
        """The patterns that are not floating; None if all are floating."""

    def hides(self, path: str) -> bool:
        """Whether the path, or a directory above it, is hidden."""

    def ends(self, name: str) -> bool:
        """Whether a path with this last name could be hidden although its directory is not."""

    def reaches(self, path: str) -> bool:
        """Whether a path below a directory could be hidden."""


class HiddenPaths(NamedTuple):
    """The hidden paths that exist; a directory stands for everything in it.

    `gap` says why hiding these paths does not hide all denied contents; None if it does. `complete` is
    False if some directories were not searched, so that further hidden paths may exist.
    """

    paths: tuple[str, ...] = ()
    gap: str | None = None
    complete: bool = True
