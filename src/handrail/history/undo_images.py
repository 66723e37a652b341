"""The old contents that stand inside the record, read once for each row however many files of
the row are asked for.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from typing import Any, Final

from handrail.core.records import Store
from handrail.history.past import Step

# Parts of an undo go through the rows in order, so few of them are needed at a time.
_ROWS_HELD: Final = 4

InlineContents = dict[tuple[str | int, ...], str]


class RecordedImages:
    """Described changes completed by their old content, for one undo."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._rows: OrderedDict[int, InlineContents] = OrderedDict()

    async def complete(self, steps: Iterable[Step]) -> dict[str, Mapping[str, Any]]:
        """The described change of each step by its path. Only an `inline` change has its old
        content in the row; the row of any other change is not read.
        """
        found: dict[str, Mapping[str, Any]] = {}
        for step in steps:
            if step.described.get("image") != "inline":
                found[step.path] = step.described
                continue
            contents = await self._contents(step.row)
            found[step.path] = {**step.described, "before": contents[step.where]}
        return found

    async def _contents(self, row: int) -> InlineContents:
        if row in self._rows:
            self._rows.move_to_end(row)
            return self._rows[row]
        contents = inline_contents(await self._store.payload(row))
        self._rows[row] = contents
        while len(self._rows) > _ROWS_HELD:
            self._rows.popitem(last=False)
        return contents


def inline_contents(payload: Mapping[str, Any]) -> InlineContents:
    """The old contents in the payload of a row, by where their described changes stand."""
    effects = payload.get("effects")
    lists: dict[tuple[str, ...], Any] = {("changes",): payload.get("changes")}
    if isinstance(effects, Mapping):
        for name in ("changes", "unattributed"):
            lists["effects", name] = effects.get(name)
    return {
        (*where, number): one["before"]
        for where, described in lists.items()
        for number, one in enumerate(described if isinstance(described, list) else ())
        if isinstance(one, Mapping) and one.get("image") == "inline"
    }
