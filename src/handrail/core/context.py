"""What belongs to one call while it runs, and to the session it runs in.

A tool gets its services in its constructor; through here it gets only what differs from
call to call. The session part is shared by all calls of one session.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from handrail.core.call import ToolCall
from handrail.core.places import Kind, Place, Stat
from handrail.core.ports import Artifacts, Files
from handrail.core.problems import ProblemRaised
from handrail.core.processes import Confinement, OnOutput


class ReadRecord(NamedTuple):
    """What the model has seen of one file: which lines, when, and how the file was then.

    `digest` is the hash of the whole content where it was cheap to have (small file, or all
    of it shown); otherwise None, and `shown_digest` covers the lines that were shown.
    """

    read_at: float
    offset: int
    limit: int
    stat: Stat
    whole: bool
    digest: str | None
    shown_digest: str | None = None


_TEXT_BYTES: Final = 256 * 1024
_ALL_TEXT_BYTES: Final = 32 << 20


class ReadState:
    """Path → what was last seen of it; kept per session, in the order of reading.

    The text of small files that were shown whole is kept as well, as long as there is room,
    so that it can be said what has changed since.
    """

    def __init__(self, records: Mapping[str, ReadRecord] | None = None) -> None:
        self._records: dict[str, ReadRecord] = dict(records or {})
        self._texts: dict[str, str] = {}
        self._room = _ALL_TEXT_BYTES

    def record_read(self, absolute: str, record: ReadRecord, text: str | None = None) -> None:
        """Note that the model has now seen this; `text` if it has seen the whole file."""
        self._records[absolute] = record
        if absolute in self._texts:
            self._room += len(self._texts.pop(absolute))
        if text is not None and len(text) <= _TEXT_BYTES:
            self._texts[absolute] = text
            self._room -= len(text)
            while self._room < 0:
                oldest = next(iter(self._texts))
                self._room += len(self._texts.pop(oldest))

    def text(self, absolute: str) -> str | None:
        """The whole text as the model saw it, where it was kept."""
        return self._texts.get(absolute)

    def get(self, absolute: str) -> ReadRecord | None:
        """The last sight of a file, if there was one."""
        return self._records.get(absolute)

    def forget(self, absolute: str) -> None:
        """Drop what is known of a file (it was deleted)."""
        self._records.pop(absolute, None)
        self._room += len(self._texts.pop(absolute, ""))

    def can_edit(self, absolute: str) -> bool:
        """Whether the file has been read in this session."""
        return absolute in self._records

    def items(self) -> Sequence[tuple[str, ReadRecord]]:
        """All records, for saving with a named session."""
        return list(self._records.items())


@dataclass(slots=True)
class Options:
    """Facts about the agent around the runtime, set by whoever runs the loop."""

    main_loop_model: str | None = None
    max_thinking_tokens: int | None = None
    tools: Sequence[str] = ()
    mcp_clients: Mapping[str, Any] = field(default_factory=dict)
    agent_definitions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class Whereabouts:
    """The directory in which commands start, absolute; `moves` if a command may change it."""

    directory: str
    moves: bool = False


def go_to(whereabouts: Whereabouts, directory: str, files: Files) -> None:
    """Go there, if it is a directory inside the roots; whoever names it may say anything."""
    try:
        place = files.locate(directory)
    except ProblemRaised:
        return
    if place.kind is Kind.DIRECTORY:
        whereabouts.directory = place.absolute


@dataclass(slots=True)
class Session:
    """State that outlives a call: who is working where, and what was seen."""

    id: str
    roots: tuple[str, ...]
    mode: str
    reads: ReadState
    artifacts: Artifacts
    whereabouts: Whereabouts = field(default_factory=lambda: Whereabouts("/"))
    options: Options = field(default_factory=Options)
    values: dict[str, Any] = field(default_factory=dict)


class CancelSignal:
    """Tells running code that its call is over; safe to look at from any thread."""

    __slots__ = ("_event", "cancelled")

    def __init__(self) -> None:
        self.cancelled = False
        # Made by the first waiter: most calls are over before anybody waits.
        self._event: threading.Event | None = None

    def set(self) -> None:
        """Mark the call as over."""
        self.cancelled = True
        if self._event is not None:
            self._event.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block a worker thread until cancelled or timed out; True if cancelled."""
        if self._event is None:
            self._event = threading.Event()
        # Looked at only now: `set` marks first and wakes second, so nothing falls between.
        return self.cancelled or self._event.wait(timeout_s)

    def raise_if_cancelled(self) -> None:
        """Raise `cancelled` if the call is over; for long loops in worker threads."""
        if self.cancelled:
            raise ProblemRaised("cancelled", "the call was cancelled")


@dataclass(slots=True)
class ToolContext:
    """Handed to a tool with each call.

    `report` sends progress to whoever listens. `places` holds the resolved path arguments
    by the argument's name. `confirmed` names the approval that cleared
    this call, if a person was asked. `messages` is the conversation, where the loop gives it.
    `confinement` is what a program that the call starts may reach; `on_output` hears what
    that program says while it runs.
    """

    call: ToolCall
    session: Session
    report: Callable[[str], None]
    signal: CancelSignal
    places: Mapping[str, Place] = field(default_factory=dict)
    confirmed: str | None = None
    messages: Sequence[Any] = ()
    confinement: Confinement | None = None
    on_output: OnOutput | None = None

    @property
    def call_id(self) -> str:
        """The id of the call."""
        return self.call.id

    @property
    def turn_id(self) -> int:
        """The turn the call belongs to."""
        return self.call.turn

    @property
    def agent_id(self) -> str:
        """Who makes the call."""
        return self.call.agent

    @property
    def cwd(self) -> str:
        """The workspace, absolute."""
        return self.session.roots[0]

    @property
    def additional_directories(self) -> tuple[str, ...]:
        """Roots beside the workspace."""
        return self.session.roots[1:]

    @property
    def reads(self) -> ReadState:
        """What the model has seen."""
        return self.session.reads

    @property
    def options(self) -> Options:
        """Facts about the agent around the runtime."""
        return self.session.options

    @property
    def artifacts(self) -> Artifacts:
        """Where a tool may keep a large text or file beside its result."""
        return self.session.artifacts
