"""What may have been written already, after the connection was lost while it was committed."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from handrail.store.sqlite.writer import WriteBatch


class DoubtfulBatch(NamedTuple):
    """How much of the next transaction may have been committed by the last one already: so many
    rows, and these values.
    """

    rows: int
    state: dict[tuple[str, str], str]

    def leave_out(self, batch: WriteBatch) -> None:
        """Take out of the next transaction what was committed after all."""
        del batch.entries[: self.rows]
        for key, value in self.state.items():
            if batch.state.get(key) == value:
                del batch.state[key]
