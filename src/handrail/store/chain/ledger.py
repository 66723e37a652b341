"""The SQL that extends the chain: rows of calls, ledger lines, and the end of the chain.

There is one chain for the whole store. `LedgerWriter` reads its end under the write lock, because
other processes extend it too, and writes the new end in the same transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Any, Final, Literal, NamedTuple

from handrail.store.chain.hashes import GENESIS, encode_json, line_hash, payload_hash, row_hash
from handrail.store.sqlite.row_encoding import SealedRow

LineKind = Literal["open", "close", "state", "purge", "migrate"]
# Lines of the store itself, and values that belong to no session; no session has this name.
NO_SESSION: Final = ""

# Rows per INSERT. Each statement lets go of the interpreter lock, and whoever makes calls
# meanwhile loses it each time it is taken back: so one statement for many rows, of few sizes,
# because each size is prepared and kept. Rows that are missing in it have no number.
_SIZES: Final = (1, 2, 4, 16, 64)
_INSERT_ROWS: Final = (
    "INSERT INTO rows (id, session, seq, kind, call_id, turn, at_ns, payload_hash, prev_hash, hash)"
)
_INSERT_PAYLOADS: Final = "INSERT INTO payloads (row, body)"


class LedgerHead(NamedTuple):
    """The last row of one session."""

    seq: int
    hash: str


class ChainEnd(NamedTuple):
    """The numbers of the last row and the last ledger line, and the hash of the later one."""

    rows: int
    line: int
    hash: str


class LedgerWriter:
    """The chain within one write transaction; nothing is at its end before `save`."""

    def __init__(self, db: sqlite3.Connection) -> None:
        self.db = db
        self.end = _read_end(db)

    def add_line(
        self,
        session: str,
        kind: LineKind,
        info: str,
        at_ns: int,
        *,
        owner: str = "",
        head: LedgerHead | None = None,
    ) -> str:
        """Append one ledger line and return its hash."""
        end, number = self.end, self.end.line + 1
        rows, last = head or LedgerHead(0, GENESIS)
        fields = (number, session, kind, at_ns, rows, last, info)
        own = line_hash(*fields, end.rows, owner, end.hash)
        self.db.execute(
            "INSERT INTO ledger (id, session, kind, at_ns, rows, head, info, after_row, owner,"
            " prev_hash, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*fields, end.rows, owner, end.hash, own),
        )
        self.end = ChainEnd(end.rows, number, own)
        return own

    def add_rows(self, entries: Sequence[SealedRow]) -> None:
        """Append the rows of calls, in order."""
        heads: dict[str, LedgerHead] = {}
        rows: list[tuple[object, ...]] = []
        payloads: list[tuple[object, ...]] = []
        number, line, prev = self.end
        for session, kind, call_id, turn, at_ns, body_hash, body in entries:
            head = heads.get(session)
            if head is None:
                # A new session begins with a line, which comes behind the rows before it.
                self._insert_rows(rows, payloads)
                self.end = ChainEnd(number, line, prev)
                head = self._head_to_extend(session, at_ns)
                line, prev = self.end.line, self.end.hash
            number, seq = number + 1, head.seq + 1
            own = row_hash(session, seq, kind, call_id, turn, at_ns, body_hash, prev)
            heads[session] = LedgerHead(seq, own)
            rows.append((number, session, seq, kind, call_id, turn, at_ns, body_hash, prev, own))
            payloads.append((number, body))
            prev = own
        self.end = ChainEnd(number, line, prev)
        self._insert_rows(rows, payloads)

    def keep_values(self, values: Mapping[tuple[str, str], str], at_ns: int) -> None:
        """Keep values of sessions, and their hashes in the chain; a value of the same key is
        replaced.
        """
        if not values:
            return
        self.db.executemany(
            "INSERT INTO session_state (session, key, value) VALUES (?, ?, ?)"
            " ON CONFLICT (session, key) DO UPDATE SET value = excluded.value",
            [(session, key, value) for (session, key), value in values.items()],
        )
        hashes = hash_values(values)
        self.add_line(NO_SESSION, "state", encode_json({"state": hashes}).decode(), at_ns)

    def save(self) -> ChainEnd:
        """Write the new end of the chain."""
        self.db.execute("INSERT OR REPLACE INTO chain_end VALUES (1, ?, ?, ?)", self.end)
        return self.end

    def _head_to_extend(self, session: str, at_ns: int) -> LedgerHead:
        head = read_head(self.db, session)
        if head is not None:
            return head
        if not _is_known(self.db, session):
            # A row is never turned away for want of a session: that would lose evidence.
            open_session(self, session, "{}", at_ns)
        return LedgerHead(0, GENESIS)

    def _insert_rows(
        self, rows: list[tuple[object, ...]], payloads: list[tuple[object, ...]]
    ) -> None:
        if rows:
            _insert(self.db, _INSERT_ROWS, rows)
            _insert(self.db, _INSERT_PAYLOADS, payloads)
            rows.clear()
            payloads.clear()


def open_session(chain: LedgerWriter, session: str, info: str, at_ns: int, owner: str = "") -> bool:
    """Write the ledger's `open` line; returns whether the session existed before."""
    db, known = chain.db, _is_known(chain.db, session)
    chain.add_line(session, "open", info, at_ns, owner=owner, head=read_head(db, session))
    if known:
        db.execute("UPDATE sessions SET closed_ns = NULL WHERE id = ?", (session,))
        return True
    db.execute(
        "INSERT INTO sessions (id, ordinal, opened_ns, closed_ns)"
        " SELECT ?, coalesce(max(ordinal), 0) + 1, ?, NULL FROM sessions",
        (session, at_ns),
    )
    return False


def close_sessions(
    chain: LedgerWriter, sessions: Mapping[str, str], at_ns: int, info: str = "{}"
) -> None:
    """Write the ledger's `close` lines (session → who had opened it): how many rows each
    session has, and the hash of its last one.
    """
    db = chain.db
    for session, owner in sessions.items():
        if not _is_known(db, session):
            # Its opening was never committed.
            continue
        chain.add_line(session, "close", info, at_ns, owner=owner, head=read_head(db, session))
        db.execute("UPDATE sessions SET closed_ns = ? WHERE id = ?", (at_ns, session))


def read_head(db: sqlite3.Connection, session: str) -> LedgerHead | None:
    """The last row of a session, None if it has none."""
    found = db.execute(
        "SELECT seq, hash FROM rows WHERE session = ? ORDER BY seq DESC LIMIT 1", (session,)
    ).fetchone()
    return LedgerHead(*found) if found else None


def hash_values(values: Mapping[tuple[str, str], str]) -> list[tuple[str, str, str]]:
    """Session, key and hash of each value, as a `state` line has them."""
    return [(*key, payload_hash(value.encode())) for key, value in values.items()]


def find_ranges(numbers: Iterable[int]) -> list[tuple[int, int]]:
    """The numbers as ranges (first, last), in order."""
    ranges: list[tuple[int, int]] = []
    for number in sorted(numbers):
        if ranges and ranges[-1][1] == number - 1:
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return ranges


def _read_end(db: sqlite3.Connection) -> ChainEnd:
    rows, line, end_rows, end_line, own = db.execute(
        "SELECT (SELECT max(id) FROM rows), (SELECT max(id) FROM ledger), rows, line, hash"
        " FROM (SELECT 1) LEFT JOIN chain_end"
    ).fetchone()
    # Where they differ somebody has changed the store, which `verify` is to see for ever: the
    # chain goes on from the end that was noted, behind whatever there is.
    return ChainEnd(max(rows or 0, end_rows or 0), max(line or 0, end_line or 0), own or GENESIS)


def _is_known(db: sqlite3.Connection, session: str) -> bool:
    found = db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone()
    return found is not None


def _insert(db: sqlite3.Connection, head: str, rows: Sequence[tuple[Any, ...]]) -> None:
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
