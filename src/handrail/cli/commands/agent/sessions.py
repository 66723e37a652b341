"""Which session `handrail run` works in."""

from __future__ import annotations

import json
from argparse import Namespace
from typing import TYPE_CHECKING, Any, NamedTuple

from handrail.cli import messages

if TYPE_CHECKING:
    import sqlite3


class SessionSummary(NamedTuple):
    """A conversation as the lists of sessions show it."""

    session: str
    title: str
    at_ns: int
    model: str
    turns: int
    unfinished: bool


def choose_session(options: Namespace) -> str:
    """The session that the options name, the newest one, or a new one; raises `not_found`."""
    import uuid

    if options.resume:
        known = list_sessions(options)
        if all(one.session != options.resume for one in known):
            raise messages.NO_SUCH_SESSION.error(session=options.resume, field="resume")
        return str(options.resume)
    if options.go_on:
        known = list_sessions(options)
        if not known:
            raise messages.NO_SESSIONS.error()
        return known[0].session
    return options.session or uuid.uuid4().hex[:12]


def list_sessions(options: Namespace) -> list[SessionSummary]:
    """The conversations of the workspace, newest first."""
    from handrail.cli.workspace import find_workspace, open_record

    place = find_workspace(options)
    if not place.recorded:
        return []
    with open_record(place) as db:
        found = [_summary(db, name) for name in _names(db)]
    return sorted(found, key=lambda one: one.at_ns, reverse=True)


def _names(db: sqlite3.Connection) -> list[str]:
    rows = db.execute(
        "SELECT session FROM session_state WHERE session LIKE 'conversation:%' AND key = 'state'"
    )
    return [name for (name,) in rows]


def _summary(db: sqlite3.Connection, name: str) -> SessionSummary:
    state, setup = _value(db, name, "state"), _value(db, name, "setup")
    last = db.execute(
        "SELECT value FROM session_state WHERE session = ? AND key GLOB '[0-9]*'"
        " ORDER BY key DESC LIMIT 1",
        (name,),
    ).fetchone()
    turns = 0 if last is None else _decode(last[0]).get("turn", 0)
    return SessionSummary(
        name.removeprefix("conversation:"),
        str(state.get("title", "")),
        int(state.get("at_ns", 0)),
        str(setup.get("model", "")),
        int(turns),
        bool(state.get("unfinished")),
    )


def _value(db: sqlite3.Connection, name: str, key: str) -> dict[str, Any]:
    row = db.execute(
        "SELECT value FROM session_state WHERE session = ? AND key = ?", (name, key)
    ).fetchone()
    return {} if row is None else _decode(row[0])


def _decode(value: str) -> dict[str, Any]:
    """A value is JSON inside a JSON string."""
    decoded = json.loads(json.loads(value))
    return decoded if isinstance(decoded, dict) else {}
