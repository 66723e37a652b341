"""The SQL of leases. Changes run inside the caller's write transaction, so that one of several
processes is first.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from handrail.core.ports.leases import Lease, Reservation, overlap
from handrail.store.sql import SqlConnection
from handrail.store.sqlite.connection import list_active_leases


def acquire_leases(
    db: SqlConnection,
    owner: str,
    globs: Sequence[str],
    now_ns: int,
    ttl_ns: int,
    process: str,
) -> Reservation:
    """Give each glob to the owner unless another owner's lease overlaps it."""
    db.execute("DELETE FROM leases WHERE until_ns <= ?", (now_ns,))
    acquired: list[Lease] = []
    denied: list[tuple[str, Lease]] = []
    for glob in dict.fromkeys(globs):
        held = list_active_leases(db, now_ns)
        other = next((one for one in held if one.owner != owner and overlap(one.glob, glob)), None)
        if other is not None:
            denied.append((glob, other))
            continue
        acquired.append(_insert_or_extend(db, owner, glob, now_ns + ttl_ns, process))
    return Reservation(acquired, denied)


def release_leases(db: SqlConnection, owner: str, tokens: Sequence[str]) -> tuple[str, ...]:
    """Delete the owner's leases with these tokens; return the tokens that existed."""
    return tuple(
        token
        for token in dict.fromkeys(tokens)
        if db.execute("DELETE FROM leases WHERE token = ? AND owner = ?", (token, owner)).rowcount
    )


def _insert_or_extend(
    db: SqlConnection, owner: str, glob: str, until_ns: int, process: str
) -> Lease:
    own = db.execute(
        "UPDATE leases SET until_ns = CASE WHEN until_ns < ?1 THEN ?1 ELSE until_ns END,"
        " process = ?2 WHERE owner = ?3 AND glob = ?4"
        " RETURNING token, owner, glob, until_ns, fence, process",
        (until_ns, process, owner, glob),
    ).fetchone()
    if own is None:
        own = db.execute(
            "INSERT INTO leases (token, owner, glob, until_ns, process) VALUES (?, ?, ?, ?, ?)"
            " RETURNING token, owner, glob, until_ns, fence, process",
            (os.urandom(8).hex(), owner, glob, until_ns, process),
        ).fetchone()
    return Lease(*own)
