"""The SQL of claims: which call of a named session has an id that its caller gave.

Runs inside the caller's write transaction, so that of several processes one comes first.
"""

from __future__ import annotations

import sqlite3

from handrail.core.ports.records import Claimed


def claim_call_id(
    db: sqlite3.Connection, session: str, call_id: str, fingerprint: str, owner: str, at_ns: int
) -> Claimed | None:
    """Take the id if nobody has; None if it is taken by this, else who has it."""
    # An id without a claim can be on record all the same: older stores had none, and the
    # ids that we make ourselves need none.
    done = db.execute(
        "INSERT INTO claims (session, call_id, fingerprint, owner, at_ns)"
        " SELECT ?1, ?2, ?3, ?4, ?5 WHERE NOT EXISTS (SELECT 1 FROM rows"
        " WHERE session = ?1 AND call_id = ?2 AND kind = 'completed')"
        " ON CONFLICT DO NOTHING",
        (session, call_id, fingerprint, owner, at_ns),
    )
    if done.rowcount:
        return None
    found = db.execute(
        "SELECT fingerprint, owner FROM claims WHERE session = ? AND call_id = ?",
        (session, call_id),
    ).fetchone()
    return Claimed(*found) if found else Claimed(None, "")


def take_over_claim(
    db: sqlite3.Connection, session: str, call_id: str, dead: str, owner: str
) -> bool:
    """Give the id to another owner, unless it has changed hands meanwhile."""
    done = db.execute(
        "UPDATE claims SET owner = ? WHERE session = ? AND call_id = ? AND owner = ?",
        (owner, session, call_id, dead),
    )
    return done.rowcount == 1
