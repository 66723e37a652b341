"""Opens a store by its location: a file with SQLite, a URL with PostgreSQL."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from handrail.core.names.store_location import is_store_url, normalize_location
from handrail.store.sqlite import connection as sqlite

if TYPE_CHECKING:
    from handrail.store.sql import RecordDatabase, SqlConnection


def open_database(location: str | Path, *, busy_timeout_s: float) -> RecordDatabase:
    """The store for writing, made or migrated if need be; raises `store_unavailable`."""
    place = normalize_location(location)
    if is_store_url(place):
        from handrail.store.postgres.database import PostgresDatabase

        return PostgresDatabase(place, busy_timeout_s=busy_timeout_s)
    return sqlite.Database(place, busy_timeout_s=busy_timeout_s)


def open_read_only(location: str | Path) -> SqlConnection:
    """A connection that cannot write and sees one state of the store; raises
    `store_unavailable`.
    """
    if is_store_url(location):
        from handrail.store.postgres.database import open_snapshot

        return open_snapshot(str(location))
    return sqlite.open_read_only(str(location))


def find_chain_break(path: str, size: int) -> str | None:
    """How the chain of a store of this size is broken; loaded only if the file looks different."""
    from handrail.store.chain.verify import find_break

    return find_break(path, size)


def measure_size(location: str, db: SqlConnection) -> int:
    """The bytes that a store takes on disk, asked on a connection to it."""
    if is_store_url(location):
        from handrail.store.postgres.database import measure_bytes

        return measure_bytes(db)
    return sqlite.file_bytes(location)
