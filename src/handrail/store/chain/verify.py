"""Checks a store offline: recomputes every hash and names the first row that does not match."""

from __future__ import annotations

import sqlite3
from pathlib import Path
from typing import Final

from handrail.core.names.store_location import MEMORY
from handrail.core.ports.records import Integrity
from handrail.core.problems import ProblemRaised
from handrail.store.chain.chain_check import (
    BrokenChain,
    ChainFindings,
    check_chain,
    check_schema,
)
from handrail.store.opening import open_read_only
from handrail.store.sql import SqlConnection

# Larger stores are not checked completely after another process wrote to them: only their rows are
# counted.
_WHOLE_BYTES: Final = 4 << 20
# A store from before version 8 may have gaps in its numbers, which its migration noted.
_COUNT: Final = (
    "SELECT (SELECT count(*) FROM rows), (SELECT max(id) FROM rows),"
    " (SELECT count(*) FROM ledger), (SELECT max(id) FROM ledger),"
    " (SELECT coalesce(sum(after_row - rows), 0) FROM ledger WHERE kind = 'migrate')"
)


def verify(location: str | Path, anchor: str | None = None) -> Integrity:
    """Check every chain of a store, reading one consistent snapshot; writes nothing.

    An unbroken result proves that nothing in the chain (rows, ledger lines, sessions, values kept
    with sessions, payloads that were not purged) was changed, removed, added or reordered, unless
    all hashes after it and the noted end of the chain were recomputed. A process that can write the
    file can do that, and can replace it by an older copy. Both are detected only with an `anchor`,
    a head noted earlier somewhere else: `anchored` is True if it is the hash of a verified ledger
    line or row. A payload may be missing only where a purge is recorded, or where an older store
    had lost it before it was migrated (`missing_payloads`). Claims, leases and failed calls are
    working memory and not covered.

    Raises `store_unavailable` if there is no store to read.
    """
    if location == MEMORY:
        raise ProblemRaised(
            "store_unavailable",
            "a store in memory cannot be verified from outside",
            hint="open the workspace with a store on disk",
        )
    db = open_read_only(location)
    try:
        return check_integrity(db, anchor)
    finally:
        db.close()


def check_integrity(db: SqlConnection, anchor: str | None) -> Integrity:
    """Do what `verify` does, on a connection with a read transaction."""
    found = ChainFindings(anchor.strip().lower() if anchor else None)
    if isinstance(db, sqlite3.Connection):
        # Evidence that is not valid text must not stop the check.
        db.text_factory = _lenient
    try:
        check_chain(db, found)
    except BrokenChain as broken:
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
        missing_payloads=found.missing,
    )


def find_break(path: str, size: int) -> str | None:
    """Return how the chain of a store of this size is broken; None if it is not."""
    # A separate connection: what another one has in memory may not be in the file.
    db = open_read_only(path)
    try:
        return _find_break(db, size)
    finally:
        db.close()


def _find_break(db: SqlConnection, size: int) -> str | None:
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


def _lenient(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
