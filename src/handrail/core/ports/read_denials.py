"""Paths whose content no call may read: policy says which, search and sandbox keep them away.

Only contents are withheld: the names of such files may be shown.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class PathGlob(NamedTuple):
    """One pattern: `names` are globs (`*`, `**`) below the directory `top`, compared without
    regard to case; what it finds is withheld with all that lies in it. A `floating` one has
    no top and is meant below every root. `origin` says who wrote it.
    """

    top: str
    names: tuple[str, ...]
    floating: bool
    origin: str


class ReadDenyPatterns(Protocol):
    """All such patterns, ready to be asked about absolute paths."""

    @property
    def globs(self) -> tuple[PathGlob, ...]:
        """The patterns."""

    @property
    def anchored(self) -> ReadDenyPatterns | None:
        """The same without the floating patterns, None if there are only such."""

    def hides(self, path: str) -> bool:
        """Whether the path is withheld, or lies in a directory that is."""

    def ends(self, name: str) -> bool:
        """Whether a path in a directory that is not withheld could be, by its last name."""

    def reaches(self, path: str) -> bool:
        """Whether something below a directory could be withheld."""


class HiddenPaths(NamedTuple):
    """The withheld paths that exist now, upper ones for all that is in them.

    `gap` says why hiding them would not keep everything away; None if it does. `complete` is
    False if some directories were not looked into, so that further withheld paths may exist.
    """

    paths: tuple[str, ...] = ()
    gap: str | None = None
    complete: bool = True
