"""The migration to one chain: its first line records the state of the older store."""

from __future__ import annotations

import hashlib
import time
from typing import Final

from handrail.store.chain.encoding import GENESIS, encode_json
from handrail.store.chain.ledger import (
    NO_SESSION,
    LedgerHead,
    LedgerWriter,
    hash_values,
)
from handrail.store.chain.ledger_notes import find_ranges
from handrail.store.sql import SqlConnection

# The schema version since which there is one chain for the whole store.
ONE_CHAIN: Final = 8


def join_session_chains(db: SqlConnection) -> None:
    """Write the end of the chain, and for a store that has rows the `migrate` line: a digest of all
    rows, the missing payloads, the hashes of kept values.

    Runs inside the transaction of its migration. Payloads that are missing by then may have been
    purged or removed; that was not recorded, so the line only says that they are missing.
    """
    rows, last, hash_ = db.execute(
        "SELECT (SELECT count(*) FROM rows), (SELECT coalesce(max(id), 0) FROM rows),"
        " (SELECT hash FROM ledger ORDER BY id DESC LIMIT 1)"
    ).fetchone()
    line = db.execute("SELECT coalesce(max(id), 0) FROM ledger").fetchone()[0]
    db.execute("INSERT INTO chain_end VALUES (1, ?, ?, ?)", (last, line, hash_ or GENESIS))
    values = {
        (session, key): value
        for session, key, value in db.execute("SELECT session, key, value FROM session_state")
    }
    if not (rows or line or values):
        return
    info = {
        "digest": digest_rows(db, last),
        "missing": find_ranges(_without_payload(db)),
        "state": hash_values(values),
    }
    chain = LedgerWriter(db)
    head = LedgerHead(rows, GENESIS)
    chain.add_line(NO_SESSION, "migrate", encode_json(info).decode(), time.time_ns(), head=head)
    chain.save()


def digest_rows(db: SqlConnection, last: int) -> str:
    """Return one hash over the numbers and hashes of all rows up to `last`."""
    digest = hashlib.sha256()
    for number, own in db.execute("SELECT id, hash FROM rows WHERE id <= ? ORDER BY id", (last,)):
        digest.update(f"{number},{own};".encode("utf-8", "surrogateescape"))
    return digest.hexdigest()


def _without_payload(db: SqlConnection) -> list[int]:
    found = db.execute("SELECT id FROM rows WHERE id NOT IN (SELECT row FROM payloads)")
    return [number for (number,) in found]
