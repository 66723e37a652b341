"""Keeps denied files out of content searches.

The search program gets patterns to skip, which only saves time. Two checks enforce the denial:
every path in the result is matched against the rules, and the inode of every file that is read is
compared with those of denied files.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from handrail.core.places import Kind, Place
from handrail.core.ports.read_denials import HiddenPaths, PathGlob, ReadDenyPatterns
from handrail.core.problems import ProblemRaised
from handrail.host.denials.denied_paths import DeniedInodes, DeniedPathFinder, InodeSet
from handrail.host.messages import READ_DENIED
from handrail.host.search.filters import PathFilter, literal
from handrail.host.search.search_roots import SearchRoot, open_beneath

_MOST_HINTS: Final = 200
_UNLIKE: Final = frozenset("?[\\")


class ReadDenyView(NamedTuple):
    """The number of denied paths in the searched directory, and the inodes of all denied files."""

    number: int
    inodes: InodeSet


class ReadDenyFilter:
    """The read denials of a search. Thread-safe."""

    def __init__(self, withheld: ReadDenyPatterns, finder: DeniedPathFinder) -> None:
        self._withheld = withheld
        self._finder = finder
        self._inodes = DeniedInodes(finder.paths)
        self._lock = threading.Lock()

    def check(self, place: Place) -> None:
        """Raise `denied` for a place that is denied itself."""
        if self._withheld.hides(place.absolute):
            raise _denied(place)

    def applied(self, allowed: PathFilter, root: SearchRoot) -> PathFilter:
        """Return the filter of a query with the denied paths excluded."""
        top = root.path.rstrip("/")
        hides = self._withheld.hides
        hints = list(_skip_globs(self._withheld.globs, top))[:_MOST_HINTS]
        return allowed.without(hints, lambda rel: hides(f"{top}/{rel}"))

    def view(self, allowed: PathFilter, root: SearchRoot, place: Place) -> ReadDenyView:
        """Return the denied paths that exist now. Raises `denied` for a file with a denied name."""
        hidden = self._finder.find()
        inodes = self._collect(hidden)
        if place.kind is Kind.FILE:
            _check_inode(root, place, inodes)
        top, start = root.path.rstrip("/"), f"{place.absolute.rstrip('/')}/"
        below = [path for path in hidden.paths if path.startswith(start)]
        # The content of a denied directory is not disclosed, not even as a number.
        wanted = (path for path in below if _is_folder(path) or allowed.wants(path[len(top) + 1 :]))
        return ReadDenyView(sum(1 for _ in wanted), inodes)

    def inodes(self) -> InodeSet:
        """Return the inodes of denied files now. Blocks."""
        return self._collect(self._finder.find())

    def _collect(self, hidden: HiddenPaths) -> InodeSet:
        with self._lock:
            return self._inodes.collect(hidden)


def _check_inode(root: SearchRoot, place: Place, inodes: InodeSet) -> None:
    handle = open_beneath(root, place.rel)
    if handle is None:
        return
    try:
        if inodes.covers(os.fstat(handle)):
            raise _denied(place)
    finally:
        os.close(handle)


def _denied(place: Place) -> ProblemRaised:
    return READ_DENIED.error(path=place.path, field="path")


def _skip_globs(globs: Sequence[PathGlob], root: str) -> Iterator[str]:
    """The patterns in ripgrep's syntax, without those that ripgrep could read more broadly."""
    for glob in globs:
        names = list(glob.names)
        while names and names[-1] == "**":
            names.pop()
        if any(_UNLIKE.intersection(name) for name in names):
            continue
        beneath = "/".join(name if name == "**" else _quote_literal(name) for name in names)
        if glob.floating:
            yield beneath
        elif f"{glob.top}/".startswith(f"{root}/"):
            inside = literal(glob.top[len(root) :])
            yield f"{inside}/{beneath}".rstrip("/") or "/**"


def _is_folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - a path of the walk, in its own form


def _quote_literal(name: str) -> str:
    return "*".join(map(literal, name.split("*")))
