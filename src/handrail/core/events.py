"""What happens, as values: a UI, the audit and recovery read only these.

Shapes are public and append-only: a field is added, never renamed or given another meaning;
`v` is raised when readers must change. `to_dict` is the wire form.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from handrail.core.results import Modifier


@dataclass(frozen=True, slots=True)
class Event:
    """Base of all events; `type` tags the union."""

    type: ClassVar[str] = ""
    v: ClassVar[int] = 1

    def to_dict(self) -> dict[str, Any]:
        """The versioned wire form."""
        return {"type": self.type, "v": self.v, **asdict(self)}


@dataclass(frozen=True, slots=True)
class CallStarted(Event):
    """A call has been prepared and is being cleared."""

    type: ClassVar[str] = "tool_call_start"
    call_id: str
    tool: str
    turn: int
    agent: str
    summary: str


@dataclass(frozen=True, slots=True)
class CallRefusedEarly(Event):
    """A call of a message that is still being streamed will certainly be refused."""

    type: ClassVar[str] = "tool_call_refused_early"
    call_id: str
    tool: str
    code: str
    reason: str


@dataclass(frozen=True, slots=True)
class CallHeartbeat(Event):
    """A call is still running; sent every few seconds (`heartbeat_s`)."""

    type: ClassVar[str] = "tool_call_heartbeat"
    call_id: str
    tool: str
    elapsed_s: float


@dataclass(frozen=True, slots=True)
class CallProgress(Event):
    """A tool reports how far it is."""

    type: ClassVar[str] = "tool_call_progress"
    call_id: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class CallOutput(Event):
    """Output of a program that the call runs; only a part, if there is very much."""

    type: ClassVar[str] = "tool_call_output"
    call_id: str
    tool: str
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class CallEnded(Event):
    """A call is over, however it ended."""

    type: ClassVar[str] = "tool_call_end"
    call_id: str
    tool: str
    status: str
    code: str | None
    duration_s: float


@dataclass(frozen=True, slots=True)
class BatchStarted(Event):
    """Several calls of one turn are about to run; `groups` is how they are ordered."""

    type: ClassVar[str] = "tool_calls_batch_start"
    turn: int
    call_ids: tuple[str, ...]
    groups: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, slots=True)
class BatchEnded(Event):
    """All calls of a batch are over."""

    type: ClassVar[str] = "tool_calls_batch_end"
    turn: int
    call_ids: tuple[str, ...]
    failed: int
    duration_s: float


@dataclass(frozen=True, slots=True)
class ToolRegistered(Event):
    """A tool can now be called."""

    type: ClassVar[str] = "tool_registered"
    tool: str


@dataclass(frozen=True, slots=True)
class ToolUnregistered(Event):
    """A tool can no longer be called."""

    type: ClassVar[str] = "tool_unregistered"
    tool: str


@dataclass(frozen=True, slots=True)
class FileChanged(Event):
    """A file now has other content; caches of it are stale."""

    type: ClassVar[str] = "file_changed"
    call_id: str
    path: str
    operation: str


@dataclass(frozen=True, slots=True)
class ContextModified(Event):
    """A tool asks for a change of the conversation's context; sent in call order."""

    type: ClassVar[str] = "context_modified"
    call_id: str
    modifier: Modifier


@dataclass(frozen=True, slots=True)
class HookRan(Event):
    """A configured hook was run. `outcome` is ok, blocked, asked, allowed, changed or failed;
    `call_id` and `tool` are None for the events of a session.
    """

    type: ClassVar[str] = "hook_ran"
    hook: str
    event: str
    outcome: str
    reason: str
    exit_code: int
    duration_s: float
    call_id: str | None = None
    tool: str | None = None


Listener = Callable[[Event], None]
