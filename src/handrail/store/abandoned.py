"""The SQL of what dead processes have left: sessions that were not closed, requests without an
end. Runs inside the caller's write transaction.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping

from handrail.core.records import OpenRequest
from handrail.store.ledger import Chain, close_sessions
from handrail.store.sessions import CLOSED, RECOVERED, IsAlive, find_openings, may_be_open
from handrail.store.unfinished import advance_watermark, list_open_requests, list_unfinished


def close_abandoned(db: sqlite3.Connection, at_ns: int, is_alive: IsAlive) -> list[str]:
    """See `Store.close_abandoned`."""
    unfinished = {call.session for call in list_unfinished(db, at_ns)}
    unfinished |= {call.session for call in list_open_requests(db, at_ns)}
    chain, closed = Chain(db), []
    openings = find_openings(db)
    for session, its in openings.items():
        if session in unfinished or any(may_be_open(db, one, is_alive) for one in its):
            continue
        for opening in its:
            close_sessions(chain, {session: opening.owner}, at_ns, RECOVERED)
        closed.append(session)
    left = [one.line for name, its in openings.items() if name not in closed for one in its]
    settled = min(left) - 1 if left else chain.end.line
    advance_watermark(chain, CLOSED, settled, at_ns)
    chain.save()
    return closed


def find_interrupted(
    db: sqlite3.Connection, at_ns: int, is_alive: IsAlive, opened: Mapping[str, str]
) -> list[OpenRequest]:
    """See `Store.interrupted_requests`; `opened` are the sessions (with owner) that the caller
    has opened itself and has made no call in yet.
    """
    requests = list_open_requests(db, at_ns)
    openings = find_openings(db) if requests else {}
    living: set[str] = set()
    for session, its in openings.items():
        owners = [one for one in its if may_be_open(db, one, is_alive)]
        own = [one for one in owners if one.owner == opened.get(session)]
        if len(owners) > len(own[:1]):
            living.add(session)
    return [
        request
        for request in requests
        if (request.session not in living if request.owner is None else not is_alive(request.owner))
    ]
