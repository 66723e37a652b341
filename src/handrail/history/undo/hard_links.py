"""Files that were names of one file (hard links), as an undo brings them back."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.places import Form, Place, shown
from handrail.core.ports.machine import Files
from handrail.core.problems import ProblemRaised
from handrail.history.undo.recorded_changes import FileChange

# Of the names that come back together, those that the others are linked to.
_MOST_TOGETHER: Final = 3

_Group = tuple[object, ...]


class LinkPlan(NamedTuple):
    """The places that a file may be linked to, and what to report if that is not all."""

    places: tuple[Place, ...] = ()
    note: str | None = None


class LinkGroups:
    """Which files of one undo were names of the same file."""

    def __init__(self, steps: Mapping[str, Sequence[FileChange]]) -> None:
        self._groups: dict[_Group, list[str]] = {}
        for path, found in steps.items():
            group = _group(found[-1].described)
            if group is not None:
                self._groups.setdefault(group, []).append(path)

    def plan(self, path: str, described: Mapping[str, Any], files: Files) -> LinkPlan:
        """How a file that comes back gets its other names again."""
        group = _group(described)
        if group is None:
            return LinkPlan()
        left = [place for one in described["link_left"] if (place := _still(one, group, files))]
        if left:
            return LinkPlan(tuple(left))
        together = self._groups.get(group, [])[:_MOST_TOGETHER]
        places = [_named(one, files) for one in together if one != path]
        found = tuple(place for place in places if place is not None)
        if found and not described["link_left"]:
            return LinkPlan(found)
        return LinkPlan(found, f"{shown(path)} had other names (hard links) that it is parted from")


def _group(described: Mapping[str, Any]) -> _Group | None:
    group = described.get("link_group")
    return tuple(group) if isinstance(group, list) else None


def _still(path: str, group: _Group, files: Files) -> Place | None:
    """The place of a name that is still the same file."""
    try:
        place, form, _, stat = files.named(path)
    except ProblemRaised:
        return None
    same = form is Form.FILE and stat is not None and (stat.device, stat.inode) == group
    return place if same else None


def _named(path: str, files: Files) -> Place | None:
    try:
        return files.named(path).place
    except ProblemRaised:
        return None
