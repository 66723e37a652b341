"""The record of calls: the rows that are written, the values that are read, and the store."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

# Prefix that keeps the values of a conversation apart from those of a session of the same name.
CONVERSATION_PREFIX: Final = "conversation:"
# Prefix of the keys under which a session stores its subagents.
SUBAGENT_PREFIX: Final = "agent:"
# The key of the lease of the process that works in a conversation.
LEASE_KEY: Final = "lease"


class Row(NamedTuple):
    """One row of the audit. The store records `payload` as it is when the row is appended."""

    session: str
    kind: Literal["requested", "intent", "completed"]
    call_id: str
    turn: int
    at_ns: int
    payload: Mapping[str, Any]


class CallRecord(NamedTuple):
    """What the store knows of one call."""

    session: str
    call_id: str
    turn: int
    requested_ns: int
    requested: Mapping[str, Any]
    intent: Mapping[str, Any] | None
    completed: Mapping[str, Any] | None
    completed_ns: int | None

    @property
    def tool(self) -> str:
        """The canonical name of the tool; "redo" for a call of `undo` with `redo` set."""
        if self.redoes:
            return "redo"
        return str(self.requested.get("tool") or (self.completed or {}).get("tool") or "(purged)")

    @property
    def redoes(self) -> bool:
        """Whether the call is `undo` with `redo` set."""
        arguments = self.requested.get("arguments")
        if self.requested.get("tool") != "undo" or not isinstance(arguments, dict):
            return False
        return arguments.get("redo") is True

    @property
    def status(self) -> str:
        """How the call ended; "repeated" if it was answered from the record."""
        if "repeats" in self.requested:
            return "repeated"
        if self.completed is None:
            return "unfinished"
        return str(self.completed.get("status") or "(purged)")


class OpenRequest(NamedTuple):
    """A call that was requested and has neither announced a change nor ended. `owner` is the process
    that claimed its id, None if none did.
    """

    session: str
    call_id: str
    turn: int
    tool: str
    owner: str | None


class AbandonedWork(NamedTuple):
    """What dead processes have left: requests that have not ended, and whether `close_abandoned` has
    something to do (sessions to close, or an index of them to shorten).
    """

    requests: list[OpenRequest]
    to_close: bool


class Trace(NamedTuple):
    """A call that announced a change, without the old contents and texts in its record.

    Traces are ordered by `row`: a change that was announced later has a higher number. The complete
    payloads are those of `row` (the intent) and of `completed_row`.
    """

    row: int
    session: str
    call_id: str
    turn: int
    at_ns: int
    intent: Mapping[str, Any]
    completed_row: int | None
    completed: Mapping[str, Any] | None


class OpenedSession(NamedTuple):
    """An opening of a session; of several equal openings in a row only the first is listed."""

    session: str
    at_ns: int
    info: Mapping[str, Any]


class SessionRecord(NamedTuple):
    """What the store knows of one session."""

    id: str
    ordinal: int
    opened_ns: int
    closed_ns: int | None
    rows: int
    info: Mapping[str, Any]


class Integrity(NamedTuple):
    """The result of `verify`. `broken` is the first broken row, None if the chain is intact.
    `missing_payloads` were removed before the store recorded its purges.
    """

    sessions: int
    rows: int
    broken: str | None
    head: str
    open_sessions: Mapping[str, str]
    purged_payloads: int
    anchored: bool | None
    missing_payloads: int = 0


class CallClaim(NamedTuple):
    """The owner of a call id. `fingerprint` None: the id is in the record, but was never claimed."""

    fingerprint: str | None
    owner: str


# The keys and indexes that lead to a value in a payload.
Where = tuple[str | int, ...]

Durability = Literal["power", "process"]


class Store(Protocol):
    """Stores the record. `append` costs microseconds; a store that has failed refuses."""

    def append(self, row: Row) -> None:
        """Queue a row; raises `store_unavailable` if the store has failed."""

    async def commit(
        self, row: Row, durability: Durability, at_once: Callable[[], None] | None = None
    ) -> None:
        """Queue a row and return when it and all rows before it are on disk. `at_once` is called at that
        moment in another thread, for a caller that cannot wait for the event loop; it must not raise.
        """

    async def flush(self) -> None:
        """Return once everything queued so far is committed."""

    async def find_completed(self, session: str, call_id: str) -> CallRecord | None:
        """The record of a call by its id, to answer a repeated call."""

    async def claim(
        self, session: str, call_id: str, fingerprint: str, owner: str
    ) -> CallClaim | None:
        """Claim an id for a call, atomically across processes. Returns None if the caller has it now,
        otherwise the existing claim.
        """

    async def take_over(self, session: str, call_id: str, dead: str, owner: str) -> bool:
        """Take over an id whose owner has ended; False if another process was first."""

    async def calls(
        self,
        *,
        session: str | None = None,
        call_id: str | None = None,
        limit: int = 50,
        before_ns: int | None = None,
        agent: str | None = None,
    ) -> list[CallRecord]:
        """The calls, newest first; only those of `agent`, if it is given."""

    async def traces(
        self,
        *,
        session: str | None = None,
        call_id: str | None = None,
        turn: int | None = None,
        before: int | None = None,
        limit: int = -1,
    ) -> list[Trace]:
        """The calls that announced a change, newest first; only rows before `before`, for paging."""

    async def payload(self, row: int) -> Mapping[str, Any]:
        """The complete payload of a row."""

    async def old_contents(self, row: int) -> Mapping[Where, str]:
        """The old contents that are stored in a row itself, in base64, by the position of their changes
        in its payload.
        """

    async def openings(self) -> list[OpenedSession]:
        """The openings of sessions, oldest first."""

    async def unfinished(self) -> list[CallRecord]:
        """The calls with an intent row and no completed row."""

    async def abandoned(self, is_alive: Callable[[str], bool]) -> AbandonedWork:
        """What dead processes have left unfinished, except for unfinished changes."""

    async def close_abandoned(self, is_alive: Callable[[str], bool]) -> list[str]:
        """Record that the sessions whose processes have all died are closed, except for sessions with
        unfinished calls; returns the names of the closed sessions.
        """

    async def sessions(self, limit: int = 20) -> list[SessionRecord]:
        """The sessions, newest first."""

    async def parts_of_calls(
        self, session: str, name: str, after_seq: int
    ) -> tuple[int, list[Any]]:
        """The number of a session's last row, and the values of one key in the `completed` rows after
        `after_seq`, in order; rows without the key are left out.
        """

    async def load_state(self, session: str) -> dict[str, Any]:
        """The stored values of a named session (turn counter, read state)."""

    def save_state(self, session: str, key: str, value: Any) -> None:
        """Queue a value to be stored with a named session."""

    async def open_session(
        self,
        session: str,
        info: Mapping[str, Any],
        owner: str = "",
        is_alive: Callable[[str], bool] | None = None,
    ) -> bool:
        """Record that a process (`owner`) opens a session; True if the session existed before. Its
        openings by processes that are no longer alive are closed first.
        """

    async def close_session(self, session: str) -> None:
        """Write the session's head into the chain of sessions."""

    async def aclose(self) -> None:
        """Commit what is queued and close the store."""
