"""Copies a record from one store to another, of either engine, verified by its chain."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from handrail.core.names.store_location import (
    MEMORY,
    is_store_url,
    normalize_location,
    shown_location,
)
from handrail.core.ports.records import Integrity
from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import check_integrity
from handrail.store.opening import BUSY_TIMEOUT_S, maintained_database, open_read_only
from handrail.store.schema.migrations import latest_version
from handrail.store.sql import SqlConnection
from handrail.store.sqlite.errors import explain_error, problem_error

# The tables with their keys and columns; rows are read in the order of the key.
_TABLES: Final = {
    "ledger": (
        "id",
        "id, session, kind, at_ns, rows, head, info, prev_hash, hash, after_row, owner",
    ),
    "sessions": ("id", "id, ordinal, opened_ns, closed_ns"),
    "rows": (
        "id",
        "id, session, seq, kind, call_id, turn, at_ns, payload_hash, prev_hash, hash",
    ),
    "payloads": ("row", "row, body"),
    "session_state": ("session, key", "session, key, value"),
    "claims": ("session, call_id", "session, call_id, fingerprint, owner, at_ns"),
    "leases": ("fence", "fence, token, owner, glob, until_ns, process"),
    "dead_letters": (
        "id",
        "id, session, call_id, workspace, agent, operation, arguments, redacted, error, state,"
        " attempts, owner, created_ns, changed_ns",
    ),
    "contents": ("id", "id, hash, body"),
    "content_uses": ("row", "row, content"),
}
# Counters whose numbers are never assigned twice, even if their rows were deleted.
_COUNTERS: Final = {"leases": "fence", "dead_letters": "id", "contents": "id"}
_PAGE: Final = 500


def copy_store(source: str | Path, target: str | Path) -> Integrity:
    """Copy the record of one store into an empty one, in one transaction.

    The chain of the source is checked first, that of the copy before it is committed, and both must
    have the same head. Raises `store_unavailable` if the source is broken or of an older version,
    or if one of them cannot be used, `conflict` if the target contains a record, and
    `invalid_arguments` if it is in memory.
    """
    if target == MEMORY:
        raise ProblemRaised(
            "invalid_arguments", "a copy in memory would be lost", hint="name a file or a database"
        )
    reader = open_read_only(source)
    try:
        found = check_integrity(reader, None)
        _check_source(reader, found, shown_location(normalize_location(source)))
        with (
            maintained_database(target) as database,
            database.writing("power", BUSY_TIMEOUT_S) as writer,
        ):
            _check_empty(writer, database.location)
            _copy_tables(reader, writer)
            _copy_counters(reader, writer, is_store_url(source), is_store_url(target))
            copied = check_integrity(writer, found.head)
            if copied._replace(anchored=None) != found:
                raise _not_equal(database.location, copied.broken)
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, shown_location(str(target)))) from error
    finally:
        reader.close()
    return copied


def _copy_tables(reader: SqlConnection, writer: SqlConnection) -> None:
    writer.execute("DELETE FROM chain_end")
    end = reader.execute("SELECT one, rows, line, hash FROM chain_end").fetchone()
    writer.execute("INSERT INTO chain_end (one, rows, line, hash) VALUES (?, ?, ?, ?)", end)
    for table, (key, columns) in _TABLES.items():
        marks = ", ".join("?" * (columns.count(",") + 1))
        insert = f"INSERT INTO {table} ({columns}) VALUES ({marks})"  # noqa: S608 - our tables
        for page in _read_pages(reader, table, key, columns):
            writer.executemany(insert, page)


def _read_pages(
    reader: SqlConnection, table: str, key: str, columns: str
) -> Iterator[list[tuple[Any, ...]]]:
    width = key.count(",") + 1
    marks = ", ".join("?" * width)
    last: tuple[Any, ...] = ()
    while True:
        behind = f"WHERE ({key}) > ({marks})" if last else ""
        page = reader.execute(
            f"SELECT {columns} FROM {table} {behind} ORDER BY {key} LIMIT {_PAGE}",  # noqa: S608
            last,
        ).fetchall()
        if page:
            yield page
        if len(page) < _PAGE:
            return
        # The key is the first of the columns.
        last = tuple(page[-1][:width])


def _copy_counters(
    reader: SqlConnection, writer: SqlConnection, from_server: bool, to_server: bool
) -> None:
    for table, column in _COUNTERS.items():
        highest = reader.execute(f"SELECT coalesce(max({column}), 0) FROM {table}").fetchone()[0]  # noqa: S608
        if from_server:
            given, called = reader.execute(
                f"SELECT last_value, is_called FROM {table}_{column}_seq"  # noqa: S608
            ).fetchone()
            highest = max(highest, given if called else 0)
        else:
            noted = reader.execute("SELECT seq FROM sqlite_sequence WHERE name = ?", (table,))
            highest = max(highest, *(seq for (seq,) in noted), 0)
        if not highest:
            continue
        if to_server:
            name = f"{table}_{column}_seq"
            writer.execute(f"SELECT setval('{name}', ?)", (highest,))
        elif table != "contents":
            # SQLite may reuse the numbers of texts.
            writer.execute("DELETE FROM sqlite_sequence WHERE name = ?", (table,))
            writer.execute(
                "INSERT INTO sqlite_sequence (name, seq) VALUES (?, ?)", (table, highest)
            )


def _check_source(reader: SqlConnection, found: Integrity, location: str) -> None:
    version = reader.execute("PRAGMA user_version").fetchone()[0]
    if version != latest_version():
        raise ProblemRaised(
            "store_unavailable",
            f"the store {location!r} has schema version {version} and is not migrated yet",
            hint="open it once with this Handrail, then copy it",
        )
    if found.broken:
        raise ProblemRaised(
            "store_unavailable",
            f"the store {location!r} is broken: {found.broken}",
            hint="see `handrail verify`; a broken record is not copied",
        )


def _check_empty(writer: SqlConnection, location: str) -> None:
    for table in _TABLES:
        if writer.execute(f"SELECT 1 FROM {table} LIMIT 1").fetchone():  # noqa: S608 - our tables
            raise ProblemRaised(
                "conflict",
                f"the store {location!r} holds a record already",
                hint="copy into an empty database or a new file",
            )


def _not_equal(location: str, broken: str | None) -> ProblemRaised:
    reason = broken or "its head is another one"
    return ProblemRaised(
        "store_unavailable",
        f"the copy in {location!r} does not match its source: {reason}",
        hint="nothing was copied; report this as a bug of Handrail",
    )
