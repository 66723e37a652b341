"""Whether the store still holds what this process wrote: asked in every write transaction.

The writer remembers the last row and the last ledger line it saw. If the tables disagree, or
somebody else's change has broken the chain, the transaction is refused: a record that somebody
changes behind a running process must not go on as if nothing had happened.
"""

from __future__ import annotations

import logging
import os
import sqlite3
import time
from typing import Final, NamedTuple

from handrail.core.problems import ProblemRaised
from handrail.store.chain.chain_check import BrokenChain, check_schema
from handrail.store.chain.verify import check_integrity
from handrail.store.sqlite.connection import MEMORY, open_read_only
from handrail.store.sqlite.errors import problem_error, unavailable_problem

# Stores up to this size are checked as a whole when somebody else has written to them, for at
# most this share of the time; of larger ones the rows are counted.
_WHOLE_BYTES: Final = 4 << 20
_PAUSE: Final = 20

_LOOK: Final = (
    "SELECT e.rows, e.line, (SELECT max(id) FROM rows), (SELECT max(id) FROM ledger),"
    " (SELECT hash FROM rows WHERE id = coalesce(?1, e.rows)),"
    " (SELECT hash FROM ledger WHERE id = coalesce(?2, e.line))"
    " FROM (SELECT 1) LEFT JOIN chain_end e"
)
# A store from before version 8 may have had gaps in its numbers, which its migration noted.
_COUNT: Final = (
    "SELECT (SELECT count(*) FROM rows), (SELECT max(id) FROM rows),"
    " (SELECT count(*) FROM ledger), (SELECT max(id) FROM ledger),"
    " (SELECT coalesce(sum(after_row - rows), 0) FROM ledger WHERE kind = 'migrate')"
)
_log = logging.getLogger("handrail")


class _StoreState(NamedTuple):
    """The end of the chain as it was seen last: numbers, their hashes, and SQLite's number
    that changes with every commit of another connection.
    """

    rows: int | None
    line: int | None
    last_row: int | None
    last_line: int | None
    row_hash: str | None
    line_hash: str | None
    version: int

    @property
    def fits(self) -> bool:
        """Whether the end that is noted is the end of the tables."""
        return (self.rows, self.line) == (self.last_row or 0, self.last_line or 0)


class _FileState(NamedTuple):
    """The main file of the store, which changes only when the log is carried over to it."""

    identity: tuple[int, int]
    size: int
    mtime_ns: int


class ChainGuard:
    """Belongs to one connection. `check_integrity` first in a write transaction, `look` last in it, and
    `remember` what was seen once it is committed.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._seen: _StoreState | None = None
        self._file: _FileState | None = None
        self._identity: tuple[int, int] | None = None
        self._changed = False
        self._next_s = 0.0
        # Broken before this process came: `verify` says so, and it is no news to refuse for.
        self._broken_before = False

    def check(self, db: sqlite3.Connection) -> None:
        """Raise `store_unavailable` if the store is not what was remembered."""
        known = self._seen
        if known is None:
            now = _look(db)
            if not now.fits:
                self._broken_before = True
                _log.warning("the record in %s is broken; run `handrail verify`", self._path)
            return
        now = _look(db, known)
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

    def look(self, db: sqlite3.Connection) -> _StoreState:
        """What is to be remembered if this transaction is committed."""
        return _look(db)

    def remember(self, seen: _StoreState) -> None:
        """Take this as the state to be found next time."""
        self._seen, self._file = seen, self._look_at_file()
        if self._identity is None and self._file is not None:
            self._identity = self._file.identity

    def _check_others(self) -> None:
        """Another connection has written: whether it only did what Handrail does."""
        if self._file is None or self._file.identity != self._identity or self._broken_before:
            # A file that is gone or another one is refused before the commit.
            return
        began = time.monotonic()
        # A connection of its own: what this one has in its memory may not be in the file.
        db = open_read_only(self._path)
        try:
            broken = _find_break(db, self._file.size)
        finally:
            db.close()
        if broken is not None:
            raise self._refuse(broken)
        ended = time.monotonic()
        self._changed, self._next_s = False, ended + _PAUSE * (ended - began)

    def _look_at_file(self) -> _FileState | None:
        if self._path == MEMORY:
            return None
        try:
            found = os.stat(self._path)  # noqa: PTH116 - for every commit; half the time of Path
        except OSError:
            return None
        return _FileState((found.st_dev, found.st_ino), found.st_size, found.st_mtime_ns)

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


def _look(db: sqlite3.Connection, at: _StoreState | None = None) -> _StoreState:
    wanted = (None, None) if at is None else (at.last_row or 0, at.last_line or 0)
    version = db.execute("PRAGMA data_version").fetchone()[0]
    rows, line, last_row, last_line, row_hash, line_hash = db.execute(_LOOK, wanted).fetchone()
    return _StoreState(rows, line, last_row, last_line, row_hash, line_hash, version)


def _find_break(db: sqlite3.Connection, size: int) -> str | None:
    if size <= _WHOLE_BYTES:
        return check_integrity(db, None).broken
    try:
        check_schema(db)
        rows, last, lines, last_line, gaps = db.execute(_COUNT).fetchone()
    except BrokenChain as broken:
        return str(broken)
    except sqlite3.DatabaseError as error:
        return f"the file is damaged: {error}"
    whole = rows + gaps == (last or 0) and lines == (last_line or 0)
    return None if whole else "rows were removed"
