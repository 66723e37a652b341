"""The SQL of what dead processes have left: sessions that were not closed, requests without an
end.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from handrail.core.ports.records import Abandoned, OpenRequest
from handrail.store.chain.ledger import LedgerWriter, close_sessions
from handrail.store.records.sessions import (
    CLOSED,
    RECOVERED,
    IsAlive,
    SessionOpening,
    find_openings,
    may_be_open,
)
from handrail.store.records.unfinished import (
    advance_watermarks,
    find_open_requests,
    find_unfinished,
    is_due,
)


def find_abandoned(
    db: sqlite3.Connection, is_alive: IsAlive, opened: Mapping[str, str]
) -> Abandoned:
    """See `Store.abandoned`; `opened` are the sessions (with owner) that the caller has opened
    itself and has made no call in yet.
    """
    openings = find_openings(db)
    alive = {
        session: [one for one in its if may_be_open(db, one, is_alive)]
        for session, its in openings.items()
    }
    requests = [
        request
        for _, request in find_open_requests(db)
        if _is_over(request, alive.get(request.session, []), is_alive, opened)
    ]
    to_close = any(not its for its in alive.values()) or is_due(db, CLOSED)
    return Abandoned(requests, to_close)


def close_abandoned(db: sqlite3.Connection, at_ns: int, is_alive: IsAlive) -> list[str]:
    """See `Store.close_abandoned`. Runs inside the caller's write transaction."""
    unfinished = {call.session for call in find_unfinished(db)}
    unfinished |= {request.session for _, request in find_open_requests(db)}
    chain, closed = LedgerWriter(db), []
    openings = find_openings(db)
    for session, its in openings.items():
        if session in unfinished or any(may_be_open(db, one, is_alive) for one in its):
            continue
        for opening in its:
            close_sessions(chain, {session: opening.owner}, at_ns, RECOVERED)
        closed.append(session)
    left = [one.line for name, its in openings.items() if name not in closed for one in its]
    advance_watermarks(chain, {CLOSED: min(left) - 1 if left else chain.end.line}, at_ns)
    chain.save()
    return closed


def _is_over(
    request: OpenRequest, alive: list[SessionOpening], is_alive: IsAlive, opened: Mapping[str, str]
) -> bool:
    """Whether the process that made the request has died."""
    if request.owner is not None:
        return not is_alive(request.owner)
    # Of a call without a claim the process is not known: it is one of those that had opened
    # the session, apart from the caller's own opening just now.
    own = [one for one in alive if one.owner == opened.get(request.session)]
    return len(alive) == len(own[:1])
