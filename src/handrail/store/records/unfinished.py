"""The SQL that finds calls without an end. What is finished is not looked at again: watermarks
among the values of the store say up to where all of it is.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping
from typing import Final

from handrail.core.ports.records import CallRecord, OpenRequest
from handrail.store.chain.ledger import NO_SESSION, LedgerWriter
from handrail.store.records.calls import decode_call, find_attempt

# All intents up to this row have their completion; all requests up to this row have theirs.
_FINISHED: Final = "finished"
_ANSWERED: Final = "answered"
# A watermark is a line in the chain, so it moves in steps.
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


def list_unfinished(db: sqlite3.Connection, at_ns: int) -> list[CallRecord]:
    """Calls whose intent has no completion. Runs inside the caller's write transaction, and
    shortens the next search.
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


def find_unfinished(db: sqlite3.Connection) -> list[CallRecord]:
    """Calls whose intent has no completion."""
    intents = db.execute(_INTENTS, (read_watermark(db, _FINISHED),)).fetchall()
    return [find_attempt(db, *one[1:]) for one in intents]


def find_open_requests(db: sqlite3.Connection) -> list[tuple[int, OpenRequest]]:
    """Calls that were requested and have neither an intent nor a completion, and their rows."""
    found = db.execute(_REQUESTS, (read_watermark(db, _ANSWERED),)).fetchall()
    return [
        (row, OpenRequest(session, call_id, turn, str(decode_call(body).get("tool", "?")), owner))
        for row, session, call_id, turn, owner, body in found
        if not _has_intent(db, session, call_id)
    ]


def read_watermark(db: sqlite3.Connection, name: str) -> int:
    """The number up to which there is nothing left to look at."""
    found = db.execute(
        "SELECT value FROM session_state WHERE session = ? AND key = ?", (NO_SESSION, name)
    ).fetchone()
    return int(found[0]) if found else 0


def is_due(db: sqlite3.Connection, name: str) -> bool:
    """Whether it may be worth a line in the chain to move a watermark."""
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


def _has_intent(db: sqlite3.Connection, session: str, call_id: str) -> bool:
    found = db.execute(
        "SELECT kind FROM rows WHERE session = ? AND call_id = ? AND kind != 'completed'"
        " ORDER BY seq DESC LIMIT 1",
        (session, call_id),
    ).fetchone()
    return found is not None and found[0] == "intent"
