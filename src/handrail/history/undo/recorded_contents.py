"""The old contents that stand inside the record, read once for each row however many files of
the row are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from handrail.core.places import Form
from handrail.core.ports.records import Store, Where
from handrail.history.undo.recorded_changes import FileChange

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
