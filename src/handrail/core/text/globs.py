"""Globs over the names of a path: `*` stays within one name, `**` crosses directories."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from typing import Final

_WILDCARDS: Final = frozenset("*?[")


def split_glob(glob: str) -> list[str]:
    """The names of a glob or path; slashes at its ends are ignored."""
    return glob.strip("/").split("/")


def literal_prefix(glob: str) -> str:
    """The absolute path before the first wildcard; everything that the glob matches is below it."""
    parts = split_glob(glob)
    fixed = next((n for n, part in enumerate(parts) if not _WILDCARDS.isdisjoint(part)), len(parts))
    return "/" + "/".join(parts[:fixed])


BraceGroup = tuple[int, int, list[str]]


def expand_groups(
    pattern: str, find_group: Callable[[str], BraceGroup | None], limit: int
) -> list[str] | None:
    """Expand the `{a,b}` groups of a pattern, from left to right; None if there are more than `limit`
    results. `find_group` returns the start, the end and the choices of one group, or None if there is no
    group left.
    """
    pending, expanded = [pattern], list[str]()
    while pending:
        current = pending.pop()
        group = find_group(current)
        if group is None:
            expanded.append(current)
        else:
            start, end, choices = group
            pending += [f"{current[:start]}{one}{current[end:]}" for one in reversed(choices)]
        if len(pending) + len(expanded) > limit:
            return None
    return expanded


def fits(parts: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether the glob matches the whole path; the time is proportional to the product of the lengths."""
    # Tracks all positions in the glob that can be reached: backtracking from every `**` would take
    # exponential time.
    places = _across(glob, {0})
    for part in parts:
        places = _across(glob, {place for one in places for place in _after(glob, one, part)})
    return len(glob) in places


def reaches(parts: Sequence[str], glob: Sequence[str]) -> bool:
    """Whether the glob could match something below the path."""
    if not parts:
        return bool(glob)
    if not glob:
        return False
    return glob[0] == "**" or (fnmatchcase(parts[0], glob[0]) and reaches(parts[1:], glob[1:]))


def _across(glob: Sequence[str], places: set[int]) -> set[int]:
    """The positions, and the positions after a `**` that matches nothing."""
    reached = set(places)
    for place in range(len(glob)):
        if place in reached and glob[place] == "**":
            reached.add(place + 1)
    return reached


def _after(glob: Sequence[str], place: int, part: str) -> tuple[int, ...]:
    if place == len(glob):
        return ()
    if glob[place] == "**":
        return (place,)
    return (place + 1,) if fnmatchcase(part, glob[place]) else ()
