"""Calls that failed for no fault of their caller and will not mend by themselves, kept until a
person has seen to them. Kept by the store, beside the record and not a part of it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol


class LetterState(StrEnum):
    """What becomes of a dead letter: it waits, is being tried again, is done, is given up."""

    PENDING = "pending"
    RETRYING = "retrying"
    RESOLVED = "resolved"
    ABANDONED = "abandoned"


class NewLetter(NamedTuple):
    """A call that failed, with the problem it failed of, as it goes to the store."""

    session: str
    call_id: str
    workspace: str
    agent: str
    operation: str
    arguments: Mapping[str, Any]
    error: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """The same as it is kept. `operation` is `tool:` and the tool's name; `redacted` says that
    the arguments held a secret, which is not kept. `attempts` counts the failures, `owner` is
    the process that tries again just now.
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
    state: LetterState
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


class LetterMove(NamedTuple):
    """A new state for a letter; `error` None: the last failure still is the last."""

    state: LetterState
    owner: str = ""
    error: Mapping[str, Any] | None = None


class DeadLetterStore(Protocol):
    """Keeps dead letters for all processes that share a store."""

    async def keep_letter(self, letter: NewLetter) -> None:
        """Keep it; if the same call waits already, count one more failure of that."""

    async def letters(self, state: LetterState | None = None) -> Sequence[DeadLetter]:
        """All, or those in one state, oldest first."""

    async def letter(self, id: int) -> DeadLetter | None:
        """One of them."""

    async def move_letter(self, seen: DeadLetter, to: LetterMove) -> bool:
        """Change its state, unless it is no longer in the state and hands it was seen in."""
