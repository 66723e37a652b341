"""The SQL of sessions: which process opened and closed them, and which openings were never closed.

It runs inside the caller's write transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from handrail.store.chain.ledger import NO_SESSION, LedgerWriter, close_sessions, open_session
from handrail.store.sql import SqlConnection

# All openings up to this line of the ledger were closed.
CLOSED: Final = "closed"
RECOVERED: Final = '{"recovered":true}'

IsAlive = Callable[[str], bool]


class SessionOpening(NamedTuple):
    """An opening of a session that no line of the ledger closes."""

    line: int
    owner: str


def read_watermark(db: SqlConnection, name: str) -> int:
    """Return the number of the last row or line that need not be read again."""
    found = db.execute(
        "SELECT value FROM session_state WHERE session = ? AND key = ?", (NO_SESSION, name)
    ).fetchone()
    return int(found[0]) if found else 0


def begin_session(
    db: SqlConnection,
    session: str,
    info: str,
    at_ns: int,
    owner: str,
    is_alive: IsAlive | None = None,
) -> bool:
    """Record that a session is opened, after closing the openings of it by processes that have
    died. Returns whether the session existed before.
    """
    chain = LedgerWriter(db)
    if is_alive is not None:
        for opening in find_openings(db).get(session, ()):
            if not may_be_open(db, opening, is_alive):
                close_sessions(chain, {session: opening.owner}, at_ns, RECOVERED)
    existed = open_session(chain, session, info, at_ns, owner)
    chain.save()
    return existed


def end_sessions(db: SqlConnection, opened: Mapping[str, str], at_ns: int) -> None:
    """Record that sessions are closed (session → owner)."""
    if opened:
        chain = LedgerWriter(db)
        close_sessions(chain, opened, at_ns)
        chain.save()


def find_openings(db: SqlConnection) -> dict[str, list[SessionOpening]]:
    """Return the openings that were not closed, by session, oldest first."""
    found: dict[str, list[SessionOpening]] = {}
    for line, session, kind, owner in db.execute(
        "SELECT id, session, kind, owner FROM ledger WHERE id > ? AND session != ? ORDER BY id",
        (read_watermark(db, CLOSED), NO_SESSION),
    ):
        openings = found.setdefault(session, [])
        if kind == "open":
            openings.append(SessionOpening(line, owner))
            continue
        for at, opening in enumerate(openings):
            if opening.owner == owner:
                del openings[at]
                break
    return {session: openings for session, openings in found.items() if openings}


def may_be_open(db: SqlConnection, opening: SessionOpening, is_alive: IsAlive) -> bool:
    """Return whether the process that opened a session may still work in it."""
    if opening.owner:
        return is_alive(opening.owner)
    # Before the ledger was part of one chain, the owner was not recorded; no process of such a
    # version can still use the store now.
    migrated = db.execute("SELECT max(id) FROM ledger WHERE kind = 'migrate'").fetchone()[0]
    return opening.line > (migrated or 0)
