"""The items that may already be committed, after the connection was lost during a commit."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from handrail.store.sqlite.writer import WriteBatch


class DoubtfulBatch(NamedTuple):
    """The part of the next transaction that the last one may already have committed: a number of
    rows, and values.
    """

    rows: int
    state: dict[tuple[str, str], str]

    def leave_out(self, batch: WriteBatch) -> None:
        """Remove from the next transaction what was already committed."""
        del batch.entries[: self.rows]
        for key, value in self.state.items():
            if batch.state.get(key) == value:
                del batch.state[key]
