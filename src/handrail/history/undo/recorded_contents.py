"""The old contents inside the record, read once per row, and hard links to files that an undo
restores.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.places import Form, Place, shown
from handrail.core.ports.machine import Files
from handrail.core.ports.records import Store, Where
from handrail.core.problems import ProblemRaised
from handrail.history.undo.recorded_changes import FileChange

# Of the names that come back together, those that the others are linked to.
_MOST_TOGETHER: Final = 3

_Group = tuple[object, ...]

# Parts of an undo go through the rows in order, so few of them are needed at a time.
_ROWS_HELD: Final = 4


class RecordedImages:
    """Described changes completed by their old content, for one undo."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: OrderedDict[int, Mapping[Where, str]] = OrderedDict()

    async def complete(self, steps: Iterable[FileChange]) -> dict[str, Mapping[str, Any]]:
        """The described change of each step by its path. Only an `inline` change has its old
        content in the row; the row of any other change is not read.
        """
        found: dict[str, Mapping[str, Any]] = {}
        for step in steps:
            if not is_content_in_row(step):
                found[step.path] = {**step.described, "before": ""}
                continue
            contents = await self._contents(step.row)
            found[step.path] = {**step.described, "before": contents[step.where]}
        return found

    async def _contents(self, row: int) -> Mapping[Where, str]:
        if row in self._rows:
            self._rows.move_to_end(row)
            return self._rows[row]
        contents = await self._store.old_contents(row)
        self._rows[row] = contents
        while len(self._rows) > _ROWS_HELD:
            self._rows.popitem(last=False)
        return contents


def is_content_in_row(step: FileChange) -> bool:
    """Whether the old content of a change stands in its row; a folder has none."""
    described = step.described
    return described.get("image") == "inline" and described.get("before_form") != Form.FOLDER


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
