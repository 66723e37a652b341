"""What is sent of a conversation: all of it, or its projection after a compaction.

The entries of a conversation never change. A compaction records which results are sent as a handle
and which entries as a summary; the same entries and record always give the same messages.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

from handrail.core.outputs import output_handle
from handrail.core.ports.models import Message, ResultBlock, TextBlock
from handrail.core.text.nesting import parse_json


class ConversationEntry(NamedTuple):
    """One message with its turn. `call_ids` maps the provider's ids of its calls to the ids under
    which they are recorded, in order.
    """

    message: Message
    turn: int
    call_ids: tuple[tuple[str, str], ...] = ()


NONE: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True)
class CompactionRecord:
    """One compaction. It covers the first `entries` entries; later ones are sent unchanged."""

    entries: int
    # Ids of calls whose results are sent as a handle, and of those whose text is repeated later.
    replaced: frozenset[str] = NONE
    folded: frozenset[str] = NONE
    # The first `until` entries are sent as this summary.
    until: int = 0
    summary: str = ""
    # Absolute paths of files whose text is no longer sent.
    forgotten: tuple[str, ...] = ()

    def shorten(self, entries: Sequence[ConversationEntry]) -> CompactionRecord:
        """Return the record for the entries that a rewind has left. A text whose repetition was cut
        off becomes a handle.
        """
        last = {result.text: result.call_id for result in find_results(entries)}
        places = {result.call_id: result.text for result in find_results(entries)}
        still_folded = {id for id in self.folded & places.keys() if last[places[id]] != id}
        return replace(
            self,
            entries=len(entries),
            replaced=(self.replaced | self.folded) & places.keys() - still_folded,
            folded=frozenset(still_folded),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {
            "entries": self.entries,
            "replaced": sorted(self.replaced),
            "folded": sorted(self.folded),
            "until": self.until,
            "summary": self.summary,
            "forgotten": list(self.forgotten),
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> CompactionRecord:
        """Return the record from its JSON form."""
        return CompactionRecord(
            values["entries"],
            frozenset(values["replaced"]),
            frozenset(values["folded"]),
            values["until"],
            values["summary"],
            tuple(values["forgotten"]),
        )


class ResultPlace(NamedTuple):
    """A result in a conversation: its entry, its call, and its text."""

    entry: int
    call_id: str
    tool: str
    arguments_json: str
    text: str


def find_results(entries: Sequence[ConversationEntry], start: int = 0) -> Iterator[ResultPlace]:
    """Yield the results in the entries from `start` on, in order."""
    for number, entry in enumerate(entries):
        if number < start or entry.message.role != "tool" or number == 0:
            continue
        request = entries[number - 1]
        call_ids = dict(request.call_ids)
        calls = {call.id: call for call in request.message.calls}
        for block in entry.message.blocks:
            if (
                isinstance(block, ResultBlock)
                and block.call_id in call_ids
                and block.call_id in calls
            ):
                call = calls[block.call_id]
                yield ResultPlace(
                    number, call_ids[block.call_id], call.name, call.arguments_json, block.text
                )


def project_entries(
    entries: Sequence[ConversationEntry], record: CompactionRecord
) -> tuple[Message, ...]:
    """Return the messages that are sent for the entries that a compaction covers."""
    covered = entries[: record.entries]
    sent = [Message("user", (TextBlock(record.summary),))] if record.until else []
    for number, entry in enumerate(covered):
        if number < record.until:
            continue
        call_ids = dict(entries[number - 1].call_ids) if number else {}
        sent.append(_project_message(entry.message, call_ids, record))
    return tuple(sent)


def _project_message(
    message: Message, call_ids: Mapping[str, str], record: CompactionRecord
) -> Message:
    if message.role != "tool":
        return message
    blocks = [
        _project_result(block, call_ids.get(block.call_id, ""), record)
        if isinstance(block, ResultBlock)
        else block
        for block in message.blocks
    ]
    return Message(message.role, tuple(blocks), message.raw)


def _project_result(block: ResultBlock, call_id: str, record: CompactionRecord) -> ResultBlock:
    if call_id in record.folded:
        why = "the same text follows below"
    elif call_id in record.replaced:
        why = "left out to save space"
    else:
        return block
    note = f'[{why}; read it with path="{output_handle(call_id)}"]'
    return ResultBlock(block.call_id, (TextBlock(note),), block.is_error)


def path_argument(place: ResultPlace) -> str | None:
    """Return the path argument of a call, None if it has none."""
    try:
        arguments = parse_json(place.arguments_json)
    except ValueError:
        return None
    if not isinstance(arguments, dict):
        return None
    path = arguments.get("path", arguments.get("file_path"))
    return path if isinstance(path, str) and not path.startswith("output:") else None


def entries_until(entries: Sequence[ConversationEntry], turn: int) -> int:
    """Return the number of entries at the end of a turn, without messages of the user after it."""
    count = 0
    for number, entry in enumerate(entries, 1):
        if 0 < entry.turn <= turn and entry.message.role != "user":
            count = number
    return count
