"""The SQL of leases. Changes run inside the caller's write transaction, so that of several
processes one comes first.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path

from handrail.core.ports.leases import Lease, Reserved, overlap
from handrail.store.sqlite.connection import MEMORY


def acquire_leases(
    db: sqlite3.Connection,
    owner: str,
    globs: Sequence[str],
    now_ns: int,
    ttl_ns: int,
    process: str,
) -> Reserved:
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
        acquired.append(_give(db, owner, glob, now_ns + ttl_ns, process))
    return Reserved(acquired, denied)


def release_leases(db: sqlite3.Connection, owner: str, tokens: Sequence[str]) -> tuple[str, ...]:
    """Delete the owner's leases with these tokens; returns the tokens that existed."""
    return tuple(
        token
        for token in dict.fromkeys(tokens)
        if db.execute("DELETE FROM leases WHERE token = ? AND owner = ?", (token, owner)).rowcount
    )


def list_active_leases(db: sqlite3.Connection, now_ns: int) -> list[Lease]:
    """The leases that have not expired, in the order in which they were given."""
    found = db.execute(
        "SELECT token, owner, glob, until_ns, fence, process FROM leases WHERE until_ns > ?"
        " ORDER BY fence",
        (now_ns,),
    )
    return [Lease(*row) for row in found]


class LeaseReader:
    """Reads leases on a connection of its own, without waiting for the writer.

    The connection is opened at the first use and shared by all threads of the process.
    """

    def __init__(self, path: str) -> None:
        self._path = path
        self._db: sqlite3.Connection | None = None
        self._lock = threading.Lock()
        self._closed = path == MEMORY

    def leases(self, now_ns: int) -> list[Lease] | None:
        """The active leases; None if the writer has to be asked. Never waits."""
        if not self._lock.acquire(blocking=False):
            return None
        try:
            if self._closed:
                return None
            if self._db is None:
                self._db = self._open()
            return list_active_leases(self._db, now_ns)
        except sqlite3.Error:
            # Locked, damaged or missing: the writer waits, and reports the problem.
            return None
        finally:
            self._lock.release()

    def close(self) -> None:
        """Close the connection; afterwards `leases` returns None."""
        with self._lock:
            self._closed = True
            db, self._db = self._db, None
            if db is not None:
                with contextlib.suppress(sqlite3.Error):
                    db.close()

    def _open(self) -> sqlite3.Connection:
        address = f"{Path(self._path).as_uri()}?mode=ro"
        return sqlite3.connect(
            address, uri=True, timeout=0, isolation_level=None, check_same_thread=False
        )


def _give(db: sqlite3.Connection, owner: str, glob: str, until_ns: int, process: str) -> Lease:
    own = db.execute(
        "UPDATE leases SET until_ns = max(until_ns, ?), process = ? WHERE owner = ? AND glob = ?"
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
