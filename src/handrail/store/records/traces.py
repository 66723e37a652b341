"""The SQL that reads recorded changes without the contents, for undo and its history."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from sys import intern
from typing import Any, Final, NamedTuple

from handrail.core.ports.records import OpenedSession, Trace, Where
from handrail.store.records.calls import (
    ALL,
    OF_CONVERSATION,
    conversation_values,
    decode_call,
    load_body,
    optional_values,
)
from handrail.store.records.contents import expand_body
from handrail.store.sql import SqlConnection

# The fields that decide about undo; the rest of a payload (texts, output) is not read.
_INTENT: Final = ("tool", "owner", "run", "runs", "token", "data", "changes", "effects", "purged")
_COMPLETED: Final = ("tool", "status", "changes", "effects", "purged")
_LISTS: Final = ("changes", "unattributed")
_UNUSED: Final = frozenset({"before", "absolute"})
_WORDS: Final = frozenset({"operation", "image", "before_form", "after_form", "doubt"})

_QUERY: Final = (
    "SELECT i.id, i.session, i.call_id, i.turn, i.at_ns, p.body, c.id, d.body"
    " FROM rows i LEFT JOIN payloads p ON p.row = i.id"
    " LEFT JOIN rows c ON c.id = (SELECT min(x.id) FROM rows x WHERE x.session = i.session"
    " AND x.call_id = i.call_id AND x.kind = 'completed' AND x.seq > i.seq)"
    " LEFT JOIN payloads d ON d.row = c.id WHERE "
)


class TraceFilter(NamedTuple):
    """Selects traces: all given conditions must hold; `before` is a row."""

    session: str | None = None
    call_id: str | None = None
    turn: int | None = None
    before: int | None = None
    # Calls of this conversation in any session, and those of the session of the same name.
    conversation: str | None = None


def list_traces(
    db: SqlConnection, wanted: TraceFilter | None = None, limit: int = -1
) -> list[Trace]:
    """Return calls that announced a change, newest first; a negative limit means all."""
    return list(iter_traces(db, wanted, limit))


def iter_traces(
    db: SqlConnection, wanted: TraceFilter | None = None, limit: int = -1
) -> Iterator[Trace]:
    """Yield what `list_traces` returns, one by one."""
    found = wanted or TraceFilter()
    talk = found.conversation
    clauses = {
        **optional_values(
            {
                "i.session = ?": found.session,
                "i.call_id = ?": found.call_id,
                "i.turn = ?": found.turn,
                "i.id < ?": found.before,
            }
        ),
        OF_CONVERSATION.format("i."): conversation_values(talk) if talk else (),
    }
    used = {clause: values for clause, values in clauses.items() if values}
    where = " AND ".join(["i.kind = 'intent'", *used])
    rows = db.execute(
        f"{_QUERY}{where} ORDER BY i.id DESC LIMIT ?",
        (*chain.from_iterable(used.values()), limit if limit >= 0 else ALL),
    )
    for row, session, call_id, turn, at_ns, intent, done, completed in rows:
        yield Trace(
            row,
            session,
            call_id,
            turn,
            at_ns,
            _select_fields(decode_call(intent, _trimmed), _INTENT),
            done,
            None if done is None else _completed_fields(db, completed),
        )


def load_contents(db: SqlConnection, row: int) -> dict[Where, str]:
    """Return the old contents in the payload of a row, by the position of the described change."""
    payload = decode_call(load_body(db, row), _keep_old_content)
    effects = payload.get("effects")
    lists: dict[tuple[str, ...], Any] = {("changes",): payload.get("changes")}
    if isinstance(effects, Mapping):
        lists |= {("effects", name): effects.get(name) for name in _LISTS}
    return {
        (*where, number): one["before"]
        for where, described in lists.items()
        for number, one in enumerate(described if isinstance(described, list) else ())
        if isinstance(one, Mapping) and "before" in one
    }


def list_openings(db: SqlConnection) -> list[OpenedSession]:
    """Return when sessions were opened, oldest first. The command line opens its own session each
    time, so only the first of several equal ones in a row is returned.
    """
    last: dict[str, str] = {}
    found = []
    for session, at_ns, info in db.execute(
        "SELECT session, at_ns, info FROM ledger WHERE kind = 'open' ORDER BY id"
    ):
        if last.get(session) != info:
            last[session] = info
            found.append(OpenedSession(session, at_ns, decode_call(info)))
    return found


def running_owners(db: SqlConnection) -> set[str]:
    """Return the processes that announced a change which has not ended."""
    found = db.execute(
        "SELECT p.body FROM rows i LEFT JOIN payloads p ON p.row = i.id WHERE i.kind = 'intent'"
        " AND NOT EXISTS (SELECT 1 FROM rows c WHERE c.session = i.session"
        " AND c.call_id = i.call_id AND c.kind = 'completed' AND c.seq > i.seq)"
    )
    return {str(decode_call(body).get("owner", "")) for (body,) in found}


def promised_contents(db: SqlConnection, *, dropped_before_ns: int | None = None) -> set[str]:
    """Return the hashes of old contents, kept as files, that a recorded call may still need,
    without completed calls that were requested before a time.
    """
    promised: set[str] = set()
    for trace in iter_traces(db):
        if dropped_before_ns is not None and _purgeable(db, trace, dropped_before_ns):
            continue
        effects = (trace.completed or {}).get("effects")
        for holder in (trace.intent, effects if isinstance(effects, Mapping) else {}):
            for name in _LISTS:
                promised.update(_blobs(holder.get(name)))
    return promised


def _purgeable(db: SqlConnection, trace: Trace, before_ns: int) -> bool:
    if trace.completed_row is None:
        return False
    return bool(
        db.execute(
            "SELECT 1 FROM rows WHERE session = ? AND call_id = ? AND kind = 'requested'"
            " AND at_ns < ? LIMIT 1",
            (trace.session, trace.call_id, before_ns),
        ).fetchone()
    )


def _blobs(described: Any) -> Iterator[str]:
    for one in described if isinstance(described, list) else ():
        if isinstance(one, Mapping) and one.get("image") == "blob":
            yield str(one["before_hash"])


def _select_fields(payload: Mapping[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    light = {name: payload[name] for name in names if name in payload}
    if names is _COMPLETED and isinstance(light.get("changes"), list):
        # Only their presence matters; the intent and the effects have the details.
        light["changes"] = light["changes"][:1]
    return light


def _completed_fields(db: SqlConnection, body: str | None) -> dict[str, Any]:
    return _select_fields(decode_call(expand_body(db, body), _trimmed), _COMPLETED)


def _keep_old_content(value: dict[str, Any]) -> Any:
    """Reduce an object of a payload while it is read to the old content of a described change."""
    if "image" not in value or "path" not in value:
        return value
    return {"before": value["before"]} if "before" in value else None


def _trimmed(value: dict[str, Any]) -> dict[str, Any]:
    """Reduce an object of a payload while it is read: a described change loses its old content and
    its second name and shares equal texts; the data of an undo loses the list of paths that its
    calls contain as well.
    """
    if "image" in value and "path" in value:
        return {
            name: intern(part) if name in _WORDS and isinstance(part, str) else part
            for name, part in value.items()
            if name not in _UNUSED
        }
    if "calls" in value and "paths" in value:
        return {name: part for name, part in value.items() if name != "paths"}
    return value
