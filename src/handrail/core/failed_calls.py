"""Calls that failed because of a bug or an exhausted retry, stored until the user retries or discards
them. They are stored beside the record and are not part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class FailedCallState(StrEnum):
    """The state of a failed call."""

    PENDING = "pending"
    RETRYING = "retrying"
    RESOLVED = "resolved"
    ABANDONED = "abandoned"


class NewFailedCall(NamedTuple):
    """A call that failed, with its problem, before it is stored."""

    session: str
    call_id: str
    workspace: str
    agent: str
    operation: str
    arguments: Mapping[str, Any]
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class FailedCall:
    """A stored failed call. `operation` is `tool:` and the name of the tool; `redacted`: the arguments
    contained a secret, which is not stored. `attempts` counts the failures; `owner` is the process
    that retries the call now.
    """

    id: int
    session: str
    call_id: str
    workspace: str
    agent: str
    operation: str
    arguments: Mapping[str, Any]
    redacted: bool
    error: Mapping[str, Any]
    state: FailedCallState
    attempts: int
    owner: str
    created_ns: int
    changed_ns: int

    @property
    def tool(self) -> str:
        """The tool that was called."""
        return self.operation.removeprefix("tool:")

    def to_dict(self) -> dict[str, Any]:
        """The JSON shape of `--json` output."""
        return {
            "id": self.id,
            "session": self.session,
            "call_id": self.call_id,
            "workspace": self.workspace,
            "agent": self.agent,
            "operation": self.operation,
            "arguments": dict(self.arguments),
            "redacted": self.redacted,
            "error": dict(self.error),
            "state": self.state.value,
            "attempts": self.attempts,
            "created_ns": self.created_ns,
            "changed_ns": self.changed_ns,
        }


class FailedCallChange(NamedTuple):
    """The new state of a failed call. `error` is the problem of a further failure, None without one."""

    state: FailedCallState
    owner: str = ""
    error: Mapping[str, Any] | None = None


class FailedCallStore(Protocol):
    """Stores failed calls for all processes that share a store."""

    async def record_failed_call(self, call: NewFailedCall) -> None:
        """Store a failed call, or count another failure if the same call is pending already."""

    async def failed_calls(self, state: FailedCallState | None = None) -> Sequence[FailedCall]:
        """All failed calls, or those in one state, oldest first."""

    async def failed_call(self, id: int) -> FailedCall | None:
        """The failed call with this id."""

    async def change_failed_call(self, seen: FailedCall, to: FailedCallChange) -> bool:
        """Change the state of a call; False if its state or owner has changed since `seen`."""
