"""The SQL that writes: rows and the ledger, chained. Runs inside the caller's transaction.

Heads are read here, under the write lock: other processes append to the same chains.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, NamedTuple

from handrail.core.records import Row
from handrail.core.redact import redact
from handrail.store.chain import GENESIS, encode_json, ledger_hash, payload_hash, row_hash, storable

# Rows per INSERT. Each statement lets go of the interpreter lock, and whoever makes calls
# meanwhile loses it each time it is taken back: so one statement for many rows, of few sizes,
# because each size is prepared and kept. Rows that are missing in it have no number.
_SIZES: Final = (1, 2, 4, 16, 64)

_INSERT_ROWS: Final = (
    "INSERT INTO rows (id, session, seq, kind, call_id, turn, at_ns, payload_hash, prev_hash, hash)"
)
# The last number of all, and the head of one session.
_ENDS: Final = (
    "SELECT coalesce(max(id), 0),"
    " (SELECT seq FROM rows WHERE session = ? ORDER BY seq DESC LIMIT 1),"
    " (SELECT hash FROM rows WHERE session = ? ORDER BY seq DESC LIMIT 1) FROM rows"
)
_INSERT_PAYLOADS: Final = "INSERT INTO payloads (row, body)"


class Packed(NamedTuple):
    """A row whose payload is JSON already, so that nobody can change it any more."""

    session: str
    kind: str
    call_id: str
    turn: int
    at_ns: int
    body: bytes


class Entry(NamedTuple):
    """A row made ready for writing, all but its place in the chain."""

    session: str
    kind: str
    call_id: str
    turn: int
    at_ns: int
    payload_hash: str
    body: str


class Head(NamedTuple):
    """The end of a session's chain."""

    seq: int
    hash: str


def pack(row: Row) -> Packed:
    """The row as it is at this moment; raises whatever its payload's own code raises."""
    session, kind, call_id, turn, at_ns, payload = row
    return Packed(session, kind, call_id, turn, at_ns, encode_json(payload))


def pack_anyhow(row: Row) -> Packed:
    """The same; what has no JSON form is recorded as the reason why."""
    try:
        return pack(row)
    except Exception as error:  # noqa: BLE001 - foreign code; the record must outlive it
        # That the call happened must be on record, even if not what it carried.
        return pack(row._replace(payload={"unencodable": describe(error)}))


def describe(error: Exception) -> str:
    """An exception in words, even one that cannot say what it is."""
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception:  # noqa: BLE001 - its message is made by foreign code too
        return name


def seal(packed: Packed, *, clean: bool = False) -> Entry:
    """The row with the hash of its payload, and without secrets that show by their shape
    (`clean`: it is known to hold none). An intent stays as it is, and so do the effects of a
    command: they hold what recovery and undo put back, and a file's name may look like a secret.
    """
    session, kind, call_id, turn, at_ns, body = packed
    if kind != "intent" and not clean:
        body = _without_secrets(body)
    return Entry(
        storable(session), kind, storable(call_id), turn, at_ns, payload_hash(body), body.decode()
    )


def _without_secrets(body: bytes) -> bytes:
    redacted = redact(body)
    if redacted == body or b'"effects":' not in body:
        return redacted
    payload = json.loads(body)
    effects = payload.pop("effects", None)
    if effects is None:
        return redacted
    return encode_json({**json.loads(redact(encode_json(payload))), "effects": effects})


def write_entries(db: sqlite3.Connection, entries: Sequence[Entry]) -> None:
    """Append entries to the chains of their sessions, in order."""
    if not entries:
        return
    session = entries[0].session
    number, seq, prev = db.execute(_ENDS, (session, session)).fetchone()
    heads = {} if prev is None else {session: Head(seq, prev)}
    rows = []
    payloads = []
    for session, kind, call_id, turn, at_ns, body_hash, body in entries:
        seq, prev = heads.get(session) or _head_to_extend(db, session, at_ns)
        number += 1
        seq += 1
        own = row_hash(session, seq, kind, call_id, turn, at_ns, body_hash, prev)
        heads[session] = Head(seq, own)
        rows.append((number, session, seq, kind, call_id, turn, at_ns, body_hash, prev, own))
        payloads.append((number, body))
    _insert(db, _INSERT_ROWS, rows)
    _insert(db, _INSERT_PAYLOADS, payloads)


def write_state(db: sqlite3.Connection, state: Mapping[tuple[str, str], str]) -> None:
    """Keep values with their sessions; a value of the same key is replaced."""
    if not state:
        return
    db.executemany(
        "INSERT INTO session_state (session, key, value) VALUES (?, ?, ?)"
        " ON CONFLICT (session, key) DO UPDATE SET value = excluded.value",
        [(session, key, value) for (session, key), value in state.items()],
    )


def open_session(db: sqlite3.Connection, session: str, info: str, at_ns: int) -> bool:
    """Write the ledger's `open` line; whether the session existed before."""
    known = _known(db, session)
    _extend_ledger(db, session, "open", info, at_ns)
    if known:
        db.execute("UPDATE sessions SET closed_ns = NULL WHERE id = ?", (session,))
        return True
    db.execute(
        "INSERT INTO sessions (id, ordinal, opened_ns, closed_ns)"
        " SELECT ?, coalesce(max(ordinal), 0) + 1, ?, NULL FROM sessions",
        (session, at_ns),
    )
    return False


def close_sessions(db: sqlite3.Connection, sessions: Iterable[str], at_ns: int) -> None:
    """Write the ledger's `close` lines: how many rows each session has, and its head."""
    for session in sessions:
        if not _known(db, session):
            # Its opening was never committed.
            continue
        _extend_ledger(db, session, "close", "{}", at_ns)
        db.execute("UPDATE sessions SET closed_ns = ? WHERE id = ?", (at_ns, session))


def read_head(db: sqlite3.Connection, session: str) -> Head | None:
    """The last row of a session, None if it has none."""
    found = db.execute(
        "SELECT seq, hash FROM rows WHERE session = ? ORDER BY seq DESC LIMIT 1", (session,)
    ).fetchone()
    return Head(*found) if found else None


def _head_to_extend(db: sqlite3.Connection, session: str, at_ns: int) -> Head:
    head = read_head(db, session)
    if head:
        return head
    origin = _origin(db, session)
    if origin is None:
        # A row is never turned away for want of a session: that would lose evidence.
        open_session(db, session, "{}", at_ns)
        origin = _origin(db, session)
    return Head(0, origin or GENESIS)


def _known(db: sqlite3.Connection, session: str) -> bool:
    found = db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone()
    return found is not None


def _origin(db: sqlite3.Connection, session: str) -> str | None:
    found = db.execute(
        "SELECT hash FROM ledger WHERE session = ? AND kind = 'open' ORDER BY id LIMIT 1",
        (session,),
    ).fetchone()
    return str(found[0]) if found else None


def _extend_ledger(db: sqlite3.Connection, session: str, kind: str, info: str, at_ns: int) -> None:
    last = db.execute("SELECT id, hash FROM ledger ORDER BY id DESC LIMIT 1").fetchone()
    number, prev = (last[0] + 1, last[1]) if last else (1, GENESIS)
    rows, head = read_head(db, session) or Head(0, GENESIS)
    own = ledger_hash(number, session, kind, at_ns, rows, head, info, prev)
    db.execute(
        "INSERT INTO ledger (id, session, kind, at_ns, rows, head, info, prev_hash, hash)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (number, session, kind, at_ns, rows, head, info, prev, own),
    )


def _insert(db: sqlite3.Connection, head: str, rows: Sequence[tuple[object, ...]]) -> None:
    columns = len(rows[0])
    for start in range(0, len(rows), _SIZES[-1]):
        part = rows[start : start + _SIZES[-1]]
        size = next(one for one in _SIZES if one >= len(part))
        missing = (None,) * (columns * (size - len(part)))
        db.execute(_statement(head, columns, size), (*chain.from_iterable(part), *missing))


@cache
def _statement(head: str, columns: int, rows: int) -> str:
    marks = "(" + ",".join("?" * columns) + ")"
    values = ",".join([marks] * rows)
    return f"{head} SELECT * FROM (VALUES {values}) WHERE column1 IS NOT NULL"  # noqa: S608
