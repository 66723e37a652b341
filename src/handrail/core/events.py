"""The events of a runtime, for user interfaces, the audit and telemetry.

Their shapes are public: fields are added, never renamed, and never change their meaning. `v` is
raised if readers must change. `to_dict` is the wire form.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar

from handrail.core.results import Modifier, modifier_dict


@dataclass(frozen=True, slots=True)
class Event:
    """The base class of all events; `type` says which event it is."""

    type: ClassVar[str] = ""
    v: ClassVar[int] = 1

    def to_dict(self) -> dict[str, Any]:
        """The versioned wire form."""
        return {"type": self.type, "v": self.v, **asdict(self)}


@dataclass(frozen=True, slots=True)
class CallStarted(Event):
    """A call has been prepared and is now checked against the policy."""

    type: ClassVar[str] = "tool_call_start"
    call_id: str
    tool: str
    turn: int
    agent: str
    summary: str
    # The tool's description of the call for users (`render_call`); None if it has none.
    display: str | None = None
    # What the call can touch, such as "write file:/project/a.py".
    footprint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CallRefusedEarly(Event):
    """A call in a message that is still being streamed will be refused for certain."""

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
    """A tool reports its progress."""

    type: ClassVar[str] = "tool_call_progress"
    call_id: str
    tool: str
    text: str


@dataclass(frozen=True, slots=True)
class CallOutput(Event):
    """Output of a program that the call runs; not all of it if there is very much."""

    type: ClassVar[str] = "tool_call_output"
    call_id: str
    tool: str
    stream: str
    text: str


@dataclass(frozen=True, slots=True)
class CallEnded(Event):
    """A call has ended. `code` and `reason` are those of its problem; `verdict` and `rule` say why it
    was allowed. `footprint` is what the call could touch, such as "write file:/project/a.py";
    `changes` is the number of files that it changed.
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
    """All calls of a batch have ended."""

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
    """The content of a file has changed; caches of it are stale."""

    type: ClassVar[str] = "file_changed"
    call_id: str
    path: str
    operation: str


@dataclass(frozen=True, slots=True)
class ContextModified(Event):
    """A tool requests a change of the conversation's context; sent in the order of the calls."""

    type: ClassVar[str] = "context_modified"
    # Version 1 had only the values of the modifier, without field names and type.
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
    """A question waits for the user (`approver="events"`); `rt.reply` answers it. `request` is the JSON
    form of the `ApprovalRequest`, or of the questions of `ask_user`, which has the key `questions`.
    """

    type: ClassVar[str] = "question"
    question_id: str
    agent: str
    chain: tuple[str, ...]
    call_id: str
    request: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class QuestionAnswered(Event):
    """A question no longer waits. If its call ended before an answer, `answer` is None and `via` is
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
    """The call of a tool of an MCP server has ended."""

    type: ClassVar[str] = "mcp_tool_call_end"
    server: str
    tool: str
    call_id: str
    is_error: bool


Listener = Callable[[Event], None]
