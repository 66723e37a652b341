"""Opens a store by its location: a file with SQLite, a URL with PostgreSQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Final

from handrail.core.names.store_location import is_store_url, normalize_location
from handrail.store.sqlite import connection as sqlite
from handrail.store.sqlite.errors import explain_error, problem_error

if TYPE_CHECKING:
    from handrail.store.sql import RecordDatabase, SqlConnection

BUSY_TIMEOUT_S: Final = 5.0


def open_database(location: str | Path, *, busy_timeout_s: float) -> RecordDatabase:
    """Open the store for writing; create or migrate it if necessary. Raises `store_unavailable`."""
    place = normalize_location(location)
    if is_store_url(place):
        from handrail.store.postgres.database import PostgresDatabase

        return PostgresDatabase(place, busy_timeout_s=busy_timeout_s)
    return sqlite.Database(place, busy_timeout_s=busy_timeout_s)


@contextmanager
def maintained_database(
    location: str | Path, busy_timeout_s: float = BUSY_TIMEOUT_S
) -> Iterator[RecordDatabase]:
    """Open a store for one piece of maintenance, and close it. Raises `store_unavailable`, also for
    an error of SQLite in the block.
    """
    database = open_database(location, busy_timeout_s=busy_timeout_s)
    try:
        yield database
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, database.location)) from error
    finally:
        database.close()


def open_read_only(location: str | Path) -> SqlConnection:
    """Return a read-only connection to one state of the store; raises `store_unavailable`."""
    if is_store_url(location):
        from handrail.store.postgres.database import open_snapshot

        return open_snapshot(str(location))
    return sqlite.open_read_only(str(location))


def find_chain_break(path: str, size: int) -> str | None:
    """Return how the chain of a store of this size is broken; imports the check only when
    called.
    """
    from handrail.store.chain.verify import find_break

    return find_break(path, size)


def measure_size(location: str, db: SqlConnection) -> int:
    """Return the bytes that a store takes on disk, measured on a connection to it."""
    if is_store_url(location):
        from handrail.store.postgres.database import measure_bytes

        return measure_bytes(db)
    return sqlite.file_bytes(location)
