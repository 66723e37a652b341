"""Reads the conversations of agents from the record; `agent/conversation.py` writes them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from handrail.core.ports.records import CONVERSATION_PREFIX
from handrail.store.records.calls import load_state
from handrail.store.sql import SqlConnection

_NAMES: Final = """
    SELECT session FROM session_state WHERE substr(session, 1, ?) = ? AND key = 'state'
"""
# The keys of messages begin with a digit; the colon is the character after the digits.
_RESPONSES: Final = """
    SELECT key, value FROM session_state WHERE session = ? AND key >= '0' AND key < ':'
    AND instr(value, 'assistant') > 0 ORDER BY key
"""
_NEWEST: Final = """
    SELECT key, value FROM session_state WHERE session = ? AND key >= '0' AND key < ':'
    ORDER BY key DESC LIMIT ?
"""
_OTHERS: Final = """
    SELECT key, value FROM session_state WHERE session = ? AND NOT (key >= '0' AND key < ':')
"""


class ConversationSummary(NamedTuple):
    """A conversation as lists show it. `began_ns` is when its session began, `at_ns` when its last
    task began. `turns` counts the responses of the model; `last_turn` is the number of the last
    one, which is larger if calls of the user came between them. Callers that show `files_changed`
    count it from the recorded changes. `state` is "unfinished", "done", or "new" for a fork or an
    import without a task yet.
    """

    session: str
    title: str
    at_ns: int
    model: str
    turns: int
    unfinished: bool
    files_changed: int = 0
    began_ns: int = 0
    last_turn: int = 0
    state: str = "done"


def list_conversations(db: SqlConnection) -> list[ConversationSummary]:
    """The conversations of the record, newest first."""
    names = db.execute(_NAMES, (len(CONVERSATION_PREFIX), CONVERSATION_PREFIX))
    # Only the name of a deleted conversation is left.
    states = {name: _value(db, name, "state") for (name,) in names.fetchall()}
    # The conversation of a subagent is part of another one.
    found = [
        _summary(db, name) for name, state in states.items() if state and "parent" not in state
    ]
    return sorted(found, key=lambda one: one.at_ns, reverse=True)


def is_conversation(db: SqlConnection, session: str) -> bool:
    """Whether there is a conversation of this id."""
    return bool(_value(db, CONVERSATION_PREFIX + session, "state"))


def load_conversation_values(
    db: SqlConnection, session: str, newest: int | None = None
) -> dict[str, str]:
    """Return what was saved of a conversation, by key, for `decode_conversation`; only the newest
    messages if `newest` is given.
    """
    name = CONVERSATION_PREFIX + session
    if newest is None:
        return load_state(db, name)
    found = db.execute(_OTHERS, (name,)).fetchall()
    found += db.execute(_NEWEST, (name, newest)).fetchall()
    return {key: json.loads(value) for key, value in found}


def _summary(db: SqlConnection, name: str) -> ConversationSummary:
    state, setup = _value(db, name, "state"), _value(db, name, "setup")
    # Entries that a rewind removed stay in the record.
    cuts = state.get("cuts", ())
    rows = ((int(key), _decode(value)) for key, value in db.execute(_RESPONSES, (name,)))
    turns = {
        int(entry["turn"])
        for key, entry in rows
        if entry.get("message", {}).get("role") == "assistant"
        and not any(first <= key < behind for first, behind in cuts)
    }
    session, at_ns = name.removeprefix(CONVERSATION_PREFIX), int(state.get("at_ns", 0))
    opened = db.execute("SELECT opened_ns FROM sessions WHERE id = ?", (session,)).fetchone()
    return ConversationSummary(
        session,
        _first_line(str(state.get("title", ""))),
        at_ns,
        str(state.get("model") or setup.get("model", "")),
        len(turns),
        bool(state.get("unfinished")),
        began_ns=at_ns if opened is None else opened[0],
        last_turn=max(turns, default=0),
        state=_work_state(state),
    )


def _first_line(title: str) -> str:
    """The title of a task; earlier versions kept the beginning of all lines."""
    return next(iter(title.splitlines()), "").strip()


def _work_state(state: Mapping[str, Any]) -> str:
    if state.get("unfinished"):
        return "unfinished"
    return "done" if state.get("tasks") else "new"


def _value(db: SqlConnection, name: str, key: str) -> dict[str, Any]:
    row = db.execute(
        "SELECT value FROM session_state WHERE session = ? AND key = ?", (name, key)
    ).fetchone()
    return {} if row is None else _decode(row[0])


def _decode(value: str) -> dict[str, Any]:
    """Decode a value, which is JSON inside a JSON string."""
    decoded = json.loads(json.loads(value))
    return decoded if isinstance(decoded, dict) else {}
