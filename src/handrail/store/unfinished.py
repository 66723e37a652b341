"""The SQL that finds calls without an end. What is finished is not looked at again: watermarks
among the values of the store say up to where all of it is.
"""

from __future__ import annotations

import sqlite3
from typing import Final

from handrail.core.records import CallRecord, OpenRequest
from handrail.store.ledger import NO_SESSION, Chain
from handrail.store.queries import find_attempt

# All intents up to this row have their completion; all requests up to this row have theirs.
_FINISHED: Final = "finished"
_ANSWERED: Final = "answered"
# A watermark is a line in the chain, so it moves in steps.
_STEP: Final = 256

_INTENTS: Final = (
    "SELECT r.id, r.session, r.call_id, r.seq FROM rows r WHERE r.kind = 'intent' AND r.id > ?"
)
_REQUESTS: Final = (
    "SELECT r.id, r.session, r.call_id, r.turn, k.owner FROM rows r"
    " LEFT JOIN claims k ON k.session = r.session AND k.call_id = r.call_id"
    " WHERE r.kind = 'requested' AND r.id > ?"
)
_WITHOUT_END: Final = (
    " AND NOT EXISTS (SELECT 1 FROM rows c WHERE c.session = r.session"
    " AND c.call_id = r.call_id AND c.kind = 'completed' AND c.seq > r.seq) ORDER BY r.id"
)


def list_unfinished(db: sqlite3.Connection, at_ns: int) -> list[CallRecord]:
    """Calls whose intent has no completion."""
    found = db.execute(
        _INTENTS + _WITHOUT_END,
        (read_watermark(db, _FINISHED),),
    ).fetchall()
    _advance_to(db, _FINISHED, [one[0] for one in found], at_ns)
    return [find_attempt(db, *one[1:]) for one in found]


def list_open_requests(db: sqlite3.Connection, at_ns: int) -> list[OpenRequest]:
    """Calls that were requested and have neither an intent nor a completion."""
    found = db.execute(
        _REQUESTS + _WITHOUT_END,
        (read_watermark(db, _ANSWERED),),
    ).fetchall()
    _advance_to(db, _ANSWERED, [one[0] for one in found], at_ns)
    return [
        OpenRequest(session, call_id, turn, owner)
        for _, session, call_id, turn, owner in found
        if not _has_intent(db, session, call_id)
    ]


def read_watermark(db: sqlite3.Connection, name: str) -> int:
    """The number up to which there is nothing left to look at."""
    found = db.execute(
        "SELECT value FROM session_state WHERE session = ? AND key = ?", (NO_SESSION, name)
    ).fetchone()
    return int(found[0]) if found else 0


def advance_watermark(chain: Chain, name: str, number: int, at_ns: int) -> None:
    """Move the watermark if that is worth a line in the chain; the caller saves the chain."""
    if number - read_watermark(chain.db, name) >= _STEP:
        chain.keep_values({(NO_SESSION, name): str(number)}, at_ns)


def _advance_to(db: sqlite3.Connection, name: str, unfinished: list[int], at_ns: int) -> None:
    chain = Chain(db)
    settled = min(unfinished) - 1 if unfinished else chain.end.rows
    before = chain.end
    advance_watermark(chain, name, settled, at_ns)
    if chain.end != before:
        chain.save()


def _has_intent(db: sqlite3.Connection, session: str, call_id: str) -> bool:
    found = db.execute(
        "SELECT kind FROM rows WHERE session = ? AND call_id = ? AND kind != 'completed'"
        " ORDER BY seq DESC LIMIT 1",
        (session, call_id),
    ).fetchone()
    return found is not None and found[0] == "intent"
