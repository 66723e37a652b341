"""Suggests names for a missing file.

Reads a few thousand names at most, and nothing outside the root.
"""

from __future__ import annotations

import difflib
import os
from collections import deque
from collections.abc import Iterator
from heapq import nlargest
from typing import Final, NamedTuple

from handrail.core.places import Place
from handrail.host.files.roots import LIST, Roots

_MOST: Final = 10
_LOOKED_AT: Final = 3000
_COMPARED: Final = 150
_STEMS_ALIKE: Final = 0.5
_BORING: Final = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__", "target"})


class _Name(NamedTuple):
    text: str
    is_directory: bool


def suggest_names(roots: Roots, place: Place) -> list[str]:
    """Return at most ten paths: similar names in the same directory, then equal names elsewhere."""
    parent, names, wanted = _deepest_directory(roots, place)
    # The thorough comparison is slow, so it is limited to names with equal ends.
    alike = nlargest(_COMPARED, names, lambda name: _shared_ends(name, wanted))
    close = [name for name in alike if _is_similar(name, wanted)]
    close = difflib.get_close_matches(wanted, close, _MOST, 0.6)
    folded = [name for name in names if name.casefold() == wanted.casefold()]
    near = [_join(parent, name) for name in [*folded, *close]]
    base = place.rel.rpartition("/")[2]
    found = dict.fromkeys([*near, *_same_name(roots, place.root, base)])
    return [_shown(roots, place.root, rel) for rel in found][:_MOST]


class _Neighbours(NamedTuple):
    parent: str
    names: list[str]
    wanted: str


def _deepest_directory(roots: Roots, place: Place) -> _Neighbours:
    """Return the deepest existing directory, its names, and the missing name."""
    parent, _, wanted = place.rel.rpartition("/")
    while True:
        names = _names(roots, place.root, parent)
        if names is not None:
            return _Neighbours(parent, [name.text for name in names], wanted)
        if not parent:
            return _Neighbours("", [], wanted)
        parent, _, wanted = parent.rpartition("/")


def _is_similar(name: str, wanted: str) -> bool:
    """Return whether more than the file extension is similar."""
    stem, dot, ending = wanted.rpartition(".")
    if not dot or not name.endswith(f".{ending}"):
        return True
    own = name[: -len(ending) - 1]
    return difflib.SequenceMatcher(None, own, stem).ratio() >= _STEMS_ALIKE


def _shared_ends(one: str, two: str) -> int:
    return sum(
        [one.startswith(two[:count]) + one.endswith(two[-count:]) for count in (1, 2, 4, 8, 16)]
    )


def _same_name(roots: Roots, root: int, base: str) -> Iterator[str]:
    looked_at = 0
    queue = deque([""])
    while queue and looked_at < _LOOKED_AT:
        parent = queue.popleft()
        for name in _names(roots, root, parent) or ():
            looked_at += 1
            if name.is_directory:
                if name.text not in _BORING:
                    queue.append(_join(parent, name.text))
            elif name.text == base:
                yield _join(parent, name.text)


def _names(roots: Roots, root: int, rel: str) -> list[_Name] | None:
    try:
        handle = roots.open_beneath(root, rel, LIST)
    except OSError:
        return None
    names: list[_Name] = []
    try:
        with os.scandir(handle) as entries:
            for entry in entries:
                if entry.name.isprintable():
                    names.append(_Name(entry.name, entry.is_dir(follow_symlinks=False)))
                if len(names) >= _LOOKED_AT:
                    break
    finally:
        os.close(handle)
    return names


def _join(parent: str, name: str) -> str:
    return f"{parent}/{name}" if parent else name


def _shown(roots: Roots, root: int, rel: str) -> str:
    return roots.absolute(root, rel) if root else rel
