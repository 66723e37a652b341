"""Finds conflicting footprints by key instead of comparing every pair.

A footprint leaves marks: on its keys, and for paths also on every folder above. Each kind of mark
conflicts with some kinds of marks on the same node. Two footprints conflict exactly if one has a
mark that the other conflicts with, so a footprint looks up a few marks, however many footprints
there are. `Footprint.conflicts_with` gives the same answer for two footprints.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.core.footprint import Access, Footprint, Touch

# Kinds of marks on a key: the key itself, everything beneath it, something beneath it.
_READ: Final = "r:"
_WRITE: Final = "w:"
_TREE_READ: Final = "R:"
_TREE_WRITE: Final = "W:"
_BELOW_READ: Final = "b:"
_BELOW_WRITE: Final = "B:"
# Kinds of marks of a footprint as a whole.
_EMPTY: Final = "empty"
_TOUCHING: Final = "touching"
_OPEN_ENDED: Final = "open-ended"
_ALONE: Final = "alone"

_CONFLICTS: Final[dict[str, tuple[str, ...]]] = {
    _READ: (_WRITE, _TREE_WRITE),
    _WRITE: (_READ, _WRITE, _TREE_READ, _TREE_WRITE),
    _TREE_READ: (_WRITE, _TREE_WRITE, _BELOW_WRITE),
    _TREE_WRITE: (_READ, _WRITE, _TREE_READ, _TREE_WRITE, _BELOW_READ, _BELOW_WRITE),
    _BELOW_READ: (_TREE_WRITE,),
    _BELOW_WRITE: (_TREE_READ, _TREE_WRITE),
    _EMPTY: (_ALONE,),
    _TOUCHING: (_OPEN_ENDED, _ALONE),
    _OPEN_ENDED: (_TOUCHING, _OPEN_ENDED, _ALONE),
    _ALONE: (_EMPTY, _TOUCHING, _OPEN_ENDED, _ALONE),
}


class Marks(NamedTuple):
    """The marks that a footprint leaves, and the marks of others that it conflicts with."""

    own: tuple[str, ...]
    conflicting: tuple[str, ...]


def find_marks(footprint: Footprint) -> Marks:
    """All marks of a footprint, each once."""
    kind = _whole_kind(footprint)
    if not footprint.touches:
        return Marks((kind,), _CONFLICTS[kind])
    found = [_touch_marks(touch) for touch in footprint.touches]
    own = [mark for marks in found for mark in marks.own]
    conflicting = [mark for marks in found for mark in marks.conflicting]
    if len(found) > 1:
        own, conflicting = list(dict.fromkeys(own)), list(dict.fromkeys(conflicting))
    return Marks((kind, *own), (*_CONFLICTS[kind], *conflicting))


class Waves:
    """Assigns waves to footprints that arrive one after the other."""

    def __init__(self) -> None:
        self._last: dict[str, int] = {}

    def add(self, footprint: Footprint) -> int:
        """Return the wave of the next footprint: one after the last conflicting one, or 0."""
        last, marks = self._last, find_marks(footprint)
        wave = 1 + max([last.get(mark, -1) for mark in marks.conflicting])
        for mark in marks.own:
            last[mark] = max(last.get(mark, 0), wave)
        return wave


def find_conflicts(footprints: Sequence[Footprint]) -> list[tuple[int, ...]]:
    """Return for each footprint the numbers of all earlier ones that conflict with it."""
    seen: dict[str, list[int]] = {}
    found: list[tuple[int, ...]] = []
    for number, footprint in enumerate(footprints):
        marks = find_marks(footprint)
        earlier: set[int] = set()
        for mark in marks.conflicting:
            earlier.update(seen.get(mark, ()))
        found.append(tuple(sorted(earlier)))
        for mark in marks.own:
            seen.setdefault(mark, []).append(number)
    return found


def _whole_kind(footprint: Footprint) -> str:
    if footprint.alone:
        return _ALONE
    if footprint.open_ended:
        return _OPEN_ENDED
    return _TOUCHING if footprint.touches else _EMPTY


# Cached, because the scheduler and the locks need the marks of the same touches.
@lru_cache(maxsize=1_024)
def _touch_marks(touch: Touch) -> Marks:
    writes = touch.access is Access.WRITE
    kind, _, path = touch.key.partition(":")
    own = _WRITE if writes else _READ
    if kind not in ("file", "tree"):
        return _node_marks(own, touch.key)
    if kind == "tree":
        path = path.rstrip("/")
        own = _TREE_WRITE if writes else _TREE_READ
    here = _node_marks(own, f"path:{path}")
    folder, slash, _ = path.rpartition("/")
    if not slash:
        return here
    above = _folder_marks(folder, writes)
    return Marks(here.own + above.own, here.conflicting + above.conflicting)


@lru_cache(maxsize=1_024)
def _folder_marks(path: str, writes: bool) -> Marks:
    """Return the marks on a folder and on all folders above it, for a key somewhere beneath."""
    kind = _BELOW_WRITE if writes else _BELOW_READ
    found = [_node_marks(kind, f"path:{path}")]
    while "/" in path:
        path = path.rpartition("/")[0]
        found.append(_node_marks(kind, f"path:{path}"))
    own = [mark for marks in found for mark in marks.own]
    return Marks(tuple(own), tuple([mark for marks in found for mark in marks.conflicting]))


def _node_marks(kind: str, node: str) -> Marks:
    return Marks((kind + node,), tuple([other + node for other in _CONFLICTS[kind]]))
