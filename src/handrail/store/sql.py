"""The interface of a connection that the SQL of the record needs: what SQLite's connection and the
one for PostgreSQL have in common.

Statements are written once, in SQLite's syntax; `postgres/dialect.py` translates them.
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
        """The number of rows that the statement changed."""

    def fetchone(self) -> Any:
        """Return the next row; None after the last."""

    def fetchall(self) -> list[Any]:
        """The remaining rows."""

    def __iter__(self) -> Iterator[Any]:
        """Yield the remaining rows one by one."""


class SqlConnection(Protocol):
    """A connection to a store."""

    def execute(self, sql: str, parameters: Sequence[Any] = ..., /) -> SqlCursor:
        """Run one statement."""

    def executemany(self, sql: str, parameters: Iterable[Sequence[Any]], /) -> object:
        """Run one statement for each of many parameters."""

    def close(self) -> None:
        """Close the connection."""


class RecordDatabase(Protocol):
    """A store that is open for writing. `location` is its name in messages, without a password."""

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
        """Run a write transaction: committed at the end of the block, rolled back if it fails."""

    def attempt(self, action: Callable[[], object], patience_s: float) -> None:
        """Run an action that may write in one transaction. If the connection is lost and the
        transaction was not committed, the action runs again, within the patience.
        """

    def settle(self, patience_s: float) -> bool:
        """Find out whether the last transaction was committed, if that is in doubt."""

    def erase_deleted(self) -> None:
        """From now on, overwrite deleted data, if the database supports that."""

    def shrink(self) -> bool:
        """Return unused space to the system; return whether deleted data is gone from the disk."""

    def size_bytes(self) -> int:
        """The bytes that the store takes on disk."""

    def close(self) -> None:
        """Close the store."""
