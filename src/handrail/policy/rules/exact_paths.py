"""The paths that must stay as they are for a deny about writing to be kept."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from handrail.policy.rules.path_glob import ANY, part_of
from handrail.policy.rules.path_pattern import Grounds, WidePlace, wide_places

# They mean everything in the folder before them.
_ALL: Final = frozenset((ANY, "*"))


def closed_paths(pattern: str, grounds: Grounds) -> tuple[str, ...] | None:
    """The files and folders that a pattern means as a whole, one for each root. None if it
    means others too that nobody can name before they are made, or everything in a root.
    """
    found: dict[str, None] = {}
    for place in wide_places(pattern, grounds):
        path = _whole(place)
        if path is None or _holds_any(path, grounds.roots):
            return None
        found[path] = None
    return tuple(found) or None


def _whole(place: WidePlace) -> str | None:
    names = [name if name in _ALL else part_of(name, fold=False) for name in place.names]
    while names and names[-1] in _ALL:
        names.pop()
    plain = [name for name in names if isinstance(name, str) and name not in _ALL]
    if place.floating or len(plain) < len(names):
        return None
    return "/" + "/".join((*place.top, *plain))


def _holds_any(path: str, roots: Iterable[str]) -> bool:
    top = f"{path.rstrip('/')}/"
    return any(f"{root.rstrip('/')}/".startswith(top) for root in roots)
