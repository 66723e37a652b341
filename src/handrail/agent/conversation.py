"""The conversation of one agent, kept verbatim in the store.

The store holds one numbered entry per message, covered by its hash chain. The audit beside it is
redacted; a resumed conversation must send the same bytes as before, so this copy is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from handrail.agent.codec import decode_message, encode_message
from handrail.core.ports.models import Message, SystemPart
from handrail.core.ports.records import Store

# Values of a conversation are kept apart from those of the session of the same name.
_PREFIX: Final = "conversation:"
_SETUP: Final = "setup"
_STATE: Final = "state"
_VERSION: Final = 1


class ConversationSetup(NamedTuple):
    """What is fixed when a conversation starts, so that the prefix of every request stays the
    same: the model, the system prompt and the declared tools.
    """

    model: str
    agent: str
    runtime_session: str
    system: tuple[SystemPart, ...]
    tools: tuple[Mapping[str, Any], ...]


class ConversationEntry(NamedTuple):
    """One message with its turn. `call_ids` maps the provider's ids of its calls to the ids under
    which they are recorded, in order.
    """

    message: Message
    turn: int
    call_ids: tuple[tuple[str, str], ...] = ()


@dataclass(slots=True)
class Conversation:
    """The messages of one agent, appended to the store as they come."""

    id: str
    store: Store
    setup: ConversationSetup | None = None
    entries: list[ConversationEntry] = field(default_factory=list)
    state: dict[str, Any] = field(default_factory=dict)

    @property
    def messages(self) -> tuple[Message, ...]:
        """All messages, oldest first."""
        return tuple(entry.message for entry in self.entries)

    @property
    def turn(self) -> int:
        """The number of the last turn; 0 before the first response of the model."""
        return self.entries[-1].turn if self.entries else 0

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

    def append(
        self, message: Message, turn: int, call_ids: tuple[tuple[str, str], ...] = ()
    ) -> None:
        """Add a message. It is on disk after the next `flush`."""
        number = len(self.entries)
        self.entries.append(ConversationEntry(message, turn, call_ids))
        value = {"message": encode_message(message), "turn": turn}
        if call_ids:
            value["call_ids"] = [list(pair) for pair in call_ids]
        self._save(f"{number:08d}", value)

    def update(self, **values: Any) -> None:
        """Keep values about the conversation: its title, whether a task is unfinished."""
        if any(self.state.get(name) != value for name, value in values.items()):
            self.state |= values
            self._save(_STATE, self.state)

    async def flush(self) -> None:
        """Return once everything is on disk."""
        await self.store.flush()

    def _save(self, key: str, value: Any) -> None:
        self.store.save_state(_PREFIX + self.id, key, json.dumps(value, ensure_ascii=True))


class KeptConversation(NamedTuple):
    """What the store holds of a conversation."""

    setup: ConversationSetup | None
    entries: list[ConversationEntry]
    state: dict[str, Any]


async def load_conversation(id: str, store: Store) -> Conversation:
    """The conversation as far as it was kept; an empty one if there is none of that id."""
    kept = decode_conversation(await store.load_state(_PREFIX + id))
    return Conversation(id, store, *kept)


def decode_conversation(values: Mapping[str, str]) -> KeptConversation:
    """The conversation in values of the store."""
    kept = {key: json.loads(value) for key, value in values.items()}
    begun, state = kept.pop(_SETUP, None), kept.pop(_STATE, {})
    setup = None
    if begun is not None:
        setup = ConversationSetup(
            begun["model"],
            begun["agent"],
            begun["runtime_session"],
            tuple(SystemPart(text, cache) for text, cache in begun["system"]),
            tuple(begun["tools"]),
        )
    entries = []
    for _, value in sorted(kept.items()):
        pairs = tuple((given, own) for given, own in value.get("call_ids", ()))
        entries.append(ConversationEntry(decode_message(value["message"]), value["turn"], pairs))
    return KeptConversation(setup, entries, state)
