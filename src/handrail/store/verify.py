"""Checks a store offline: recomputes every hash and names the first row that does not fit."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from handrail.core.problems import ProblemRaised
from handrail.core.records import Integrity
from handrail.store.chain import GENESIS, ledger_hash, payload_hash, row_hash, storable
from handrail.store.connect import MEMORY, open_read_only


def verify(location: str | Path, anchor: str | None = None) -> Integrity:
    """Check every chain of a store, reading one consistent snapshot; writes nothing.

    What an unbroken result proves: no row, ledger line, session or remaining payload was
    changed in place, taken out of the middle, or added without extending its chain. What it
    does not: whoever can write the file can rebuild all of it with fresh hashes, and a cut
    end leaves no gap. Both are seen only with an `anchor`, a head noted earlier somewhere
    else: `anchored` is True if it is the hash of a verified ledger line or row. Purged
    payloads are counted, not judged. What named sessions carry over (`session_state`) is
    working memory and not covered.

    Raises `store_unavailable` if there is no store to read.
    """
    if str(location) == MEMORY:
        raise ProblemRaised(
            "store_unavailable",
            "a store in memory cannot be verified from outside",
            hint="open the workspace with a store on disk",
        )
    db = open_read_only(str(location))
    try:
        return check(db, anchor)
    finally:
        db.close()


def check(db: sqlite3.Connection, anchor: str | None) -> Integrity:
    """The same, of a connection with a read transaction."""
    found = _Findings(anchor.strip().lower() if anchor else None)
    # Evidence that is not even valid text must not stop the check.
    db.text_factory = _lenient
    try:
        _check_all(db, found)
    except _Broken as broken:
        found.broken = str(broken)
    except sqlite3.DatabaseError as error:
        found.broken = f"the file is damaged: {error}"
    return Integrity(
        sessions=len(found.sessions),
        rows=found.rows,
        broken=found.broken,
        head=found.head,
        open_sessions=found.open_sessions,
        purged_payloads=found.purged,
        anchored=found.anchored if found.anchor else None,
    )


class _Broken(Exception):
    """Says in words which row does not fit."""

    def __init__(self, message: str) -> None:
        super().__init__(storable(message))


@dataclass(slots=True)
class _SessionLines:
    """What the ledger says of one session: its first hash, and row counts with heads."""

    ordinal: int
    origin: str
    opened_ns: int
    closed_ns: int | None = None
    marks: dict[int, str] = field(default_factory=dict)
    closed_rows: int = 0


@dataclass(slots=True)
class _Findings:
    anchor: str | None
    anchored: bool = False
    head: str = GENESIS
    rows: int = 0
    purged: int = 0
    broken: str | None = None
    sessions: dict[str, _SessionLines] = field(default_factory=dict)
    open_sessions: dict[str, str] = field(default_factory=dict)

    def verified(self, own_hash: str) -> str:
        """Note that this hash stands in an unbroken chain."""
        if own_hash == self.anchor:
            self.anchored = True
        return own_hash


def _check_all(db: sqlite3.Connection, found: _Findings) -> None:
    _check_ledger(db, found)
    _check_sessions(db, found)
    for session, lines in found.sessions.items():
        _check_rows(db, session, lines, found)
    _check_strays(db)


def _check_ledger(db: sqlite3.Connection, found: _Findings) -> None:
    lines = db.execute(
        "SELECT id, session, kind, at_ns, rows, head, info, prev_hash, hash FROM ledger ORDER BY id"
    )
    for expected, line in enumerate(lines, start=1):
        number, session, kind, at_ns, rows, head, info, prev, own = line
        where = f"ledger row {expected} ({kind} of session {session})"
        if number != expected:
            raise _Broken(f"ledger row {expected}: row missing")
        if prev != found.head:
            raise _Broken(f"{where}: chain broken, it does not follow the row before")
        if own != _hash_of(ledger_hash, (number, session, kind, at_ns, rows, head, info, prev)):
            raise _Broken(f"{where}: does not match its hash")
        found.head = found.verified(own)
        _note_line(found, session, kind, at_ns, rows, head, own, where)


def _note_line(
    found: _Findings,
    session: str,
    kind: str,
    at_ns: int,
    rows: int,
    head: str,
    own: str,
    where: str,
) -> None:
    lines = found.sessions.get(session)
    if lines is None:
        if kind != "open":
            raise _Broken(f"{where}: the session was never opened")
        lines = _SessionLines(len(found.sessions) + 1, own, at_ns)
        found.sessions[session] = lines
    if lines.marks.setdefault(rows, head) != head:
        raise _Broken(f"{where}: two different heads for row {rows}")
    lines.closed_ns = at_ns if kind == "close" else None
    lines.closed_rows = rows if kind == "close" else -1


def _check_sessions(db: sqlite3.Connection, found: _Findings) -> None:
    rest = dict(found.sessions)
    stored = db.execute("SELECT id, ordinal, opened_ns, closed_ns FROM sessions ORDER BY ordinal")
    for session, *facts in stored:
        lines = rest.pop(session, None)
        if lines is None:
            raise _Broken(f"session {session}: not in the ledger, or in it under another name")
        if facts != [lines.ordinal, lines.opened_ns, lines.closed_ns]:
            raise _Broken(f"session {session}: does not match its lines in the ledger")
    for session in rest:
        raise _Broken(f"ledger, session {session}: session removed")


def _check_rows(
    db: sqlite3.Connection, session: str, lines: _SessionLines, found: _Findings
) -> None:
    marks = {rows: head for rows, head in lines.marks.items() if rows}
    seq, prev = 0, lines.origin
    for row in _rows_of(db, session):
        seq += 1
        _check_row(session, seq, prev, row, found)
        prev = found.verified(row[-2])
        if marks.pop(seq, prev) != prev:
            raise _Broken(f"{_name(session, row)}: not the row that the ledger counted as its last")
        found.rows += 1
    if marks:
        raise _Broken(
            f"session {session}, row {seq + 1}: row missing, the ledger counted {max(marks)}"
        )
    if lines.closed_rows != seq:
        found.open_sessions[session] = prev


def _rows_of(db: sqlite3.Connection, session: str) -> Iterator[tuple[Any, ...]]:
    return db.execute(
        "SELECT seq, kind, call_id, turn, at_ns, payload_hash, prev_hash, hash, body"
        " FROM rows LEFT JOIN payloads ON payloads.row = rows.id WHERE session = ? ORDER BY seq",
        (session,),
    )


def _check_row(
    session: str, expected: int, prev: str, row: tuple[Any, ...], found: _Findings
) -> None:
    seq, *middle, body_hash, prev_hash, own, body = row
    if seq != expected:
        raise _Broken(f"session {session}, row {expected}: row missing")
    if prev_hash != prev:
        raise _Broken(f"{_name(session, row)}: chain broken, it does not follow the row before")
    if own != _hash_of(row_hash, (session, seq, *middle, body_hash, prev_hash)):
        raise _Broken(f"{_name(session, row)}: does not match its hash")
    if body is None:
        found.purged += 1
    elif _hash_of(_text_hash, (body,)) != body_hash:
        raise _Broken(f"{_name(session, row)}: payload does not match its hash")


def _check_strays(db: sqlite3.Connection) -> None:
    stray = db.execute(
        "SELECT session, seq, call_id FROM rows WHERE session NOT IN (SELECT id FROM sessions)"
        " LIMIT 1"
    ).fetchone()
    if stray:
        raise _Broken(f"session {stray[0]}, row {stray[1]} (call {stray[2]}): not in the ledger")
    payload = db.execute(
        "SELECT row FROM payloads WHERE row NOT IN (SELECT id FROM rows) LIMIT 1"
    ).fetchone()
    if payload:
        raise _Broken(f"payload {payload[0]}: belongs to no row (a row's number was changed)")


def _hash_of(function: Callable[..., str], fields: tuple[Any, ...]) -> str | None:
    # A field of another type than we write would be formatted all the same.
    if not all(isinstance(value, int | str) for value in fields):
        return None
    try:
        return function(*fields)
    except UnicodeEncodeError:
        return None


def _text_hash(body: str) -> str:
    return payload_hash(body.encode())


def _name(session: str, row: tuple[Any, ...]) -> str:
    return f"session {session}, row {row[0]} ({row[1]} of call {row[2]})"


def _lenient(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
