"""The conversation of one agent, stored verbatim.

The store has one numbered entry per message, covered by its hash chain. The audit log is redacted;
a resumed conversation must send the same bytes as before, so this copy is not.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from handrail.agent.codec import decode_message, encode_message
from handrail.agent.estimate import message_tokens
from handrail.agent.projection import (
    NONE,
    CompactionRecord,
    ConversationEntry,
    entries_until,
    project_entries,
)
from handrail.core.call import call_owner, is_owned
from handrail.core.ports.models import Message, SystemPart
from handrail.core.ports.records import CONVERSATION_PREFIX, Store

_SETUP: Final = "setup"
_MAX_SESSIONS: Final = 100
_STATE: Final = "state"
_COMPACTION: Final = "compaction"
_VERSION: Final = 1


class ConversationSetup(NamedTuple):
    """What is fixed when a conversation starts, so that the prefix of every request stays the same:
    the model, the system prompt and the declared tools.
    """

    model: str
    agent: str
    runtime_session: str
    system: tuple[SystemPart, ...]
    tools: tuple[Mapping[str, Any], ...]


class ContextSize(NamedTuple):
    """How the tokens of requests to a model are estimated, and the size below which no compaction
    is attempted.
    """

    model: str
    factor: float = 1.0
    floor: int = 0


def new_conversation_id() -> str:
    """Return an id for a new conversation."""
    return uuid.uuid4().hex[:12]


@dataclass(slots=True)
class Conversation:
    """The messages of one agent, appended to the store one by one."""

    id: str
    store: Store
    setup: ConversationSetup | None = None
    entries: list[ConversationEntry] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)
    compaction: CompactionRecord | None = None
    # Whether the user has added text since the last request.
    has_new_text: bool = False
    # The numbers of the entries in the store.
    numbers: list[int] = field(default_factory=list)
    # The messages that are sent for the entries of the compaction.
    _projected: tuple[Message, ...] | None = None

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(entry.message for entry in self.entries)

    @property
    def sent_messages(self) -> tuple[Message, ...]:
        """The messages of the next request: all of them, or what the last compaction left."""
        if self.compaction is None:
            return self.messages
        if self._projected is None:
            self._projected = project_entries(self.entries, self.compaction)
        return (
            *self._projected,
            *(entry.message for entry in self.entries[self.compaction.entries :]),
        )

    def project(self, record: CompactionRecord) -> tuple[Message, ...]:
        """Return the messages that would be sent with this compaction."""
        rest = self.entries[record.entries :]
        return (*project_entries(self.entries, record), *(entry.message for entry in rest))

    def newest_from(self, tokens: int) -> int:
        """The number of the first entry of the newest part that has at most this many tokens."""
        for number in range(len(self.entries), 0, -1):
            tokens -= int(message_tokens(self.entries[number - 1].message))
            if tokens < 0:
                return number
        return 0

    def compact(self, record: CompactionRecord | None) -> None:
        """Send the conversation in this shortened form from now on; None: unchanged."""
        self.compaction, self._projected = record, None
        self._save(_COMPACTION, None if record is None else record.to_dict())

    @property
    def turn(self) -> int:
        """The number of the last turn; 0 before the first response of the model."""
        return self.entries[-1].turn if self.entries else 0

    @property
    def turn_count(self) -> int:
        """How many responses of the model there are. Turns of other calls may be between them."""
        return len({entry.turn for entry in self.entries if entry.message.role == "assistant"})

    @property
    def user_texts(self) -> tuple[str, ...]:
        """The texts of the user, oldest first."""
        return tuple(message.text for message in self.messages if message.role == "user")

    def begin(self, setup: ConversationSetup) -> None:
        """Fix the model, the system prompt and the tools."""
        self.setup = setup
        self._save(
            _SETUP,
            {
                "version": _VERSION,
                "model": setup.model,
                "agent": setup.agent,
                "runtime_session": setup.runtime_session,
                "system": [[part.text, part.cache] for part in setup.system],
                "tools": [dict(tool) for tool in setup.tools],
            },
        )

    @property
    def model(self) -> str:
        """The model that the conversation was sent to last; empty before the first task."""
        return str(self.state.get("model") or (self.setup.model if self.setup else ""))

    def was_sent_to(self, model: str) -> bool:
        """Whether the next request, without its newest messages, was sent to this model before."""
        return not self.state.get("unsent") and self.model in (model, "")

    def note_sent(self, model: str) -> None:
        """Record the model that the conversation is sent to."""
        if self.state.get("unsent"):
            self.update(unsent=False)
        self.update(model=model)

    def note_unsent(self) -> None:
        """Record that the next request may have text that no request of this conversation had."""
        self.update(unsent=True)

    @property
    def sessions(self) -> list[str]:
        """The runtime sessions in which the conversation was continued, oldest first."""
        first = [self.setup.runtime_session] if self.setup else []
        return list(dict.fromkeys([*first, *self.state.get("sessions", ())]))

    def note_session(self, session: str) -> list[str]:
        """Record the runtime session that continues the conversation; return the other ones, oldest
        first.
        """
        sessions = self.sessions
        if session not in sessions:
            self.update(sessions=[*sessions, session][-_MAX_SESSIONS:])
        return [other for other in sessions if other != session]

    def keep_size(self, size: ContextSize) -> None:
        """Store what decides about the next compaction."""
        self.update(size=list(size))

    def kept_size(self, model: str) -> ContextSize:
        """Return what `keep_size` has stored for a model."""
        stored = ContextSize(*self.state.get("size", ("",)))
        return stored if stored.model == model else ContextSize(model)

    def append(
        self, message: Message, turn: int, call_ids: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Add a message. It is on disk after the next `flush`."""
        cut = max((end for _, end in self.state.get("cuts", ())), default=0)
        number = max(self.numbers[-1] + 1 if self.numbers else 0, cut)
        self.numbers.append(number)
        self.has_new_text = self.has_new_text or message.role == "user"
        self.entries.append(ConversationEntry(message, turn, call_ids))
        value = {"message": encode_message(message), "turn": turn}
        if call_ids:
            value["call_ids"] = [list(pair) for pair in call_ids]
        self._save(f"{number:08d}", value)

    def update(self, **values: Any) -> None:
        """Store values about the conversation: its title, whether a task is unfinished."""
        if any(self.state.get(name) != value for name, value in values.items()):
            self.state |= values
            self._save(_STATE, self.state)

    async def flush(self) -> None:
        """Return once everything is on disk."""
        await self.store.flush()

    def matches(self, conversation: Conversation) -> bool:
        """Return whether both are the same state of one conversation: entries never change, so
        their numbers decide, together with the stored values.
        """
        return (
            self.numbers == conversation.numbers
            and self._state_fingerprint() == conversation._state_fingerprint()
        )

    def _state_fingerprint(self) -> str:
        shortened = None if self.compaction is None else self.compaction.to_dict()
        return json.dumps([self.setup is None, self.state, shortened], sort_keys=True)

    def cut(self, turn: int) -> None:
        """Continue from the end of a turn. Later entries stay in the store, marked as cut off;
        their calls keep their ids, and new calls get others.
        """
        end = entries_until(self.entries, turn)
        if self.prefixes:
            self.update(
                prefixes=[[begun, prefix] for begun, prefix in self.prefixes if begun < turn]
            )
        if end == len(self.entries):
            return
        self._projected = None
        cuts = [*self.state.get("cuts", ()), [self.numbers[end], self.numbers[-1] + 1]]
        del self.entries[end:], self.numbers[end:]
        self.update(cuts=cuts, tasks=[task for task in self.task_turns if task < turn])
        if not end:
            # The title named the first task; the next task becomes the first.
            self.update(title="")
        record = self.compaction
        if record is not None and record.entries > end:
            fits = record.until <= end
            self.compact(record.shorten(self.entries) if fits else None)
            if not fits:
                self.note_unsent()

    def copy_to(self, id: str, turn: int, store: Store | None = None) -> Conversation:
        """Return a conversation with another id and the entries up to the end of a turn. In the
        store of another workspace, it gets the system prompt and tools of that workspace.
        """
        copy = Conversation(id, store or self.store)
        if self.setup is not None and store is None:
            copy.begin(self.setup)
        end = entries_until(self.entries, turn)
        for entry in self.entries[:end]:
            copy.append(*entry)
        if self.compaction is not None and 0 < self.compaction.until <= end:
            # Handles refer to calls of this conversation: the copy sends their texts.
            covered = min(self.compaction.entries, end)
            copy.compact(replace(self.compaction, entries=covered, replaced=NONE, folded=NONE))
        copy.note_unsent()
        return copy

    @property
    def task_turns(self) -> list[int]:
        """The last turn before each task of the user, oldest first."""
        return list(self.state.get("tasks", ()))

    def call_prefix(self, turn: int) -> str:
        """Return the start of the ids of the next turn's calls; it was never used before."""
        cuts = len(self.state.get("cuts", ()))
        again = f"_{cuts}" if cuts else ""
        owner = self.prefixes[-1][1] if self.prefixes else self.call_owner
        return f"{owner}.{turn}{again}"

    @property
    def call_owner(self) -> str:
        """The start of the ids of its calls, except for those in `prefixes`. A conversation that an
        earlier version began under a name with a dot continues with this name.
        """
        first = next((call_id for entry in self.entries for _, call_id in entry.call_ids), "")
        return self.id if is_owned(first, self.id) else call_owner(self.id)

    @property
    def prefixes(self) -> list[tuple[int, str]]:
        """The starts of call ids that differ from the id of the conversation, each with the last
        turn before it: calls of a subagent belong to the call that continued it.
        """
        return [(turn, prefix) for turn, prefix in self.state.get("prefixes", ())]

    def continue_under(self, prefix: str) -> None:
        """Let the ids of later calls begin with `prefix`."""
        if prefix not in (self.id, *(used for _, used in self.prefixes)):
            self.update(prefixes=[*map(list, self.prefixes), [self.turn, prefix]])

    def has_call(self, call_id: str) -> bool:
        """Return whether a call was made in this conversation, by its id."""
        owners = (self.call_owner, *(owner for _, owner in self.prefixes))
        return call_id.startswith(tuple(f"{owner}." for owner in owners))

    def _save(self, key: str, value: Any) -> None:
        self.store.save_state(
            CONVERSATION_PREFIX + self.id, key, json.dumps(value, ensure_ascii=True)
        )


class KeptConversation(NamedTuple):
    """A conversation as stored."""

    setup: ConversationSetup | None
    entries: list[ConversationEntry]
    state: dict[str, Any]
    compaction: CompactionRecord | None
    numbers: list[int]


async def load_conversation(id: str, store: Store) -> Conversation:
    """Return the stored conversation; an empty one if there is none with that id."""
    stored = decode_conversation(await store.load_state(CONVERSATION_PREFIX + id))
    return Conversation(id, store, **stored._asdict())


def decode_conversation(values: Mapping[str, str]) -> KeptConversation:
    """Decode a conversation from values of the store."""
    stored = {key: json.loads(value) for key, value in values.items()}
    begun, state = stored.pop(_SETUP, None), stored.pop(_STATE, None) or {}
    shortened = stored.pop(_COMPACTION, None)
    setup = None
    if begun is not None:
        setup = ConversationSetup(
            begun["model"],
            begun["agent"],
            begun["runtime_session"],
            tuple(SystemPart(text, cache) for text, cache in begun["system"]),
            tuple(begun["tools"]),
        )
    entries, numbers = [], []
    cuts = state.get("cuts", ())
    for key, value in sorted(stored.items()):
        # A deleted value is null.
        if value is None or any(first <= int(key) < end for first, end in cuts):
            continue
        numbers.append(int(key))
        pairs = tuple((wire_id, call_id) for wire_id, call_id in value.get("call_ids", ()))
        entries.append(ConversationEntry(decode_message(value["message"]), value["turn"], pairs))
    record = None if shortened is None else CompactionRecord.from_dict(shortened)
    return KeptConversation(setup, entries, state, record, numbers)
