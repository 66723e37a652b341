"""The SQL of failed calls. Arguments and errors are stored without secrets that are recognisable by
their form.

It runs inside the caller's write transaction, so that one of several processes is first.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from handrail.store.chain.encoding import encode_json, redact, storable
from handrail.store.opening import BUSY_TIMEOUT_S, maintained_database
from handrail.store.sql import SqlConnection

if TYPE_CHECKING:
    from handrail.core.failed_calls import (
        FailedCall,
        FailedCallChange,
        FailedCallState,
        NewFailedCall,
    )

# The number of failed calls that are kept; beyond it the oldest is dropped. The record contains the
# call in any case.
MOST_PENDING: Final = 1_000
KEPT_NS: Final = 7 * 86_400 * 10**9

_COLUMNS: Final = (
    "id, session, call_id, workspace, agent, operation, arguments, redacted, error, state,"
    " attempts, owner, created_ns, changed_ns"
)
_OVER: Final = "state IN ('resolved', 'abandoned') AND changed_ns < ?"


def insert_failed_call(db: SqlConnection, call: NewFailedCall, at_ns: int) -> None:
    """Record a failed call, or count one more failure of an equal call that is waiting already."""
    arguments, redacted = _without_secrets(call.arguments)
    error, _ = _without_secrets(call.error)
    session, workspace = storable(call.session), storable(call.workspace)
    call_id, agent = storable(call.call_id), storable(call.agent)
    known = db.execute(
        "UPDATE dead_letters SET attempts = attempts + 1, error = ?, call_id = ?, changed_ns = ?"
        " WHERE state = 'pending' AND session = ? AND workspace = ? AND agent = ?"
        " AND operation = ? AND arguments = ?",
        (error, call_id, at_ns, session, workspace, agent, call.operation, arguments),
    )
    if known.rowcount:
        return
    db.execute(
        "INSERT INTO dead_letters (session, call_id, workspace, agent, operation, arguments,"
        " redacted, error, state, attempts, owner, created_ns, changed_ns)"
        " VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'pending', 1, '', ?, ?)",
        (session, call_id, workspace, agent, call.operation, arguments, int(redacted), error,
         at_ns, at_ns),
    )  # fmt: skip
    db.execute(
        "DELETE FROM dead_letters WHERE state = 'pending' AND id <= (SELECT id FROM dead_letters"
        " WHERE state = 'pending' ORDER BY id DESC LIMIT 1 OFFSET ?)",
        (MOST_PENDING,),
    )


def list_failed_calls(db: SqlConnection, state: FailedCallState | None) -> list[FailedCall]:
    """Return all failed calls, or those in one state, oldest first."""
    where, values = ("", ()) if state is None else (" WHERE state = ?", (state.value,))
    query = f"SELECT {_COLUMNS} FROM dead_letters{where} ORDER BY id"  # noqa: S608 - our columns
    return [_failed_call(row) for row in db.execute(query, values)]


def find_failed_call(db: SqlConnection, id: int) -> FailedCall | None:
    """Return one failed call; None if there is none of that number."""
    query = f"SELECT {_COLUMNS} FROM dead_letters WHERE id = ?"  # noqa: S608 - our columns
    row = db.execute(query, (id,)).fetchone()
    return None if row is None else _failed_call(row)


def set_failed_call_state(
    db: SqlConnection, seen: FailedCall, to: FailedCallChange, at_ns: int
) -> bool:
    """Change the state of a failed call, unless it was changed since it was read."""
    error = None if to.error is None else _without_secrets(to.error)[0]
    done = db.execute(
        "UPDATE dead_letters SET state = ?, owner = ?, error = coalesce(?, error),"
        " attempts = attempts + ?, changed_ns = ? WHERE id = ? AND state = ? AND owner = ?",
        (to.state.value, to.owner, error, int(error is not None), at_ns, seen.id, seen.state.value,
         seen.owner),
    )  # fmt: skip
    return done.rowcount == 1


def purge_failed_calls(location: str | Path, *, now_ns: int) -> int:
    """Delete failed calls resolved or abandoned over seven days ago; return their number."""
    with maintained_database(location) as database:
        database.erase_deleted()
        with database.writing("process", BUSY_TIMEOUT_S) as db:
            return db.execute(
                f"DELETE FROM dead_letters WHERE {_OVER}",  # noqa: S608 - our clause
                (now_ns - KEPT_NS,),
            ).rowcount


def count_expired(db: SqlConnection, *, now_ns: int) -> int:
    """Return how many calls `purge_failed_calls` would delete; 0 in a store too old for any."""
    if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'dead_letters'").fetchone():
        return 0
    query = f"SELECT count(*) FROM dead_letters WHERE {_OVER}"  # noqa: S608 - our clause
    count: int = db.execute(query, (now_ns - KEPT_NS,)).fetchone()[0]
    return count


def _without_secrets(value: Mapping[str, Any]) -> tuple[str, bool]:
    body = encode_json(value)
    kept = redact(body)
    return kept.decode(), kept != body


def _failed_call(row: tuple[Any, ...]) -> FailedCall:
    from handrail.core.failed_calls import FailedCall, FailedCallState

    named = dict(zip(_COLUMNS.split(", "), row, strict=True))
    return FailedCall(
        **{
            **named,
            "arguments": json.loads(named["arguments"]),
            "redacted": bool(named["redacted"]),
            "error": json.loads(named["error"]),
            "state": FailedCallState(named["state"]),
        }
    )
