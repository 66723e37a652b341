"""The context of a call while it runs, and the state of the session that it runs in.

A tool gets its services in its constructor; its context has only what differs from call to call.
All calls of a session share one `Session`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from handrail.core.call import MAIN_AGENT, ToolCall
from handrail.core.names.sensitive import is_sensitive
from handrail.core.places import Kind, Place, Stat
from handrail.core.ports.machine import Artifacts, Files
from handrail.core.problems import ProblemRaised
from handrail.core.results import FileRead
from handrail.core.text.encoding import detect

if TYPE_CHECKING:
    from handrail.core.events import Event
    from handrail.core.ports.processes import Confinement, OnOutput


class ReadRecord(NamedTuple):
    """What the model has seen of one file: which lines, when, and the stat of the file at that time.

    `digest` is the hash of the whole content if it was cheap to compute (a small file, or all of it
    was shown); otherwise None, and `shown_digest` covers the lines that were shown.
    """

    read_at: float
    offset: int
    limit: int
    stat: Stat
    whole: bool
    digest: str | None
    shown_digest: str | None = None


# The files that the current call has read or written, for its record: path → what the agent has seen
# of the file, None if that was forgotten.
current_reads: ContextVar[dict[str, ReadRecord | None] | None] = ContextVar(
    "handrail_reads", default=None
)
_TEXT_BYTES: Final = 256 * 1024
_ALL_TEXT_BYTES: Final = 32 << 20
_TEXTS_PER_FILE: Final = 64


class ReadState:
    """What one agent last saw of each file, in the order of reading.

    The shown texts are kept too, within a limit, so that a later check can say what has changed since
    and whether an edit changes lines that the agent has seen.
    """

    def __init__(
        self,
        records: Mapping[str, ReadRecord] | None = None,
        is_same: Callable[[str, ReadRecord], bool] = lambda absolute, record: True,
    ) -> None:
        self._records: dict[str, ReadRecord] = dict(records or {})
        # Whether a file is unchanged since it was read.
        self.is_same = is_same
        self._texts: dict[str, tuple[str, ...]] = {}
        self._room = _ALL_TEXT_BYTES
        # Whether the text of a file that may contain secrets was shown and then forgotten.
        self.forgot_secrets = False
        # What was recorded outside of calls; it is in no call's record.
        self.outside_calls: dict[str, ReadRecord | None] = {}

    def record_read(self, absolute: str, record: ReadRecord, text: str | None = None) -> None:
        """Record that the agent has seen `text` of this file in the state `record`.

        Texts that were shown earlier are kept as long as the content is the same.
        """
        known = self._records.get(absolute)
        self._records[absolute] = record
        self._note_change(absolute, record)
        if known is None or record.whole or not _same_content(known, record):
            if text is not None and self._texts.get(absolute) == (text,):
                # The same text again: move it to the end, because the oldest text is dropped first.
                self._texts[absolute] = self._texts.pop(absolute)
                return
            self._drop_texts(absolute)
        if text is not None:
            self.add_text(absolute, text)

    def add_text(self, absolute: str, text: str) -> None:
        """Record another text of a file that the agent has seen or written."""
        if len(text) > _TEXT_BYTES:
            return
        kept = self._texts.pop(absolute, ())
        if text not in kept:
            kept = (*kept, text)
            self._room -= len(text)
        if len(kept) > _TEXTS_PER_FILE:
            self._room += len(kept[0])
            kept = kept[1:]
        self._texts[absolute] = kept
        while self._room < 0:
            self._drop_texts(next(iter(self._texts)))

    def text(self, absolute: str) -> str | None:
        """The whole text as the agent saw it; None if it is not kept."""
        record = self._records.get(absolute)
        texts = self._texts.get(absolute)
        return texts[0] if texts and record is not None and record.whole else None

    def texts(self, absolute: str) -> tuple[str, ...]:
        """The kept texts of a file: the whole text, or ranges of lines."""
        return self._texts.get(absolute, ())

    def get(self, absolute: str) -> ReadRecord | None:
        """The record of the last read of a file; None if it was not read."""
        return self._records.get(absolute)

    def forget(self, absolute: str) -> None:
        """Remove a file that was deleted, or whose text is no longer in the conversation."""
        if self._records.pop(absolute, None) is not None:
            self.forgot_secrets = self.forgot_secrets or is_sensitive(absolute)
            self._note_change(absolute, None)
        self._drop_texts(absolute)

    def can_edit(self, absolute: str) -> bool:
        """Whether the file was read in this session and is unchanged since."""
        record = self._records.get(absolute)
        return record is not None and self.is_same(absolute, record)

    def items(self) -> Sequence[tuple[str, ReadRecord]]:
        """All records, for saving with a named session."""
        return list(self._records.items())

    def _note_change(self, absolute: str, record: ReadRecord | None) -> None:
        changed = current_reads.get()
        if changed is None:
            changed = self.outside_calls
        changed[absolute] = record

    def _drop_texts(self, absolute: str) -> None:
        for text in self._texts.pop(absolute, ()):
            self._room += len(text)


def _same_content(one: ReadRecord, two: ReadRecord) -> bool:
    if one.digest is not None and two.digest is not None:
        return one.digest == two.digest
    return one.stat.settled and one.stat.same_as(two.stat)


def is_unchanged(files: Files, absolute: str, record: ReadRecord) -> bool:
    """Whether a file is unchanged since it was read."""
    try:
        place = files.locate(absolute)
        stat = files.stat(place)
        if stat is None or (record.stat.settled and record.stat.same_as(stat)):
            return stat is not None
        return record.digest is not None and files.read(place).content.digest == record.digest
    except ProblemRaised:
        return False


def record_shown(reads: ReadState, shown: FileRead, files: Files, now_ns: int) -> None:
    """Record that a user-defined tool showed a file, if it showed all of it."""
    try:
        place = files.locate(shown.path)
        seen = files.read(place, max_bytes=_TEXT_BYTES)
    except ProblemRaised:
        return
    data = seen.content.tobytes()
    form = detect(data)
    text = None if form is None else form.decode(data)
    if text is not None and shown.content in (text, text.removesuffix("\n")):
        record = ReadRecord(now_ns / 1e9, 1, 0, seen.stat, True, seen.content.digest)
        reads.record_read(place.absolute, record, text)


class ReadStates:
    """The read states of a session's agents, one for each agent."""

    def __init__(
        self,
        states: Mapping[str, ReadState] | None = None,
        is_same: Callable[[str, ReadRecord], bool] = lambda absolute, record: True,
    ) -> None:
        self._states: dict[str, ReadState] = dict(states or {})
        self._is_same = is_same
        for state in self._states.values():
            state.is_same = is_same

    def for_agent(self, agent: str) -> ReadState:
        """The read state of this agent; empty before its first read."""
        state = self._states.get(agent)
        if state is None:
            state = self._states[agent] = ReadState(is_same=self._is_same)
        return state

    def items(self) -> Sequence[tuple[str, ReadState]]:
        """Every agent with its read state, for saving with a named session."""
        return list(self._states.items())


@dataclass(slots=True)
class Options:
    """Facts about the agent that uses the runtime; a program with its own agent loop may set them.
    `main_loop_model` is the model that the runtime was opened with.
    """

    main_loop_model: str | None = None
    max_thinking_tokens: int | None = None
    tools: Sequence[str] = ()
    mcp_clients: Mapping[str, Any] = field(default_factory=dict)
    agent_definitions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class WorkingDirectory:
    """The absolute directory in which commands start. `moves`: a command may change it."""

    directory: str
    moves: bool = False


def set_working_directory(current: WorkingDirectory, directory: str, files: Files) -> None:
    """Change to `directory` if it is a directory inside the roots; otherwise do nothing."""
    try:
        place = files.locate(directory)
    except ProblemRaised:
        return
    if place.kind is Kind.DIRECTORY:
        current.directory = place.absolute


@dataclass(slots=True)
class Session:
    """The state that the calls of a session share."""

    id: str
    roots: tuple[str, ...]
    mode: str
    read_states: ReadStates
    artifacts: Artifacts
    working_directory: WorkingDirectory = field(default_factory=lambda: WorkingDirectory("/"))
    # Whether agents may run commands and code; the user's own hooks and quality gates always run.
    runs_commands: bool = True
    options: Options = field(default_factory=Options)
    values: dict[str, Any] = field(default_factory=dict)
    # Id of a conversation → a function that returns its messages. A program with its own agent loop
    # uses the id "".
    conversations: dict[str, Callable[[], Sequence[Any]]] = field(default_factory=dict)
    # The wall clock in nanoseconds; a session without a clock is always at the epoch.
    now_ns: Callable[[], int] = int
    # Whether a result may have shown the content of a file that contains secrets. Never reset.
    secrets_shown: bool = False
    # Stores `secrets_shown` with the session.
    keep_secrets_shown: Callable[[], None] = lambda: None

    def note_secrets(self) -> None:
        """Set `secrets_shown` and store it with the session."""
        if not self.secrets_shown:
            self.secrets_shown = True
            self.keep_secrets_shown()

    @property
    def reads(self) -> ReadState:
        """What the main agent has seen."""
        return self.read_states.for_agent(MAIN_AGENT)


@dataclass(slots=True, eq=False)
class CancelSignal:
    """Tells running code that its call was cancelled; can be used from any thread."""

    cancelled: bool = False
    # Created by the first waiter: most calls end without one.
    _event: threading.Event | None = None

    def set(self) -> None:
        """Mark the call as cancelled and wake the threads that wait."""
        self.cancelled = True
        if self._event is not None:
            self._event.set()

    def wait(self, timeout_s: float | None = None) -> bool:
        """Block a worker thread until cancelled or timed out; True if cancelled."""
        if self._event is None:
            self._event = threading.Event()
        # Read after the event exists: `set` sets the flag before the event, so no signal is lost.
        return self.cancelled or self._event.wait(timeout_s)

    def raise_if_cancelled(self) -> None:
        """Raise `cancelled` if the call was cancelled; for long loops in worker threads."""
        if self.cancelled:
            raise ProblemRaised("cancelled", "the call was cancelled")


@dataclass(slots=True)
class ToolContext:
    """What a tool gets with each call.

    `report` sends progress, or an event that the tool defines, to the listeners. `places` are the
    resolved path arguments by name: `path`, and inside other values `paths[0]`, `edits[1].path`,
    `files['a']`; `list_places` returns those of one argument. `confirmed` is the approval that allowed
    the call, if the user was asked. `confinement` is what a program that the call starts may reach;
    `on_output` is called with the output of that program while it runs.
    """

    call: ToolCall
    session: Session
    report: Callable[[str | Event], None]
    signal: CancelSignal
    places: Mapping[str, Place] = field(default_factory=dict)
    confirmed: str | None = None
    confinement: Confinement | None = None
    on_output: OnOutput | None = None
    # The agents from the main agent down to the caller.
    chain: tuple[str, ...] = ()

    def list_places(self, argument: str) -> list[Place]:
        """The resolved paths of one argument and of everything inside it, in order."""
        inside = (f"{argument}[", f"{argument}.")
        return [
            place
            for name, place in self.places.items()
            if name == argument or name.startswith(inside)
        ]

    @property
    def messages(self) -> Sequence[Any]:
        """The messages of the conversation in which the call was made; empty if there is none."""
        conversation = self.session.conversations.get(self.call.conversation)
        return () if conversation is None else conversation()

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
        """The agent that makes the call."""
        return self.call.agent

    @property
    def cwd(self) -> str:
        """The absolute path of the workspace."""
        return self.session.roots[0]

    @property
    def additional_directories(self) -> tuple[str, ...]:
        """The roots other than the workspace."""
        return self.session.roots[1:]

    @property
    def reads(self) -> ReadState:
        """What the calling agent has seen."""
        call = self.call
        # Without a conversation the reader is the agent; every read needs this, so it is not computed.
        return self.session.read_states.for_agent(call.reader if call.conversation else call.agent)

    @property
    def options(self) -> Options:
        """Facts about the agent that uses the runtime."""
        return self.session.options

    @property
    def mcp_clients(self) -> Mapping[str, Any]:
        """The MCP servers of the session by name: `await one.call(tool, arguments, ctx)`."""
        return self.session.options.mcp_clients

    @property
    def artifacts(self) -> Artifacts:
        """Storage for large texts or files that belong to a result."""
        return self.session.artifacts
