"""Taking payloads out of a store; rows and hashes stay, so the chain still holds, and a ledger
line records which payloads went.

What is purged is gone for good: overwritten in the file and in the write-ahead log.
"""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from handrail.store.chain.encoding import encode_json
from handrail.store.chain.ledger import NO_SESSION, LedgerWriter, find_ranges
from handrail.store.records.contents import count_content_bytes, drop_unused_contents
from handrail.store.sqlite.connection import Database, retry_while_busy
from handrail.store.sqlite.errors import explain_error, problem_error


@dataclass(frozen=True, slots=True)
class StoreSizes:
    """How much a store holds; `file_bytes` counts the file and its write-ahead log."""

    sessions: int
    calls: int
    rows: int
    payloads: int
    payload_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """What a purge did. `erased` is False while a reader keeps the old log alive: the
    purged text can then still be found in the -wal file until the store is closed.
    """

    payloads: int
    before_bytes: int
    after_bytes: int
    erased: bool


def purge_payloads(
    location: str | Path,
    *,
    before_ns: int | None = None,
    session: str | None = None,
    call_id: str | None = None,
    busy_timeout_s: float = 5.0,
) -> PurgeReport:
    """Drop the payloads of completed calls that match all that is given (at least one).

    `before_ns`: requested before that time. A call without its completion is kept, as
    recovery needs it. Blocks; safe while other processes use the store.
    """
    if before_ns is None and session is None and call_id is None:
        raise ValueError("say which payloads: before_ns, session or call_id")
    path = str(Path(location).absolute())
    database = Database(path, busy_timeout_s=busy_timeout_s)
    try:
        before = file_bytes(path)
        database.db.execute("PRAGMA secure_delete = ON")
        with database.writing("power", busy_timeout_s) as db:
            dropped = _drop(db, *_matching(before_ns, session, call_id))
        erased = _shrink(database)
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, path)) from error
    finally:
        database.db.close()
    return PurgeReport(dropped, before, file_bytes(path), erased)


@contextmanager
def exclusive_access(
    location: str | Path, busy_timeout_s: float = 5.0
) -> Iterator[sqlite3.Connection]:
    """The store while nobody can announce a change: what is promised now is all of it."""
    path = str(Path(location).absolute())
    database = Database(path, busy_timeout_s=busy_timeout_s)
    try:
        with database.writing("process", busy_timeout_s) as db:
            yield db
    except sqlite3.Error as error:
        raise problem_error(explain_error(error, path)) from error
    finally:
        database.db.close()


def count_payloads(db: sqlite3.Connection, *, before_ns: int) -> tuple[int, int]:
    """How many payloads `purge_payloads` would drop, and their bytes."""
    rows, values = _matching(before_ns, None, None)
    count, total = db.execute(
        "SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0)"  # noqa: S608 - our clauses
        f" FROM payloads WHERE row IN ({rows})",
        values,
    ).fetchone()
    return count, total + count_content_bytes(db, rows, values)


def limit_purge(db: sqlite3.Connection, before_ns: int, most: int) -> int:
    """Return a time, at most `before_ns`, before which at most `most` calls with payloads were
    requested.
    """
    later = db.execute(
        "SELECT q.at_ns FROM rows q JOIN payloads p ON p.row = q.id"
        " WHERE q.kind = 'requested' AND q.at_ns < ? ORDER BY q.at_ns LIMIT 1 OFFSET ?",
        (before_ns, most),
    ).fetchone()
    return before_ns if later is None else int(later[0])


def measure_store(db: sqlite3.Connection, path: str) -> StoreSizes:
    """Count what there is."""
    sessions, calls, rows = db.execute(
        "SELECT (SELECT count(*) FROM sessions),"
        " (SELECT count(*) FROM rows WHERE kind = 'requested'), (SELECT count(*) FROM rows)"
    ).fetchone()
    payloads, size = db.execute(
        "SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0) FROM payloads"
    ).fetchone()
    size += count_content_bytes(db)
    return StoreSizes(sessions, calls, rows, payloads, size, file_bytes(path))


def file_bytes(path: str) -> int:
    """The size of the store's files together; 0 for one in memory."""
    files = (Path(path), Path(f"{path}-wal"))
    return sum(file.stat().st_size for file in files if file.is_file())


def _drop(db: sqlite3.Connection, rows: str, values: tuple[object, ...]) -> int:
    """Delete the payloads of these rows and write into the chain which ones."""
    found = db.execute(f"DELETE FROM payloads WHERE row IN ({rows}) RETURNING row", values)  # noqa: S608 - our clauses
    numbers = [number for (number,) in found]
    if numbers:
        drop_unused_contents(db)
        chain = LedgerWriter(db)
        info = encode_json({"rows": find_ranges(numbers), "payloads": len(numbers)}).decode()
        chain.add_line(NO_SESSION, "purge", info, time.time_ns())
        chain.save()
    return len(numbers)


def _matching(
    before_ns: int | None, session: str | None, call_id: str | None
) -> tuple[str, tuple[object, ...]]:
    """The query for the rows of completed calls that match, and its values."""
    wanted = {"q.at_ns < ?": before_ns, "q.session = ?": session, "q.call_id = ?": call_id}
    used = {clause: value for clause, value in wanted.items() if value is not None}
    where = " AND ".join(["q.kind = 'requested'", *used])
    query = (
        "SELECT r.id FROM rows q"  # noqa: S608 - clauses from above
        " JOIN rows c ON c.session = q.session AND c.call_id = q.call_id AND c.kind = 'completed'"
        " JOIN rows r ON r.session = q.session AND r.call_id = q.call_id"
        f" WHERE {where}"
    )
    return query, tuple(used.values())


def _shrink(database: Database) -> bool:
    db = database.db
    # A script, because `execute` would stop after the first page.
    retry_while_busy(lambda: db.executescript("PRAGMA incremental_vacuum"), database.busy_timeout_s)
    busy = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0]
    return not busy
