"""What happens, as values: a UI, the audit and recovery read only these.

Shapes are public and append-only: a field is added, never renamed or given another meaning;
`v` is raised when readers must change. `to_dict` is the wire form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from handrail.core.results import Modifier, modifier_dict


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
    # How the tool itself shows the call to a user (`render_call`); None: it does not.
    display: str | None = None
    # What it can touch, such as "write file:/project/a.py".
    footprint: tuple[str, ...] = ()


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
    """A call is over, however it ended; `code` and `reason` are those of its problem, `verdict` and
    `rule` say why it was allowed. `footprint` names what it could touch, such as
    "write file:/project/a.py"; `changes` is the number of files that it changed.
    """

    type: ClassVar[str] = "tool_call_end"
    call_id: str
    tool: str
    status: str
    code: str | None
    duration_s: float
    reason: str | None = None
    verdict: str | None = None
    rule: str | None = None
    footprint: tuple[str, ...] = ()
    changes: int = 0


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
    # Version 1 had the fields of the modifier without their names or its type.
    v: ClassVar[int] = 2
    call_id: str
    modifier: Modifier

    def to_dict(self) -> dict[str, Any]:
        """The versioned wire form."""
        shape = {"call_id": self.call_id, "modifier": modifier_dict(self.modifier)}
        return {"type": self.type, "v": self.v, **shape}


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


@dataclass(frozen=True, slots=True)
class TodosChanged(Event):
    """The to-do list of the session has changed; `owner` is the agent whose items changed, `todos`
    the whole list.
    """

    type: ClassVar[str] = "todos_changed"
    owner: str
    todos: tuple[Mapping[str, Any], ...]


@dataclass(frozen=True, slots=True)
class QuestionAsked(Event):
    """The user is asked (`approver="events"`); `rt.reply` answers. `request` is the JSON form of the
    `ApprovalRequest`, or of what `ask_user` asks, with the key `questions`.
    """

    type: ClassVar[str] = "question"
    question_id: str
    agent: str
    chain: tuple[str, ...]
    call_id: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionAnswered(Event):
    """A question no longer waits. `answer` is None if its call ended first; `via` is then
    "withdrawn".
    """

    type: ClassVar[str] = "question_answered"
    question_id: str
    agent: str
    chain: tuple[str, ...]
    answer: str | None
    via: str
    who: str | None


@dataclass(frozen=True, slots=True)
class SkillUsed(Event):
    """A skill was loaded; `hash` covers all files of its folder."""

    type: ClassVar[str] = "skill_loaded"
    skill: str
    hash: str
    trusted: bool


@dataclass(frozen=True, slots=True)
class McpCallStarted(Event):
    """A tool of an MCP server is being called."""

    type: ClassVar[str] = "mcp_tool_call_begin"
    server: str
    tool: str
    call_id: str


@dataclass(frozen=True, slots=True)
class McpCallEnded(Event):
    """The call of an MCP server's tool is over."""

    type: ClassVar[str] = "mcp_tool_call_end"
    server: str
    tool: str
    call_id: str
    is_error: bool


Listener = Callable[[Event], None]
