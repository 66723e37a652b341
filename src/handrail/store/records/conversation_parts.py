"""What belongs to conversations in the store: their own values, the conversations of their
subagents and the values kept of these, and to-do lists that no other conversation uses.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import Any, Final, NamedTuple

from handrail.core.call import call_owner, is_owned
from handrail.core.ports.records import CONVERSATION_PREFIX, LEASE_KEY, SUBAGENT_PREFIX
from handrail.core.ports.todos import TODOS_KEY
from handrail.store.sql import SqlConnection

# The value of a deleted key. Conversations store JSON inside a JSON string, to-do lists store JSON.
_DELETED: Final = '"null"'
_NO_LIST: Final = "null"
# The keys of messages begin with a digit; the colon is the character after the digits.
_BEGINNING: Final = """
    SELECT session, key, value FROM session_state
    WHERE instr({0}, ?) = 1 AND NOT (key >= '0' AND key < ':')
"""
_HOLDERS: Final = "SELECT session, owner FROM claims WHERE instr(session, ?) = 1 AND call_id = ?"


class ConversationParts(NamedTuple):
    """The parts of conversations. `values` replace the stored ones and thereby delete them, by
    session and key. The ids of calls begin with one of the `owners` and a dot.
    """

    values: Mapping[tuple[str, str], str]
    owners: frozenset[str]

    def has_call(self, call_id: str) -> bool:
        """Return whether a call was made in one of the conversations; the names of subagents'
        conversations contain dots.
        """
        dots = (at for at, char in enumerate(call_id) if char == ".")
        return any(call_id[:at] in self.owners and is_owned(call_id, call_id[:at]) for at in dots)


class _KeptSubagent(NamedTuple):
    session: str
    key: str
    conversation: str
    parent: str


class ConversationIndex:
    """The conversations of a store, without their messages, as one transaction sees them."""

    def __init__(self, db: SqlConnection) -> None:
        self._db = db
        self._states: dict[str, Mapping[str, Any]] = {}
        # The sessions in which each conversation was continued.
        self._sessions: dict[str, set[str]] = {}
        for name, key, value in self._decoded("session", CONVERSATION_PREFIX):
            conversation = name.removeprefix(CONVERSATION_PREFIX)
            used = self._sessions.setdefault(conversation, set())
            if key == "setup":
                used.add(str(value.get("runtime_session", "")))
            elif key == "state":
                self._states[conversation] = value
                used.update(map(str, value.get("sessions", ())))
        self._agents = [
            _KeptSubagent(
                session,
                key,
                str(value.get("conversation", "")),
                str(value.get("parent_conversation", "")),
            )
            for session, key, value in self._decoded("key", SUBAGENT_PREFIX)
        ]
        held = db.execute(_HOLDERS, (CONVERSATION_PREFIX, LEASE_KEY)).fetchall()
        self._holders = {name.removeprefix(CONVERSATION_PREFIX): owner for name, owner in held}

    def find_old(self, before_ns: int) -> list[str]:
        """Return the conversations whose last task began before a time, oldest first: those of main
        agents, and those of subagents that a program started without one.
        """
        programs = {one.conversation for one in self._agents if not one.parent}
        ages = {
            name: int(state.get("at_ns", 0))
            for name, state in self._states.items()
            if not self._is_below(name) or name in programs
        }
        return sorted((one for one, at in ages.items() if at < before_ns), key=ages.__getitem__)

    def find_parts(self, conversations: Collection[str]) -> ConversationParts:
        """Return what belongs to these conversations and to no other one."""
        sessions = {name: used for name, used in self._sessions.items() if not self._is_below(name)}
        alone = set(conversations)
        for name in conversations:
            alone |= sessions.pop(name, set())
        alone -= {one for used in sessions.values() for one in used}
        found, below = self._find_below(set(conversations), alone)
        values = {(one.session, one.key): _DELETED for one in below}
        for name in sorted(found):
            rows = self._db.execute(
                "SELECT key FROM session_state WHERE session = ?", (CONVERSATION_PREFIX + name,)
            )
            values |= {(CONVERSATION_PREFIX + name, key): _DELETED for (key,) in rows.fetchall()}
        listed = "SELECT session FROM session_state WHERE key = ?"
        for (session,) in self._db.execute(listed, (TODOS_KEY,)).fetchall():
            if session in alone:
                values[session, TODOS_KEY] = _NO_LIST
        owners = {call_owner(one) for one in found if not self._is_below(one)}
        # Earlier versions began the ids of all conversations with their names.
        return ConversationParts(values, frozenset(owners | found))

    def find_holder(self, conversation: str, may_run: Callable[[str], bool]) -> str | None:
        """Return the process that works in a conversation or its subagents; None if none does."""
        names, _ = self._find_below({conversation}, set())
        owners = (self._holders.get(name, "") for name in sorted(names))
        return next((one for one in owners if one and may_run(one)), None)

    def _is_below(self, conversation: str) -> bool:
        """Return whether a conversation is that of a subagent."""
        return "parent" in self._states.get(conversation, {})

    def _find_below(
        self, conversations: set[str], sessions: set[str]
    ) -> tuple[set[str], list[_KeptSubagent]]:
        """Return the conversations including those of subagents, and the subagents: those that one
        of the conversations has started, or a program in one of the sessions.
        """
        found, below = set(conversations), dict[_KeptSubagent, None]()
        waiting = True
        while waiting:
            more = [
                one
                for one in self._agents
                if one not in below
                and (
                    one.parent in found
                    or one.conversation in found
                    or (not one.parent and one.session in sessions)
                )
            ]
            below |= dict.fromkeys(more)
            found |= {one.conversation for one in more if one.conversation}
            waiting = bool(more)
        return found, list(below)

    def _decoded(self, column: str, prefix: str) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
        """Return the values of conversations or of subagents, which are JSON inside a JSON string,
        without deleted ones and messages.
        """
        rows = self._db.execute(_BEGINNING.format(column), (prefix,)).fetchall()
        for session, key, value in rows:
            decoded = json.loads(json.loads(value))
            if isinstance(decoded, Mapping):
                yield session, key, decoded
