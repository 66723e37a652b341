"""What a search of contents leaves out: paths that no call may read.

An engine is told what to skip, which only saves time. What decides is asking again about every
path in its answer.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Final

from handrail.core.places import Place
from handrail.core.problems import ProblemRaised
from handrail.core.withheld import PathGlob, Withheld
from handrail.host.search.filters import PathFilter
from handrail.host.search.globs import literal
from handrail.host.search.roots import Root
from handrail.host.withheld import WithheldFinder

_MOST_HINTS: Final = 200
_UNLIKE: Final = frozenset("?[\\")


class LeftOut:
    """The withheld paths of a search."""

    def __init__(self, withheld: Withheld, finder: WithheldFinder) -> None:
        self._withheld = withheld
        self._finder = finder

    def check(self, place: Place) -> None:
        """Raise `denied` for a place that is withheld itself."""
        if self._withheld.hides(place.absolute):
            raise ProblemRaised(
                "denied",
                f"{place.path!r} is withheld by a rule",
                hint="leave it; only a person can change that",
                field="path",
            )

    def applied(self, allowed: PathFilter, root: Root) -> PathFilter:
        """The filter of a query, without what is withheld."""
        top = root.path.rstrip("/")
        hides = self._withheld.hides
        hints = list(_hints(self._withheld.globs, top))[:_MOST_HINTS]
        return allowed.without(hints, lambda rel: hides(f"{top}/{rel}"))

    def count(self, allowed: PathFilter, root: Root, place: Place) -> int:
        """How many withheld paths exist where the query looks, whatever they hold. Blocks."""
        top, start = root.path.rstrip("/"), f"{place.absolute.rstrip('/')}/"
        below = [path for path in self._finder.find().paths if path.startswith(start)]
        # What a withheld folder holds is nobody's business.
        return sum(1 for path in below if _folder(path) or allowed.wants(path[len(top) + 1 :]))


def _hints(globs: Sequence[PathGlob], root: str) -> Iterator[str]:
    """The patterns as ripgrep reads them; those that it might read wider are left out."""
    for glob in globs:
        names = list(glob.names)
        while names and names[-1] == "**":
            names.pop()
        if any(_UNLIKE.intersection(name) for name in names):
            continue
        beneath = "/".join(name if name == "**" else _quoted(name) for name in names)
        if glob.floating:
            yield beneath
        elif f"{glob.top}/".startswith(f"{root}/"):
            inside = literal(glob.top[len(root) :])
            yield f"{inside}/{beneath}".rstrip("/") or "/**"


def _folder(path: str) -> bool:
    return os.path.isdir(path)  # noqa: PTH112 - a path of the walk, in its own form


def _quoted(name: str) -> str:
    return "*".join(map(literal, name.split("*")))
