"""What the SQL of the record needs of a connection: the part that SQLite's and our own for
PostgreSQL have in common.

Statements are written once, as SQLite reads them; `postgres/dialect.py` translates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from handrail.core.ports.records import Durability


class SqlCursor(Protocol):
    """The result of a statement."""

    @property
    def rowcount(self) -> int:
        """How many rows it changed."""

    def fetchone(self) -> Any:
        """The next row; None behind the last."""

    def fetchall(self) -> list[Any]:
        """The remaining rows."""

    def __iter__(self) -> Iterator[Any]:
        """The remaining rows one after the other."""


class SqlConnection(Protocol):
    """A connection to a store."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> SqlCursor:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each of many parameters."""

    def close(self) -> None:
        """Let go of the store."""


class RecordDatabase(Protocol):
    """A store that is open for writing. `location` is what messages name, without a password."""

    location: str
    busy_timeout_s: float

    @property
    def db(self) -> SqlConnection:
        """The connection, used by one thread at a time."""

    @property
    def in_doubt(self) -> bool:
        """Whether it is unknown if the last transaction was committed."""

    def writing(
        self, level: Durability, patience_s: float
    ) -> AbstractContextManager[SqlConnection]:
        """A write transaction, committed at the end; rolled back if anything fails."""

    def attempt(self, action: Callable[[], object], patience_s: float) -> None:
        """Run an action that may write in one transaction. If the connection is lost and the
        transaction was not committed, it is run again, for so long at most.
        """

    def settle(self, patience_s: float) -> bool:
        """Find out whether the last transaction was committed, if that is in doubt."""

    def erase_deleted(self) -> None:
        """From now on, overwrite what is deleted, where that can be asked for."""

    def shrink(self) -> bool:
        """Give back unused space; returns whether what was deleted is gone from the disk."""

    def size_bytes(self) -> int:
        """The bytes that the store takes on disk."""

    def close(self) -> None:
        """Let go of the store."""
