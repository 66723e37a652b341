"""The checks of `verify`: ledger, sessions, rows, values of sessions and the end of the chain.

Since schema version 8 there is one chain for the whole store. Older rows have one chain for the
ledger and one per session, and are checked as such; the `migrate` line contains a digest of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from handrail.store.chain.encoding import (
    GENESIS,
    ledger_hash,
    line_hash,
    payload_hash,
    row_hash,
    storable,
)
from handrail.store.chain.ledger_notes import LedgerNotes, read_notes
from handrail.store.records.contents import CONTENTS, expand_body, find_content_break
from handrail.store.schema.single_chain import ONE_CHAIN, digest_rows
from handrail.store.sql import SqlConnection, SqlCursor

_NOT_AFTER: Final = "chain broken, it does not follow the row before"


class BrokenChain(Exception):
    """Describes the row that does not match."""

    def __init__(self, message: str) -> None:
        super().__init__(storable(message))


@dataclass(slots=True)
class SessionLines:
    """What the ledger says about one session: its first hash, and row counts with heads."""

    ordinal: int
    origin: str
    opened_ns: int
    closed_ns: int | None = None
    marks: dict[int, str] = field(default_factory=dict)
    closed_rows: int = 0


@dataclass(slots=True)
class LedgerLine:
    """One line of the ledger, as it is stored."""

    id: int
    session: str
    kind: str
    at_ns: int
    rows: int
    head: str
    info: str
    prev: str
    hash: str
    after_row: int
    owner: str

    def describe(self) -> str:
        """Return the name of the line in messages."""
        return f"ledger row {self.id} ({self.kind} of session {self.session})"

    def compute_hash(self, *, one_chain: bool) -> str | None:
        """Return the hash that the line should have; None if a field has an unexpected type."""
        fields = (self.id, self.session, self.kind, self.at_ns, self.rows, self.head, self.info)
        if one_chain:
            return _stored_hash(line_hash, (*fields, self.after_row, self.owner, self.prev))
        return _stored_hash(ledger_hash, (*fields, self.prev))


@dataclass(slots=True)
class ChainFindings:
    """The result so far; `head` is the hash at the end of the part that is valid."""

    anchor: str | None
    anchored: bool = False
    head: str = GENESIS
    rows: int = 0
    purged: int = 0
    missing: int = 0
    broken: str | None = None
    sessions: dict[str, SessionLines] = field(default_factory=dict)
    open_sessions: dict[str, str] = field(default_factory=dict)
    notes: LedgerNotes = field(default_factory=LedgerNotes)
    # The hash of the last line after a row, by the row's number.
    lines_after: dict[int, str] = field(default_factory=dict)
    lines_behind_rows: list[LedgerLine] = field(default_factory=list)

    def confirm(self, own_hash: str) -> str:
        """Record that this hash is part of an unbroken chain."""
        if own_hash == self.anchor:
            self.anchored = True
        return own_hash


def check_chain(db: SqlConnection, found: ChainFindings) -> None:
    """Check everything; raises `BrokenChain` at the first row that does not match."""
    version: int = db.execute("PRAGMA user_version").fetchone()[0]
    one_chain = version >= ONE_CHAIN
    found.notes.records_purges = one_chain
    check_schema(db)
    if one_chain:
        migrated = db.execute("SELECT min(id) FROM ledger WHERE kind = 'migrate'").fetchone()[0]
        _check_ledger(db, found, (migrated or 1) - 1)
    else:
        _check_old_ledger(db, found)
    _check_sessions(db, found)
    for session, lines in found.sessions.items():
        _check_rows(db, session, lines, found)
    _check_strays(db, has_contents=version >= CONTENTS)
    if one_chain:
        _check_lines_behind_rows(db, found)
        _check_old_rows(db, found)
        _check_values(db, found)
        _check_end(db, found)


def check_schema(db: SqlConnection) -> None:
    """Raise `BrokenChain` for a trigger or a view: Handrail creates none, and they change what a
    process writes or reads although no other connection writes.
    """
    foreign = db.execute(
        "SELECT type, name FROM sqlite_master WHERE type IN ('trigger', 'view') LIMIT 1"
    ).fetchone()
    if foreign:
        raise BrokenChain(f"{foreign[0]} {foreign[1]!r}: not part of a store")


def _check_old_ledger(db: SqlConnection, found: ChainFindings) -> None:
    found.notes.migrated_row = None
    query = (
        "SELECT id, session, kind, at_ns, rows, head, info, prev_hash, hash, 0, ''"
        " FROM ledger ORDER BY id"
    )
    for expected, fields in enumerate(db.execute(query), start=1):
        _check_line(LedgerLine(*fields), expected, found.head, found, one_chain=False)


def _check_ledger(db: SqlConnection, found: ChainFindings, old_lines: int) -> None:
    """Check the lines; the first `old_lines` are from before there was one chain."""
    query = (
        "SELECT id, session, kind, at_ns, rows, head, info, prev_hash, hash, after_row, owner"
        " FROM ledger ORDER BY id"
    )
    last_row = 0
    for expected, fields in enumerate(db.execute(query), start=1):
        line = LedgerLine(*fields)
        one_chain = expected > old_lines
        behind_line = line.after_row == last_row or not one_chain or line.kind == "migrate"
        _check_line(line, expected, found.head if behind_line else None, found, one_chain=one_chain)
        if not behind_line:
            found.lines_behind_rows.append(line)
        if one_chain:
            last_row = line.after_row
            found.lines_after[last_row] = line.hash


def _check_line(
    line: LedgerLine, expected: int, prev: str | None, found: ChainFindings, *, one_chain: bool
) -> None:
    """Check one line; if `prev` is None, a row precedes the line, and the link is checked later."""
    where = line.describe()
    if line.id != expected:
        raise BrokenChain(f"ledger row {expected}: row missing")
    if prev is not None and line.prev != prev:
        raise BrokenChain(f"{where}: {_NOT_AFTER}")
    if line.hash != line.compute_hash(one_chain=one_chain):
        raise BrokenChain(f"{where}: does not match its hash")
    found.head = found.confirm(line.hash)
    if line.kind in ("open", "close"):
        _note_session(found, line, where)
    elif not read_notes(found.notes, line.kind, line.info, line.after_row):
        raise BrokenChain(f"{where}: what it says cannot be read")


def _check_lines_behind_rows(db: SqlConnection, found: ChainFindings) -> None:
    for line in found.lines_behind_rows:
        row = db.execute("SELECT hash FROM rows WHERE id = ?", (line.after_row,)).fetchone()
        if row is None or row[0] != line.prev:
            raise BrokenChain(f"{line.describe()}: {_NOT_AFTER}")


def _note_session(found: ChainFindings, line: LedgerLine, where: str) -> None:
    lines = found.sessions.get(line.session)
    if lines is None:
        if line.kind != "open":
            raise BrokenChain(f"{where}: the session was never opened")
        lines = SessionLines(len(found.sessions) + 1, line.hash, line.at_ns)
        found.sessions[line.session] = lines
    if lines.marks.setdefault(line.rows, line.head) != line.head:
        raise BrokenChain(f"{where}: two different heads for row {line.rows}")
    lines.closed_ns = line.at_ns if line.kind == "close" else None
    lines.closed_rows = line.rows if line.kind == "close" else -1


def _check_sessions(db: SqlConnection, found: ChainFindings) -> None:
    rest = dict(found.sessions)
    stored = db.execute("SELECT id, ordinal, opened_ns, closed_ns FROM sessions ORDER BY ordinal")
    for session, *facts in stored:
        lines = rest.pop(session, None)
        if lines is None:
            raise BrokenChain(f"session {session}: not in the ledger, or in it under another name")
        if facts != [lines.ordinal, lines.opened_ns, lines.closed_ns]:
            raise BrokenChain(f"session {session}: does not match its lines in the ledger")
    for session in rest:
        raise BrokenChain(f"ledger, session {session}: session removed")


def _check_rows(db: SqlConnection, session: str, lines: SessionLines, found: ChainFindings) -> None:
    marks = {rows: head for rows, head in lines.marks.items() if rows}
    seq, last = 0, lines.origin
    for number, row_before, *row, body in _select_rows(db, session):
        seq += 1
        if row[0] != seq:
            raise BrokenChain(f"session {session}, row {seq}: row missing")
        is_old = found.notes.is_old(number)
        before = last if is_old else found.lines_after.get(number - 1, row_before)
        _check_row(session, before, row)
        _check_payload(session, number, row, expand_body(db, body), found)
        last = found.confirm(row[-1])
        if marks.pop(seq, last) != last:
            raise BrokenChain(
                f"{_name(session, row)}: not the row that the ledger counted as its last"
            )
        found.rows += 1
    if marks:
        raise BrokenChain(
            f"session {session}, row {seq + 1}: row missing, the ledger counted {max(marks)}"
        )
    if lines.closed_rows != seq:
        found.open_sessions[session] = last


def _select_rows(db: SqlConnection, session: str) -> SqlCursor:
    return db.execute(
        "SELECT r.id, b.hash, r.seq, r.kind, r.call_id, r.turn, r.at_ns, r.payload_hash,"
        " r.prev_hash, r.hash, p.body FROM rows r LEFT JOIN payloads p ON p.row = r.id"
        " LEFT JOIN rows b ON b.id = r.id - 1 WHERE r.session = ? ORDER BY r.seq",
        (session,),
    )


def _check_row(session: str, before: str | None, row: list[Any]) -> None:
    *fields, prev, own = row
    if prev != before:
        raise BrokenChain(f"{_name(session, row)}: {_NOT_AFTER}")
    if own != _stored_hash(row_hash, (session, *fields, prev)):
        raise BrokenChain(f"{_name(session, row)}: does not match its hash")


def _check_payload(
    session: str, number: int, row: list[Any], body: Any, found: ChainFindings
) -> None:
    purged = found.notes.is_purged(number)
    if body is not None:
        if purged:
            raise BrokenChain(f"{_name(session, row)}: its payload was purged and is there again")
        if _stored_hash(_text_hash, (body,)) != row[5]:
            raise BrokenChain(f"{_name(session, row)}: payload does not match its hash")
    elif purged or not found.notes.records_purges:
        found.purged += 1
    elif found.notes.was_missing(number):
        found.missing += 1
    else:
        raise BrokenChain(
            f"{_name(session, row)}: payload missing, and no purge of it is on record"
        )


def _check_strays(db: SqlConnection, *, has_contents: bool) -> None:
    stray = db.execute(
        "SELECT session, seq, call_id FROM rows WHERE session NOT IN (SELECT id FROM sessions)"
        " LIMIT 1"
    ).fetchone()
    if stray:
        raise BrokenChain(
            f"session {stray[0]}, row {stray[1]} (call {stray[2]}): not in the ledger"
        )
    payload = db.execute(
        "SELECT row FROM payloads WHERE row NOT IN (SELECT id FROM rows) LIMIT 1"
    ).fetchone()
    if payload:
        raise BrokenChain(f"payload {payload[0]}: belongs to no row (a row's number was changed)")
    content = find_content_break(db) if has_contents else None
    if content:
        raise BrokenChain(content)


def _check_old_rows(db: SqlConnection, found: ChainFindings) -> None:
    """Check that the rows from before there was one chain are the same as then."""
    notes = found.notes
    if notes.digest is None or notes.migrated_row is None:
        return
    if digest_rows(db, notes.migrated_row) != notes.digest:
        raise BrokenChain(
            "rows from before the store was migrated: some were removed or added since"
        )


def _check_values(db: SqlConnection, found: ChainFindings) -> None:
    rest = dict(found.notes.values)
    for session, key, value in db.execute("SELECT session, key, value FROM session_state"):
        kept = rest.pop((session, key), None)
        where = f"session_state, {key!r} of session {session!r}"
        if kept is None:
            raise BrokenChain(f"{where}: not in the chain")
        if _stored_hash(_text_hash, (value,)) != kept:
            raise BrokenChain(f"{where}: does not match its hash in the chain")
    for session, key in rest:
        raise BrokenChain(f"session_state, {key!r} of session {session!r}: removed")


def _check_end(db: SqlConnection, found: ChainFindings) -> None:
    row, line = db.execute(
        "SELECT (SELECT coalesce(max(id), 0) FROM rows), (SELECT coalesce(max(id), 0) FROM ledger)"
    ).fetchone()
    if row not in found.lines_after and not found.notes.is_old(row) and row:
        found.head = db.execute("SELECT hash FROM rows WHERE id = ?", (row,)).fetchone()[0]
    noted = db.execute("SELECT one, rows, line, hash FROM chain_end").fetchall()
    if noted != [(1, row, line, found.head)]:
        ends = ", ".join(f"row {one[1]} and ledger row {one[2]}" for one in noted) or "nothing"
        raise BrokenChain(
            f"end of the chain: it ends with row {row} and ledger row {line}, noted is {ends};"
            " the end was cut, or rows were added to it"
        )


def _stored_hash(function: Callable[..., str], fields: tuple[Any, ...]) -> str | None:
    # A field of another type would be formatted as well and could give an equal hash.
    if not all(isinstance(value, int | str) for value in fields):
        return None
    try:
        return function(*fields)
    except UnicodeEncodeError:
        return None


def _text_hash(body: str) -> str:
    return payload_hash(body.encode())


def _name(session: str, row: list[Any]) -> str:
    return f"session {session}, row {row[0]} ({row[1]} of call {row[2]})"
