"""The record of every call as values and a protocol: rows in, what is known of a call out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, NamedTuple, Protocol

# Values of a conversation are kept apart from those of the session of the same name.
CONVERSATION_PREFIX: Final = "conversation:"
# Under such keys a session keeps the subagents that were started in it.
SUBAGENT_PREFIX: Final = "agent:"
# The claim of the process that works in a conversation.
LEASE_KEY: Final = "lease"


class Row(NamedTuple):
    """One line of the audit; recorded is what `payload` is when the store is given it."""

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
        """The canonical name of the tool; "redo" for an undo call that redoes."""
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
        """How the call ended, as one word; "repeated" for one that was answered from the record."""
        if "repeats" in self.requested:
            return "repeated"
        if self.completed is None:
            return "unfinished"
        return str(self.completed.get("status") or "(purged)")


class OpenRequest(NamedTuple):
    """A call that was requested and has neither announced a change nor ended; `owner` is the
    process that took its id, None if none did.
    """

    session: str
    call_id: str
    turn: int
    tool: str
    owner: str | None


class AbandonedWork(NamedTuple):
    """What dead processes have left: requests without an end, and whether there are sessions
    to close or the search for them can be shortened (`close_abandoned` does both).
    """

    requests: list[OpenRequest]
    to_close: bool


class Trace(NamedTuple):
    """A call that announced a change, without the old contents and texts on its record.

    `row` orders traces: a change of a file announced later has a higher one. The payloads
    in full are those of `row` (the intent) and of `completed_row`.
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
    """A session was opened, as `info` says; of several alike in a row only the first."""

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
    """What `verify` found; `broken` names the first broken row, None if the chain holds.
    `missing_payloads` were gone before the store kept a record of its purges.
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
    """Who has an id. `fingerprint` None: the id is in the record, but was never claimed."""

    fingerprint: str | None
    owner: str


# The names and numbers that lead to a value in a payload.
Where = tuple[str | int, ...]

Durability = Literal["power", "process"]


class Store(Protocol):
    """Where the record is kept. `append` costs microseconds; a failed store refuses."""

    def append(self, row: Row) -> None:
        """Queue a row; raises `store_unavailable` if the store has failed."""

    async def commit(
        self, row: Row, durability: Durability, at_once: Callable[[], None] | None = None
    ) -> None:
        """Queue a row and return once it, and all rows before it, are on disk. A caller that cannot
        wait for the event loop gives `at_once`, called in another thread; it must not raise.
        """

    async def flush(self) -> None:
        """Return once everything queued so far is committed."""

    async def find_completed(self, session: str, call_id: str) -> CallRecord | None:
        """The record of a call by id, for answering a repeated one."""

    async def claim(
        self, session: str, call_id: str, fingerprint: str, owner: str
    ) -> CallClaim | None:
        """Take an id for a call, in all processes at once; None: it is the caller's now."""

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
        """The newest calls first; those of `agent` alone, if it is given."""

    async def traces(
        self,
        *,
        session: str | None = None,
        call_id: str | None = None,
        turn: int | None = None,
        before: int | None = None,
        limit: int = -1,
    ) -> list[Trace]:
        """The calls that announced a change, newest first; `before` a row, for the next page."""

    async def payload(self, row: int) -> Mapping[str, Any]:
        """All that one row says."""

    async def old_contents(self, row: int) -> Mapping[Where, str]:
        """The old contents that stand in one row itself, in base64, by where their described
        changes stand in it.
        """

    async def openings(self) -> list[OpenedSession]:
        """When which session was opened and where, oldest first."""

    async def unfinished(self) -> list[CallRecord]:
        """The calls with an intent row and no completed row."""

    async def abandoned(self, is_alive: Callable[[str], bool]) -> AbandonedWork:
        """What processes that have died left without an end, except unfinished changes."""

    async def close_abandoned(self, is_alive: Callable[[str], bool]) -> list[str]:
        """Write into the ledger that sessions whose processes have all died are closed, except
        those with unfinished calls; returns their names.
        """

    async def sessions(self, limit: int = 20) -> list[SessionRecord]:
        """The newest sessions first."""

    async def parts_of_calls(
        self, session: str, name: str, after_seq: int
    ) -> tuple[int, list[Any]]:
        """The number of a session's last row, and what the `completed` rows after a number say
        under one name, in order; rows that say nothing there are left out.
        """

    async def load_state(self, session: str) -> dict[str, Any]:
        """What a named session kept (turn counter, read state)."""

    def save_state(self, session: str, key: str, value: Any) -> None:
        """Queue a value to be kept with a named session."""

    async def open_session(
        self,
        session: str,
        info: Mapping[str, Any],
        owner: str = "",
        is_alive: Callable[[str], bool] | None = None,
    ) -> bool:
        """Write that a process (`owner`) opens a session; True if it existed before. Openings
        of it by processes that are not alive any more are closed first.
        """

    async def close_session(self, session: str) -> None:
        """Write the session's head into the chain of sessions."""

    async def aclose(self) -> None:
        """Commit what is queued and let go of the file."""
