"""What belongs to a conversation in the store: its own values, the conversations of its subagents,
what is kept of these, and to-do lists that no other conversation uses.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.ports.records import CONVERSATION_PREFIX, SUBAGENT_PREFIX
from handrail.core.ports.todos import TODOS_KEY
from handrail.store.sql import SqlConnection

# The value of a deleted key: JSON inside a JSON string, and for to-do lists, which are JSON.
_DELETED: Final = '"null"'
_NO_LIST: Final = "null"
_BEGINNING: Final = "SELECT session, key, value FROM session_state WHERE instr({0}, ?) = 1"


class ConversationParts(NamedTuple):
    """`values` are what deletes them, by session and key. The ids of calls begin with one of `calls`."""

    values: Mapping[tuple[str, str], str]
    calls: tuple[str, ...]


class _KeptSubagent(NamedTuple):
    session: str
    key: str
    conversation: str
    parent: str


def find_parts(db: SqlConnection, conversation: str) -> ConversationParts:
    """Find what belongs to a conversation."""
    sessions = _sessions(db)
    alone = {conversation, *sessions.pop(conversation, ())}
    alone -= {one for used in sessions.values() for one in used}
    found = {conversation}
    agents = list(_subagents(db))
    below: list[_KeptSubagent] = []
    while more := [one for one in agents if one not in below and _belongs(one, found, alone)]:
        below += more
        found |= {one.conversation for one in more}
    values = {(one.session, one.key): _DELETED for one in below}
    for name in sorted(found):
        rows = db.execute(
            "SELECT key FROM session_state WHERE session = ?", (CONVERSATION_PREFIX + name,)
        )
        values |= {(CONVERSATION_PREFIX + name, key): _DELETED for (key,) in rows.fetchall()}
    listed = "SELECT session FROM session_state WHERE key = ?"
    for (session,) in db.execute(listed, (TODOS_KEY,)).fetchall():
        if session in alone:
            values[session, TODOS_KEY] = _NO_LIST
    return ConversationParts(values, tuple(f"{one}." for one in sorted(found)))


def _belongs(agent: _KeptSubagent, conversations: set[str], sessions: set[str]) -> bool:
    """Whether one of the conversations has started a subagent, or a program in one of the sessions."""
    return agent.parent in conversations or (not agent.parent and agent.session in sessions)


def _sessions(db: SqlConnection) -> dict[str, set[str]]:
    """The sessions in which each conversation of a main agent was continued."""
    found: dict[str, set[str]] = {}
    below: set[str] = set()
    for name, key, value in _decoded(db, "session", CONVERSATION_PREFIX):
        conversation = name.removeprefix(CONVERSATION_PREFIX)
        used = found.setdefault(conversation, set())
        if key == "setup":
            used.add(str(value.get("runtime_session", "")))
        elif key == "state":
            used.update(map(str, value.get("sessions", ())))
            if "parent" in value:
                below.add(conversation)
    return {name: used for name, used in found.items() if name not in below}


def _subagents(db: SqlConnection) -> Iterator[_KeptSubagent]:
    for session, key, value in _decoded(db, "key", SUBAGENT_PREFIX):
        conversation, parent = value.get("conversation", ""), value.get("parent_conversation", "")
        yield _KeptSubagent(session, key, str(conversation), str(parent))


def _decoded(
    db: SqlConnection, column: str, prefix: str
) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    """The values of conversations or of subagents, which are JSON inside a JSON string; without
    deleted ones and messages.
    """
    for session, key, value in db.execute(_BEGINNING.format(column), (prefix,)).fetchall():
        decoded = json.loads(json.loads(value)) if not key[0].isdigit() else None
        if isinstance(decoded, Mapping):
            yield session, key, decoded
