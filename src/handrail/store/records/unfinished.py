"""The SQL that finds what dead processes left: calls without an end, and sessions that were not
closed.

Finished calls are not read again: watermarks among the store's values say up to which row all calls
are finished.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from handrail.core.ports.records import AbandonedWork, CallRecord, OpenRequest
from handrail.store.chain.ledger import NO_SESSION, LedgerWriter, close_sessions
from handrail.store.records.calls import decode_call, find_attempt
from handrail.store.records.sessions import (
    CLOSED,
    RECOVERED,
    IsAlive,
    SessionOpening,
    find_openings,
    may_be_open,
    read_watermark,
)
from handrail.store.sql import SqlConnection

# Up to these rows, all intents and all requests have their completions.
_FINISHED: Final = "finished"
_ANSWERED: Final = "answered"
# Moving a watermark adds a line to the chain, so it moves in steps.
_STEP: Final = 256

_INTENTS: Final = (
    "SELECT r.id, r.session, r.call_id, r.seq FROM rows r WHERE r.kind = 'intent' AND r.id > ?"
    " AND NOT EXISTS (SELECT 1 FROM rows c WHERE c.session = r.session"
    " AND c.call_id = r.call_id AND c.kind = 'completed' AND c.seq > r.seq) ORDER BY r.id"
)
_REQUESTS: Final = (
    "SELECT r.id, r.session, r.call_id, r.turn, k.owner, p.body FROM rows r"
    " LEFT JOIN payloads p ON p.row = r.id"
    " LEFT JOIN claims k ON k.session = r.session AND k.call_id = r.call_id"
    " WHERE r.kind = 'requested' AND r.id > ?"
    " AND NOT EXISTS (SELECT 1 FROM rows c WHERE c.session = r.session"
    " AND c.call_id = r.call_id AND c.kind = 'completed' AND c.seq > r.seq) ORDER BY r.id"
)


def list_unfinished(db: SqlConnection, at_ns: int) -> list[CallRecord]:
    """Return calls whose intent has no completion. Runs inside the caller's write transaction, and
    moves the watermark for the next search.
    """
    intents = db.execute(_INTENTS, (read_watermark(db, _FINISHED),)).fetchall()
    if is_due(db, _FINISHED) or is_due(db, _ANSWERED):
        requests = find_open_requests(db)
        chain = LedgerWriter(db)
        settled = {
            _FINISHED: min((one[0] for one in intents), default=chain.end.rows + 1) - 1,
            _ANSWERED: min((row for row, _ in requests), default=chain.end.rows + 1) - 1,
        }
        advance_watermarks(chain, settled, at_ns)
        chain.save()
    return [find_attempt(db, *one[1:]) for one in intents]


def find_unfinished(db: SqlConnection) -> list[CallRecord]:
    """Return calls whose intent has no completion."""
    intents = db.execute(_INTENTS, (read_watermark(db, _FINISHED),)).fetchall()
    return [find_attempt(db, *one[1:]) for one in intents]


def find_open_requests(db: SqlConnection) -> list[tuple[int, OpenRequest]]:
    """Return calls with a request but neither an intent nor a completion, and their rows."""
    found = db.execute(_REQUESTS, (read_watermark(db, _ANSWERED),)).fetchall()
    return [
        (row, OpenRequest(session, call_id, turn, str(decode_call(body).get("tool", "?")), owner))
        for row, session, call_id, turn, owner, body in found
        if not _has_intent(db, session, call_id)
    ]


def is_due(db: SqlConnection, name: str) -> bool:
    """Return whether moving a watermark is worth a line in the chain."""
    table = "ledger" if name not in (_FINISHED, _ANSWERED) else "rows"
    last: int = db.execute(f"SELECT coalesce(max(id), 0) FROM {table}").fetchone()[0]  # noqa: S608
    return last - read_watermark(db, name) >= _STEP


def advance_watermarks(chain: LedgerWriter, settled: Mapping[str, int], at_ns: int) -> None:
    """Move the watermarks that are far enough behind; the caller saves the chain."""
    moved = {
        (NO_SESSION, name): str(number)
        for name, number in settled.items()
        if number - read_watermark(chain.db, name) >= _STEP
    }
    chain.keep_values(moved, at_ns)


def _has_intent(db: SqlConnection, session: str, call_id: str) -> bool:
    found = db.execute(
        "SELECT kind FROM rows WHERE session = ? AND call_id = ? AND kind != 'completed'"
        " ORDER BY seq DESC LIMIT 1",
        (session, call_id),
    ).fetchone()
    return found is not None and found[0] == "intent"


def find_abandoned(
    db: SqlConnection, is_alive: IsAlive, opened: Mapping[str, str]
) -> AbandonedWork:
    """See `Store.abandoned`; `opened` are the sessions (with owner) that the caller has opened
    itself and in which it has made no call yet.
    """
    openings = find_openings(db)
    alive = {
        session: [one for one in its if may_be_open(db, one, is_alive)]
        for session, its in openings.items()
    }
    requests = [
        request
        for _, request in find_open_requests(db)
        if _has_died(request, alive.get(request.session, []), is_alive, opened)
    ]
    to_close = any(not its for its in alive.values()) or is_due(db, CLOSED)
    return AbandonedWork(requests, to_close)


def close_abandoned(db: SqlConnection, at_ns: int, is_alive: IsAlive) -> list[str]:
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


def _has_died(
    request: OpenRequest, alive: list[SessionOpening], is_alive: IsAlive, opened: Mapping[str, str]
) -> bool:
    """Return whether the process that made the request has died."""
    if request.owner is not None:
        return not is_alive(request.owner)
    # For a call without a claim the process is not known: it is one of those that had opened the
    # session, apart from the caller's own opening just now.
    own = [one for one in alive if one.owner == opened.get(request.session)]
    return len(alive) == len(own[:1])
