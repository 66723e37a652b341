"""Old contents that are stored in rows of the record, and hard links between files that an undo
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

# How many of the restored names of one file are candidates that the others are linked to.
_MOST_TOGETHER: Final = 3

_Group = tuple[object, ...]

# The number of rows in memory; the parts of an undo use the rows in order, so few are sufficient.
_ROWS_HELD: Final = 4


class RecordedImages:
    """Adds the old contents to the described changes of one undo."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: OrderedDict[int, Mapping[Where, str]] = OrderedDict()

    async def complete(self, steps: Iterable[FileChange]) -> dict[str, Mapping[str, Any]]:
        """Path → the described change with its old content. Only an `inline` change has its old content
        in the row; the rows of other changes are not read.
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
    """Whether the old content of a change is in its row; a folder has no content."""
    described = step.described
    return described.get("image") == "inline" and described.get("before_form") != Form.FOLDER


class LinkPlan(NamedTuple):
    """The candidates that a restored file may be linked to, and a note if links are lost."""

    places: tuple[Place, ...] = ()
    note: str | None = None


class LinkGroups:
    """The files of one undo that were hard links of the same file."""

    def __init__(self, steps: Mapping[str, Sequence[FileChange]]) -> None:
        self._groups: dict[_Group, list[str]] = {}
        for path, found in steps.items():
            group = _group(found[-1].described)
            if group is not None:
                self._groups.setdefault(group, []).append(path)

    def plan(self, path: str, described: Mapping[str, Any], files: Files) -> LinkPlan:
        """How a restored file becomes a hard link of its other names again."""
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
    """The place of a path if it is still a name of the file; otherwise None."""
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
