"""Removes payloads from a store. Rows and hashes stay, so the chain remains valid, and a ledger
line records which payloads were removed.

What is purged cannot be recovered: it is overwritten in the file and in the write-ahead log.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from handrail.store.chain.encoding import encode_json
from handrail.store.chain.ledger import NO_SESSION, LedgerWriter
from handrail.store.chain.ledger_notes import find_ranges
from handrail.store.opening import BUSY_TIMEOUT_S, maintained_database, measure_size
from handrail.store.records.calls import decode_call
from handrail.store.records.contents import count_content_bytes, drop_unused_contents, expand_body
from handrail.store.records.conversation_parts import ConversationIndex, ConversationParts
from handrail.store.sql import SqlConnection

# SQLite accepts at least 999 values in a statement.
_ROWS_AT_ONCE: Final = 500


@dataclass(frozen=True, slots=True)
class StoreSizes:
    """The contents and the size of a store; `file_bytes` counts the file and its log."""

    sessions: int
    calls: int
    rows: int
    payloads: int
    payload_bytes: int
    file_bytes: int


@dataclass(frozen=True, slots=True)
class PurgeReport:
    """The result of a purge. `erased` is False while a reader keeps the old log alive: the purged
    text can then still be found in the -wal file until the store is closed.
    """

    payloads: int
    before_bytes: int
    after_bytes: int
    erased: bool


class PurgedConversations(NamedTuple):
    """The conversations that were purged, what belonged to them, and the files next to the store
    that contain texts of their calls.
    """

    chosen: tuple[str, ...]
    parts: ConversationParts
    texts: tuple[str, ...]
    report: PurgeReport


def purge_payloads(
    location: str | Path,
    *,
    before_ns: int | None = None,
    session: str | None = None,
    call_id: str | None = None,
    busy_timeout_s: float = BUSY_TIMEOUT_S,
) -> PurgeReport:
    """Delete the payloads of completed calls that match all given conditions (at least one).

    `before_ns`: requested before that time. A call without its completion is kept, because recovery
    needs it. Blocks; safe while other processes use the store.
    """
    if before_ns is None and session is None and call_id is None:
        raise ValueError("say which payloads: before_ns, session or call_id")
    wanted = {"q.at_ns < ?": before_ns, "q.session = ?": session, "q.call_id = ?": call_id}
    with maintained_database(location, busy_timeout_s) as database:
        before = database.size_bytes()
        database.erase_deleted()
        with database.writing("power", busy_timeout_s) as db:
            dropped = _drop(db, *_matching(wanted))
            _note_dropped(db, dropped)
        erased = database.shrink()
        after = database.size_bytes()
    return PurgeReport(len(dropped), before, after, erased)


def purge_conversations(
    location: str | Path,
    choose: Callable[[ConversationIndex], Collection[str]],
    *,
    busy_timeout_s: float = BUSY_TIMEOUT_S,
) -> PurgedConversations:
    """Delete the messages of the chosen conversations and of their subagents, their to-do lists and
    the payloads of their completed calls. The chain records that the values were replaced and which
    payloads were removed. `choose` runs in the same transaction.
    """
    with maintained_database(location, busy_timeout_s) as database:
        before = database.size_bytes()
        database.erase_deleted()
        with database.writing("power", busy_timeout_s) as db:
            index = ConversationIndex(db)
            chosen = tuple(choose(index))
            parts = index.find_parts(chosen)
            chain = LedgerWriter(db)
            chain.keep_values(parts.values, time.time_ns())
            chain.save()
            texts, dropped = _drop_calls(db, parts)
        erased = database.shrink() if parts.values or dropped else True
        after = database.size_bytes()
    report = PurgeReport(dropped + len(parts.values), before, after, erased)
    return PurgedConversations(chosen, parts, tuple(texts), report)


def _drop_calls(db: SqlConnection, parts: ConversationParts) -> tuple[list[str], int]:
    """Delete the payloads of completed calls of conversations, and their failed calls. Returns the
    files next to the store that contain texts of them, and the number of payloads.
    """
    found = db.execute(
        "SELECT r.id, r.call_id FROM rows c"
        " JOIN rows r ON r.session = c.session AND r.call_id = c.call_id WHERE c.kind = 'completed'"
    )
    rows = [row for row, call_id in found.fetchall() if parts.has_call(call_id)]
    texts: list[str] = []
    dropped: list[int] = []
    for at in range(0, len(rows), _ROWS_AT_ONCE):
        some = tuple(rows[at : at + _ROWS_AT_ONCE])
        marks = ", ".join("?" * len(some))
        texts += _saved_texts(db, marks, some)
        dropped += _drop(db, marks, some)
    _note_dropped(db, dropped)
    letters = db.execute("SELECT id, call_id FROM dead_letters").fetchall()
    over = [(number,) for number, call_id in letters if parts.has_call(call_id)]
    if over:
        db.executemany("DELETE FROM dead_letters WHERE id = ?", over)
    return texts, len(dropped)


def _saved_texts(db: SqlConnection, marks: str, rows: tuple[int, ...]) -> Iterator[str]:
    """Return the names of the files that contain results too long for a model."""
    found = db.execute(
        "SELECT p.body FROM rows r JOIN payloads p ON p.row = r.id"  # noqa: S608 - marks only
        f" WHERE r.kind = 'completed' AND r.id IN ({marks})",
        rows,
    )
    for (body,) in found.fetchall():
        meta = decode_call(expand_body(db, body)).get("meta")
        if isinstance(meta, Mapping):
            oversize = meta.get("oversize")
            cut = oversize.get("saved") if isinstance(oversize, Mapping) else None
            named = (cut, meta.get("stdout_saved"), meta.get("stderr_saved"))
            yield from (one for one in named if isinstance(one, str))


@contextmanager
def exclusive_access(location: str | Path) -> Iterator[SqlConnection]:
    """Yield the store while no other process can announce a change, so that the set of needed
    contents is complete.
    """
    with (
        maintained_database(location) as database,
        database.writing("process", BUSY_TIMEOUT_S) as db,
    ):
        yield db


def count_payloads(db: SqlConnection, *, before_ns: int) -> tuple[int, int]:
    """Return how many payloads `purge_payloads` would delete, and their bytes."""
    rows, values = _matching({"q.at_ns < ?": before_ns})
    count, total = db.execute(
        "SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0)"  # noqa: S608 - our clauses
        f" FROM payloads WHERE row IN ({rows})",
        values,
    ).fetchone()
    return count, total + count_content_bytes(db, rows, values)


def limit_purge(db: SqlConnection, before_ns: int, most: int) -> int:
    """Return a time up to `before_ns` before which at most `most` calls with payloads were made."""
    later = db.execute(
        "SELECT q.at_ns FROM rows q JOIN payloads p ON p.row = q.id"
        " WHERE q.kind = 'requested' AND q.at_ns < ? ORDER BY q.at_ns LIMIT 1 OFFSET ?",
        (before_ns, most),
    ).fetchone()
    return before_ns if later is None else int(later[0])


def measure_store(db: SqlConnection, size_bytes: int) -> StoreSizes:
    """Count the contents of a store; `size_bytes` is its size on disk."""
    sessions, calls, rows = db.execute(
        "SELECT (SELECT count(*) FROM sessions),"
        " (SELECT count(*) FROM rows WHERE kind = 'requested'), (SELECT count(*) FROM rows)"
    ).fetchone()
    payloads, size = db.execute(
        "SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0) FROM payloads"
    ).fetchone()
    size += count_content_bytes(db)
    return StoreSizes(sessions, calls, rows, payloads, size, size_bytes)


def measure_record(location: str, db: SqlConnection) -> StoreSizes:
    """Count the contents of a store that is open for reading."""
    return measure_store(db, measure_size(location, db))


def _drop(db: SqlConnection, rows: str, values: tuple[object, ...]) -> list[int]:
    """Delete the payloads of these rows; return the rows that had one."""
    found = db.execute(f"DELETE FROM payloads WHERE row IN ({rows}) RETURNING row", values)  # noqa: S608 - our clauses
    return [number for (number,) in found.fetchall()]


def _note_dropped(db: SqlConnection, numbers: list[int]) -> None:
    """Record in the chain which rows have lost their payloads."""
    if numbers:
        drop_unused_contents(db)
        chain = LedgerWriter(db)
        info = encode_json({"rows": find_ranges(numbers), "payloads": len(numbers)}).decode()
        chain.add_line(NO_SESSION, "purge", info, time.time_ns())
        chain.save()


def _matching(wanted: Mapping[str, object]) -> tuple[str, tuple[object, ...]]:
    """Return the query for the rows of completed calls that match these clauses, and its values."""
    used = {clause: value for clause, value in wanted.items() if value is not None}
    where = " AND ".join(["q.kind = 'requested'", *used])
    query = (
        "SELECT r.id FROM rows q"  # noqa: S608 - clauses from above
        " JOIN rows c ON c.session = q.session AND c.call_id = q.call_id AND c.kind = 'completed'"
        " JOIN rows r ON r.session = q.session AND r.call_id = q.call_id"
        f" WHERE {where}"
    )
    return query, tuple(used.values())
