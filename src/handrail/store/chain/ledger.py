"""The SQL that extends the chain: rows of calls, ledger lines, and the end of the chain.

There is one chain for the whole store. `LedgerWriter` reads its end under the write lock, because
other processes extend it too, and writes the new end in the same transaction. `ChainGuard` refuses
transactions on a store that another process has tampered with.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import chain
from typing import Final, Literal, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.store.chain.encoding import (
    GENESIS,
    SealedRow,
    encode_info,
    line_hash,
    payload_hash,
    row_hash,
)
from handrail.store.records.contents import store_contents
from handrail.store.sql import SqlConnection
from handrail.store.sqlite.errors import problem_error, unavailable_problem

LineKind = Literal["open", "close", "state", "purge", "migrate"]
# For lines of the store itself, and values that belong to no session; no session has this name.
NO_SESSION: Final = ""

# Rows per INSERT. Each statement releases the interpreter lock and then takes it from the calling
# thread again, so one statement inserts many rows. There are few sizes, because each is prepared
# and cached; rows that a statement lacks have no number.
_SIZES: Final = (1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 96, 128, 192, 256)
# The number of parameters that every SQLite accepts.
_MAX_PARAMETERS: Final = 999
_INSERT_ROWS: Final = (
    "INSERT INTO rows (id, session, seq, kind, call_id, turn, at_ns, payload_hash, prev_hash, hash)"
)
_INSERT_USES: Final = "INSERT INTO content_uses (row, content)"
_INSERT_PAYLOADS: Final = "INSERT INTO payloads (row, body)"
# Checks after foreign changes may take one part in this many of the time.
_PAUSE: Final = 20
LOOK: Final = (
    "SELECT e.rows, e.line, (SELECT max(id) FROM rows), (SELECT max(id) FROM ledger),"
    " (SELECT hash FROM rows WHERE id = coalesce(?1, e.rows)),"
    " (SELECT hash FROM ledger WHERE id = coalesce(?2, e.line)),"
    " (SELECT data_version FROM pragma_data_version), e.hash"
    " FROM (SELECT 1) LEFT JOIN chain_end e"
)

_SAVE_END: Final = (
    "INSERT INTO chain_end (one, rows, line, hash) VALUES (1, ?, ?, ?) ON CONFLICT (one)"
    " DO UPDATE SET rows = excluded.rows, line = excluded.line, hash = excluded.hash"
)

# Returns how the chain of the store at a path, of some size, is broken; None if it is not.
FindBreak = Callable[[str, int], str | None]

_log = logging.getLogger("handrail")


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
    """The chain within one write transaction; its end is written by `save`. `end` is where the
    chain ends; if it is None, the end is read.
    """

    def __init__(self, db: SqlConnection, end: ChainEnd | None = None) -> None:
        self.db = db
        self.end = end or _look_at_end(db).end
        # Numbers and hashes of the last row and the last line that were added.
        self.last_row: tuple[int, str] | None = None
        self.last_line: tuple[int, str] | None = None

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
        self.last_line = number, own
        return own

    def add_rows(self, entries: Sequence[SealedRow]) -> None:
        """Append the rows of calls, in order."""
        # The number of the last row of each session.
        lasts: dict[str, int] = {}
        # The values of all columns, row after row.
        rows: list[object] = []
        payloads: dict[int, str] = {}
        completed: list[int] = []
        number, line, prev = self.end
        for session, kind, call_id, turn, at_ns, body_hash, body in entries:
            last = lasts.get(session)
            if last is None:
                # A new session begins with a line, which comes after the rows before it.
                self._insert_rows(rows, payloads, completed)
                self.end = ChainEnd(number, line, prev)
                last = self._last_row(session, at_ns)
                line, prev = self.end.line, self.end.hash
            number += 1
            lasts[session] = seq = last + 1
            own = row_hash(session, seq, kind, call_id, turn, at_ns, body_hash, prev)
            rows += (number, session, seq, kind, call_id, turn, at_ns, body_hash, prev, own)
            payloads[number] = body
            if kind == "completed":
                completed.append(number)
            prev = own
        if entries:
            self.last_row = number, prev
        self.end = ChainEnd(number, line, prev)
        self._insert_rows(rows, payloads, completed)

    def keep_values(self, values: Mapping[tuple[str, str], str], at_ns: int) -> None:
        """Keep values of sessions, and their hashes in the chain; equal keys are replaced."""
        if not values:
            return
        self.db.executemany(
            "INSERT INTO session_state (session, key, value) VALUES (?, ?, ?)"
            " ON CONFLICT (session, key) DO UPDATE SET value = excluded.value",
            [(session, key, value) for (session, key), value in values.items()],
        )
        hashes = hash_values(values)
        self.add_line(NO_SESSION, "state", encode_info({"state": hashes}), at_ns)

    def save(self) -> ChainEnd:
        """Write the new end of the chain."""
        self.db.execute(_SAVE_END, self.end)
        return self.end

    def _last_row(self, session: str, at_ns: int) -> int:
        head = read_head(self.db, session)
        if head is not None:
            return head.seq
        if not _is_known(self.db, session):
            # A row is never refused because its session is missing: that would lose evidence.
            open_session(self, session, "{}", at_ns)
        return 0

    def _insert_rows(
        self, rows: list[object], payloads: dict[int, str], completed: list[int]
    ) -> None:
        if not rows:
            return
        uses: dict[int, int] = {}
        if completed:
            packed, uses = store_contents(self.db, {row: payloads[row] for row in completed})
            payloads |= packed  # the order stays: SQLite appends ascending rows fastest
        _insert(self.db, _INSERT_ROWS, 10, rows)
        _insert(self.db, _INSERT_PAYLOADS, 2, list(chain.from_iterable(payloads.items())))
        _insert(self.db, _INSERT_USES, 2, list(chain.from_iterable(uses.items())))
        for written in (rows, payloads, completed):
            written.clear()


class StoreState(NamedTuple):
    """The end of the chain as it was last read: numbers, their hashes, SQLite's counter that
    changes with every commit of another connection, and the hash that is noted as the end.
    """

    rows: int | None
    line: int | None
    last_row: int | None
    last_line: int | None
    row_hash: str | None
    line_hash: str | None
    version: int
    end_hash: str | None

    @property
    def end(self) -> ChainEnd:
        """Where the chain continues. If the store was tampered with, it continues from the noted
        end, after all existing rows, so that `verify` always reports the change.
        """
        rows = max(self.last_row or 0, self.rows or 0)
        line = max(self.last_line or 0, self.line or 0)
        return ChainEnd(rows, line, self.end_hash or GENESIS)

    @property
    def fits(self) -> bool:
        """Whether the noted end is the end of the tables."""
        return (self.rows, self.line) == (self.last_row or 0, self.last_line or 0)


class _StoreFileState(NamedTuple):
    """The main file of the store, which changes only when the log is checkpointed."""

    identity: tuple[int, int]
    size: int
    mtime_ns: int


class ChainGuard:
    """Checks that the store still contains what this connection wrote.

    `check_others` is called before each write transaction, `check` first in it, `look` last in it,
    and `remember` with its result after the commit. If the tables differ from what was remembered,
    or another process has broken the chain, the transaction is refused.
    """

    def __init__(self, path: str, find_break: FindBreak) -> None:
        self._path = path
        self._find_break = find_break
        self._seen: StoreState | None = None
        self._file: _StoreFileState | None = None
        self._identity: tuple[int, int] | None = None
        self._changed = False
        self._next_s = 0.0
        # The chain was broken before this process opened the store: `verify` reports that, and
        # writes continue.
        self._broken_before = False

    def check_others(self, db: SqlConnection) -> None:
        """Raise `store_unavailable` if others broke the chain. Takes long: not in a transaction."""
        # There is nothing to check until `check` finds that others have written.
        if (known := self._seen) and self._next_s and time.monotonic() >= self._next_s:
            (version,) = db.execute("PRAGMA data_version").fetchone()
            if self._changed or version != known.version:
                self._seen, self._file = known._replace(version=version), self._look_at_file()
                self._changed = True
                self._check_others()

    def check(self, db: SqlConnection) -> StoreState:
        """The state of the store. Raises `store_unavailable` if it is not what was remembered."""
        known = self._seen
        if known is None:
            now = _look_at_end(db)
            if not now.fits:
                self._broken_before = True
                _log.warning("the record in %s is broken; run `handrail verify`", self._path)
            return now
        now = _look_at_end(db, known)
        if (now.row_hash, now.line_hash) != (known.row_hash, known.line_hash):
            raise self._refuse("what this process wrote last is gone or was changed")
        if not now.fits and not self._broken_before:
            raise self._refuse("rows were taken from its end or added to it")
        file = self._look_at_file()
        if now.version != known.version or file != self._file:
            self._changed = True
        self._seen, self._file = known._replace(version=now.version), file
        if self._changed and time.monotonic() >= self._next_s:
            self._check_others()
        return now

    def look(self, db: SqlConnection, chain: LedgerWriter | None = None) -> StoreState:
        """The state to remember if this transaction is committed; `chain` wrote all of it."""
        known = self._seen
        if chain is None or known is None:
            return _look_at_end(db)
        row, row_hash = chain.last_row or (known.last_row, known.row_hash)
        line, line_hash = chain.last_line or (known.last_line, known.line_hash)
        rows, lines, own = chain.end
        return StoreState(rows, lines, row, line, row_hash, line_hash, known.version, own)

    def remember(self, seen: StoreState) -> None:
        """Expect this state at the next `check`."""
        self._seen, self._file = seen, self._look_at_file()
        if self._identity is None and self._file is not None:
            self._identity = self._file.identity

    def _check_others(self) -> None:
        """Raise `store_unavailable` if what another connection wrote has broken the chain."""
        if self._file is None or self._file.identity != self._identity or self._broken_before:
            # A file that was removed or replaced is refused before the commit.
            return
        began = time.monotonic()
        broken = self._find_break(self._path, self._file.size)
        if broken is not None:
            raise self._refuse(broken)
        ended = time.monotonic()
        self._changed, self._next_s = False, ended + _PAUSE * (ended - began)

    def _look_at_file(self) -> _StoreFileState | None:
        if self._path == ":memory:":
            return None
        try:
            found = os.stat(self._path)  # noqa: PTH116 - for every commit; half the time of Path
        except OSError:
            return None
        return _StoreFileState((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)

    def _refuse(self, what: str) -> ProblemRaised:
        return problem_error(
            unavailable_problem(
                self._path,
                f"its record was changed from outside while it was open: {what}",
                "run `handrail verify` to see what is broken; put the store back, or open the"
                " workspace again to go on with a record that shows the break",
                retryable=False,
            )
        )


def _look_at_end(db: SqlConnection, at: StoreState | None = None) -> StoreState:
    wanted = (None, None) if at is None else (at.last_row or 0, at.last_line or 0)
    return StoreState(*db.execute(LOOK, wanted).fetchone())


def open_session(chain: LedgerWriter, session: str, info: str, at_ns: int, owner: str = "") -> bool:
    """Write the ledger's `open` line; return whether the session existed before."""
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
    """Write the ledger's `close` lines (session → owner): the number of rows of each session, and
    the hash of its last one.
    """
    db = chain.db
    for session, owner in sessions.items():
        if not _is_known(db, session):
            # Its opening was never committed.
            continue
        chain.add_line(session, "close", info, at_ns, owner=owner, head=read_head(db, session))
        db.execute("UPDATE sessions SET closed_ns = ? WHERE id = ?", (at_ns, session))


def read_head(db: SqlConnection, session: str) -> LedgerHead | None:
    """The last row of a session, None if it has none."""
    found = db.execute(
        "SELECT seq, hash FROM rows WHERE session = ? ORDER BY seq DESC LIMIT 1", (session,)
    ).fetchone()
    return LedgerHead(*found) if found else None


def hash_values(values: Mapping[tuple[str, str], str]) -> list[tuple[str, str, str]]:
    """Return session, key and hash of each value, as in a `state` line."""
    return [(*key, payload_hash(value.encode())) for key, value in values.items()]


def _is_known(db: SqlConnection, session: str) -> bool:
    found = db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,)).fetchone()
    return found is not None


def _insert(db: SqlConnection, head: str, columns: int, values: Sequence[object]) -> None:
    """Insert the rows whose values follow each other in `values`."""
    most = columns * max(one for one in _SIZES if one * columns <= _MAX_PARAMETERS)
    for start in range(0, len(values), most):
        part = values[start : start + most]
        size = next(one for one in _SIZES if one * columns >= len(part))
        if missing := size - len(part) // columns:
            # Values of the same types, because None takes ten times as long to bind as a text.
            filler = ["" if isinstance(one, str) else one for one in part[1 - columns :]]
            part = [*part, *[None, *filler] * missing]
        db.execute(_statement(head, columns, size, padded=missing > 0), part)


@cache
def _statement(head: str, columns: int, rows: int, *, padded: bool) -> str:
    marks = "(" + ",".join("?" * columns) + ")"
    values = f"VALUES {','.join([marks] * rows)}"
    if padded:
        values = f"SELECT * FROM ({values}) AS given WHERE column1 IS NOT NULL"  # noqa: S608
    return f"{head} {values}"
