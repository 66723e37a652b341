"""The SQL that reads calls and sessions from the rows, and claims the ids of calls.

Claims run inside the caller's write transaction, so that one of several processes is first.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from itertools import chain, islice
from typing import Any, Final

from handrail.core.call import call_owner
from handrail.core.ports.records import CallClaim, CallRecord, SessionRecord
from handrail.store.records.contents import expand_body
from handrail.store.sql import SqlConnection

# Shown in place of a payload that was purged.
PURGED: Final[Mapping[str, Any]] = {"purged": True}
# A limit that returns everything.
ALL: Final = 2**62


def find_completed(db: SqlConnection, session: str, call_id: str) -> CallRecord | None:
    """Return the last completed call of this id in the session.

    The last one, because a call that was cancelled before it changed anything is recorded as
    completed too, and its id may be used again. A call that a crash ended before it changed
    anything does not count: it has no result and may be repeated.
    """
    found = None
    for record in _attempts(db, session, call_id, 0):
        if record.completed is not None and not record.completed.get("not_started"):
            found = record
    return found


# The agent of a call is in the payload of its request. The query finds payloads that contain the
# name; whether the name is that of the agent is checked afterwards.
_BY_AGENT: Final = "(SELECT instr(body, ?) > 0 FROM payloads WHERE row = rows.id)"

# Takes the values of `conversation_values`.
OF_CONVERSATION: Final = "({0}session = ? OR instr({0}call_id, ?) = 1)"


def conversation_values(conversation: str) -> tuple[str, str]:
    """Return the session of the same name, and the prefix of the ids of a conversation's calls."""
    return conversation, f"{call_owner(conversation)}."


def optional_values(given: Mapping[str, Any]) -> dict[str, tuple[Any, ...]]:
    """Return the values for clauses with one parameter each; none where the value is None."""
    return {clause: () if value is None else (value,) for clause, value in given.items()}


def list_calls(
    db: SqlConnection,
    session: str | None,
    call_id: str | None,
    limit: int,
    before_ns: int | None,
    turn: int | None = None,
    agent: str | None = None,
    conversation: str | None = None,
) -> list[CallRecord]:
    """Return calls by the time they were requested, newest first. The calls of a `conversation` are
    in any session; all calls of the session of the same name belong to it.
    """
    wanted = {
        _BY_AGENT: () if agent is None else (_agent_text(agent),),
        OF_CONVERSATION.format("rows."): conversation_values(conversation) if conversation else (),
        **optional_values(
            {
                "session = ?": session,
                "call_id = ?": call_id,
                "at_ns < ?": before_ns,
                "turn = ?": turn,
            }
        ),
    }
    used = {clause: values for clause, values in wanted.items() if values}
    where = " AND ".join(["kind = 'requested'", *used])
    starts = db.execute(
        f"SELECT session, call_id, seq FROM rows WHERE {where}"  # noqa: S608 - clauses from above
        " ORDER BY at_ns DESC, id DESC LIMIT ?",
        (*chain.from_iterable(used.values()), limit if agent is None else ALL),
    ).fetchall()
    found = (next(_attempts(db, *start)) for start in starts)
    if agent is None:
        return list(found)
    return list(islice((one for one in found if one.requested.get("agent") == agent), limit))


def _agent_text(agent: str) -> str:
    """The text that a payload of the agent contains. A name that is not ASCII has two spellings."""
    return f'"agent":{json.dumps(agent)}' if agent.isascii() else '"agent":'


def load_payload(db: SqlConnection, row: int) -> Mapping[str, Any]:
    """Return the payload of one row, or a note that it was purged."""
    return decode_call(load_body(db, row))


def load_body(db: SqlConnection, row: int) -> str | None:
    """Return the payload of a row as JSON; None if it was purged."""
    found = db.execute("SELECT body FROM payloads WHERE row = ?", (row,)).fetchone()
    return None if found is None else expand_body(db, found[0])


def find_attempt(db: SqlConnection, session: str, call_id: str, seq: int) -> CallRecord:
    """The call that a row belongs to: from the request before the row to the next request."""
    start = db.execute(
        "SELECT max(seq) FROM rows WHERE session = ? AND call_id = ? AND kind = 'requested'"
        " AND seq < ?",
        (session, call_id, seq),
    ).fetchone()[0]
    return next(_attempts(db, session, call_id, start or 0))


def list_sessions(db: SqlConnection, limit: int) -> list[SessionRecord]:
    """Return sessions by their latest opening, newest first."""
    found = db.execute(
        "SELECT s.id, s.ordinal, s.opened_ns, s.closed_ns,"
        " (SELECT coalesce(max(seq), 0) FROM rows WHERE session = s.id), l.info"
        " FROM (SELECT session, max(id) AS id FROM ledger WHERE kind = 'open' GROUP BY session) o"
        " JOIN ledger l ON l.id = o.id JOIN sessions s ON s.id = o.session"
        " ORDER BY l.id DESC LIMIT ?",
        (limit,),
    )
    return [
        SessionRecord(session, ordinal, opened_ns, closed_ns, rows, decode_call(info))
        for session, ordinal, opened_ns, closed_ns, rows, info in found
    ]


def is_recorded(db: SqlConnection, session: str) -> bool:
    """Return whether a session of this name was ever opened."""
    found = db.execute("SELECT 1 FROM sessions WHERE id = ?", (session,))
    return found.fetchone() is not None


def load_state(db: SqlConnection, session: str) -> dict[str, Any]:
    """Return what was saved with a session, by key."""
    found = db.execute("SELECT key, value FROM session_state WHERE session = ?", (session,))
    return {key: json.loads(value) for key, value in found}


def load_parts(db: SqlConnection, session: str, name: str, after_seq: int) -> tuple[int, list[Any]]:
    """See `Store.parts_of_calls`."""
    last = db.execute("SELECT max(seq) FROM rows WHERE session = ?", (session,)).fetchone()[0]
    found = db.execute(
        "SELECT p.body FROM rows r JOIN payloads p ON p.row = r.id WHERE r.session = ?"
        " AND r.seq > ? AND r.kind = 'completed' AND instr(p.body, ?) > 0 ORDER BY r.seq",
        (session, after_seq, f'"{name}":'),
    )
    payloads = [decode_call(expand_body(db, body)) for (body,) in found]
    return last or 0, [payload[name] for payload in payloads if name in payload]


def _attempts(
    db: SqlConnection, session: str, call_id: str, first_seq: int
) -> Iterator[CallRecord]:
    """Return the calls of one id, oldest first; each extends from its request to the next one."""
    rows = db.execute(
        "SELECT kind, turn, at_ns, body FROM rows LEFT JOIN payloads ON payloads.row = rows.id"
        " WHERE session = ? AND call_id = ? AND seq >= ? ORDER BY seq",
        (session, call_id, first_seq),
    )
    steps: dict[str, tuple[int, int, str | None]] = {}
    for kind, turn, at_ns, body in rows:
        if kind == "requested" and "requested" in steps:
            yield _record(session, call_id, steps)
            steps = {}
        steps.setdefault(kind, (turn, at_ns, expand_body(db, body)))
    if "requested" in steps:
        yield _record(session, call_id, steps)


def _record(
    session: str, call_id: str, steps: Mapping[str, tuple[int, int, str | None]]
) -> CallRecord:
    turn, requested_ns, requested = steps["requested"]
    intent = steps.get("intent")
    completed = steps.get("completed")
    return CallRecord(
        session,
        call_id,
        turn,
        requested_ns,
        decode_call(requested),
        decode_call(intent[2]) if intent else None,
        decode_call(completed[2]) if completed else None,
        completed[1] if completed else None,
    )


def decode_call(
    body: str | None, trim: Callable[[dict[str, Any]], Any] | None = None
) -> Mapping[str, Any]:
    """Decode a payload; a missing or unreadable one is replaced by a note. `trim` reduces each
    object as soon as it is read, so that unneeded data does not accumulate.
    """
    if body is None:
        return PURGED
    try:
        payload = json.loads(body, object_hook=trim)
    except ValueError as error:
        # The payload was edited by hand; `verify` names the row, and the list stays readable.
        return {"unreadable": str(error)}
    return payload if isinstance(payload, dict) else {"value": payload}


def claim_call_id(
    db: SqlConnection, session: str, call_id: str, fingerprint: str, owner: str, at_ns: int
) -> CallClaim | None:
    """Claim the id if it is free; return None on success, else the present claim."""
    # An id without a claim may be recorded anyway: older stores had no claims, and ids that
    # Handrail generates need none.
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
    return CallClaim(*found) if found else CallClaim(None, "")


def take_over_claim(db: SqlConnection, session: str, call_id: str, dead: str, owner: str) -> bool:
    """Give the id to another owner, unless the owner has changed meanwhile."""
    done = db.execute(
        "UPDATE claims SET owner = ? WHERE session = ? AND call_id = ? AND owner = ?",
        (owner, session, call_id, dead),
    )
    return done.rowcount == 1
