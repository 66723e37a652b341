"""Assembles a message from the events of a stream, within limits.

The stream comes from an endpoint that may be broken or hostile. The reader of each wire format
translates its events to the operations here, which emit the events of the model port.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from handrail.core.call import safe_call_id
from handrail.core.ports.models import (
    Block,
    CallBlock,
    CallClosed,
    CallDelta,
    CallOpened,
    Finish,
    Message,
    MessageDone,
    ModelEvent,
    ModelFailed,
    RawMessage,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    UsageReported,
)
from handrail.models.wires.fields import LONE_HALF, dump_json, join_halves, malformed, parse_object

MAX_TEXT_BYTES: Final = 8 * 1024 * 1024
MAX_ARGUMENT_BYTES: Final = 8 * 1024 * 1024
MAX_ARGUMENT_BYTES_OF_MESSAGE: Final = 32 * 1024 * 1024
MAX_CALLS: Final = 128
MAX_BLOCKS: Final = 4096
MAX_NAME: Final = 256
# More tokens than any model accepts: a higher value is not a count.
MAX_TOKENS: Final = 100_000_000
# What every provider accepts as the name of a tool.
_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(slots=True)
class TextPiece:
    """A text or thinking block that grows. `raw` has what the wire needs besides the text."""

    parts: list[str] = field(default_factory=list)
    thinking: bool = False
    closed: bool = False
    raw: dict[str, Any] = field(default_factory=dict)
    half: str = ""

    @property
    def text(self) -> str:
        """The text so far."""
        return "".join(self.parts)


@dataclass(slots=True)
class CallPiece:
    """A call that grows. `wire_id` is the id for the provider. `announced` is set after its start
    was reported: some servers send the name later.
    """

    index: int
    id: str
    wire_id: str
    name: str
    parts: list[str] = field(default_factory=list)
    size: int = 0
    closed: bool = False
    raw: dict[str, Any] = field(default_factory=dict)
    announced: bool = False
    half: str = ""

    @property
    def arguments_json(self) -> str:
        """The argument text so far."""
        return "".join(self.parts)

    @property
    def safe_arguments(self) -> dict[str, Any]:
        """The arguments as an object; empty if they are not one, because providers refuse anything
        else.
        """
        return parse_object(self.arguments_json) or {}

    @property
    def wire_name(self) -> str:
        """The name for the provider."""
        return self.name if _NAME.fullmatch(self.name) else "invalid_tool_name"


@dataclass(slots=True)
class RawPiece:
    """A block that only its wire format understands; it is kept unchanged."""

    raw: dict[str, Any]


Piece = TextPiece | CallPiece | RawPiece


class StreamEnding(NamedTuple):
    """Why the message ended, and the provider's word for it."""

    finish: Finish
    reason: str


class StreamReader(ABC):
    """Reads one stream. `read` takes one event as a dictionary; `end` returns the message.

    Both raise `ModelFailed`. `ending` is set when the stream has sent its finish reason.
    """

    wire: str

    def __init__(self) -> None:
        self.pieces: list[Piece] = []
        self.ending: StreamEnding | None = None
        self.response_id: str | None = None
        # Whether the stream has announced a response.
        self.begun = False
        self.usage: UsageReported | None = None
        # Counts everything that advances the message; keep-alive events do not.
        self.progress = 0
        # Whether the stream has announced its end.
        self.stopped = False
        self._events: list[ModelEvent] = []
        self._sizes = {"text": 0, "arguments": 0}
        self._calls: list[CallPiece] = []
        # How many calls were reported as complete.
        self._reported = 0

    @abstractmethod
    def read(self, event: Mapping[str, Any]) -> Sequence[ModelEvent]:
        """Return the model events of one event of the provider."""

    @abstractmethod
    def raw_message(self, pieces: Sequence[Piece]) -> Any:
        """Return the message of these pieces in the form that the provider expects back."""

    def end(self) -> MessageDone:
        """Return the message; raises `ModelFailed` if the stream ended without a finish reason."""
        if self.ending is None:
            raise ModelFailed(
                "cut",
                "the stream ended before the message was complete",
                retryable=True,
                partial=self.partial(),
            )
        finish = self.ending.finish
        if finish is Finish.CALLS and not self._calls:
            finish = Finish.END
        message = self._message(self.pieces)
        return MessageDone(finish, message, self.ending.reason, self.response_id)

    def partial(self) -> Message | None:
        """Return the complete blocks as a message; None if there are none."""
        complete = self.complete_pieces()
        return self._message(complete) if complete else None

    def complete_pieces(self) -> list[Piece]:
        """Return the complete blocks."""
        complete = [
            piece for piece in self.pieces if not isinstance(piece, CallPiece) or piece.closed
        ]
        if complete and isinstance(complete[-1], TextPiece) and complete[-1] is self.pieces[-1]:
            # The last block may continue, unless it was closed.
            complete = complete if complete[-1].closed else complete[:-1]
        return complete

    # --- for the readers of each wire -----------------------------------------------------

    def take_events(self) -> list[ModelEvent]:
        """Return the events since the last call of this method."""
        events, self._events = self._events, []
        return events

    def add_text(self, text: str, *, thinking: bool = False, new: bool = False) -> TextPiece | None:
        """Append text to the last block of its kind, or to a new one; None if it is empty."""
        if not text and not new:
            return None
        last = self.pieces[-1] if self.pieces else None
        if new or not isinstance(last, TextPiece) or last.thinking is not thinking:
            last = TextPiece(thinking=thinking)
            self.add_piece(last)
        self.extend_text(last, text)
        return last

    def extend_text(self, piece: TextPiece, text: str) -> None:
        """Append to a given block."""
        text, piece.half = join_halves(piece.half + text)
        if text:
            self._grow("text", text, MAX_TEXT_BYTES)
            piece.parts.append(text)
            self._emit(ThinkingDelta(text) if piece.thinking else TextDelta(text))

    def close_text(self, piece: TextPiece) -> None:
        """Complete a block; half a surrogate pair at its end is replaced."""
        piece.closed = True
        self._end_half(piece)

    def add_piece(self, piece: Piece) -> None:
        """Append a block."""
        if len(self.pieces) >= MAX_BLOCKS:
            raise _over_limit(f"more than {MAX_BLOCKS} blocks")
        if self.pieces and isinstance(self.pieces[-1], TextPiece):
            self._end_half(self.pieces[-1])
        self.progress += 1
        self.pieces.append(piece)

    def count_raw(self, value: Any) -> None:
        """Count unchanged data against the text limit; empty data does not advance the message."""
        text = value if isinstance(value, str) else dump_json(value)
        self.progress += bool(text)
        self._grow("text", text, MAX_TEXT_BYTES)

    def open_call(self, given_id: Any, name: str) -> CallPiece:
        """Begin a call. An unusable id is replaced; see `core/call.py`."""
        if len(self._calls) >= MAX_CALLS:
            raise _over_limit(f"more than {MAX_CALLS} tool calls")
        index = len(self._calls)
        provider_id = given_id if isinstance(given_id, str) else ""
        used = {call_piece.wire_id for call_piece in self._calls}
        wire_id = provider_id if provider_id and provider_id not in used else f"call_{index}"
        while wire_id in used:
            wire_id += "_"
        call = CallPiece(index, safe_call_id(wire_id), wire_id, "")
        self.add_piece(call)
        self._calls.append(call)
        self.extend_name(call, name)
        return call

    def extend_name(self, call: CallPiece, text: str) -> None:
        """Append to the name of a call; its start is reported with the first part."""
        if not text:
            return
        if len(call.name) + len(text) > MAX_NAME:
            raise _over_limit(f"a tool name of more than {MAX_NAME} characters")
        call.name += text
        self._announce(call)

    def extend_call(self, call: CallPiece, text: str) -> None:
        """Append argument text to an open call."""
        text, call.half = join_halves(call.half + text)
        if not text:
            return
        if call.closed:
            raise malformed(f"arguments for the call {call.index} after it was complete")
        self._grow("arguments", text, MAX_ARGUMENT_BYTES_OF_MESSAGE)
        call.size += _size(text)
        if call.size > MAX_ARGUMENT_BYTES:
            raise _over_limit(f"arguments of more than {MAX_ARGUMENT_BYTES:,} bytes")
        call.parts.append(text)
        self._emit(CallDelta(call.index, text))

    def close_call(self, call: CallPiece) -> None:
        """Complete a call. Calls are reported as complete in their order: a call that is complete
        before an earlier one is reported after it.
        """
        self._end_half(call)
        call.closed = True
        for next_call in self._calls[self._reported :]:
            if not next_call.closed:
                return
            self._reported += 1
            self._announce(next_call)
            self._emit(
                CallClosed(next_call.index, next_call.id, next_call.name, next_call.arguments_json)
            )

    def close_open_calls(self) -> None:
        """Complete the calls that are completed only by the finish."""
        for call in self._calls:
            self.close_call(call)

    @property
    def size(self) -> int:
        """The bytes of text and arguments so far."""
        return sum(self._sizes.values())

    @property
    def calls(self) -> Sequence[CallPiece]:
        """The calls so far, in order."""
        return self._calls

    @property
    def open_calls(self) -> list[CallPiece]:
        """The calls that are not complete yet."""
        return [call for call in self._calls if not call.closed]

    def set_ending(self, finishes: Mapping[str, Finish], reason: Any) -> StreamEnding:
        """Record why the message ended."""
        for piece in self.pieces:
            self._end_half(piece)
        word = reason[:100] if isinstance(reason, str) else ""
        finish = finishes.get(reason, Finish.UNKNOWN) if isinstance(reason, str) else Finish.UNKNOWN
        self.progress += 1
        self.ending = StreamEnding(finish, word)
        return self.ending

    def begin_response(self, response_id: Any) -> None:
        """Record the start of a response. A second one in the same stream comes from a server or
        proxy that started again: the calls of both would run.
        """
        if self.begun:
            raise malformed("a second response begins in the stream")
        self.begun = True
        self.note_response(response_id)

    def note_response(self, response_id: Any) -> None:
        """Record the provider's id of the response."""
        if self.response_id is None and isinstance(response_id, str) and response_id:
            self.response_id = safe_call_id(response_id)

    def report_usage(self, **counts: Any) -> None:
        """Report token counts; invalid values leave a count unchanged."""
        before = self.usage or UsageReported(0, 0)
        valid = {
            name: _tokens(value, getattr(before, name))
            for name, value in counts.items()
            if value is not None
        }
        if not valid:
            return
        self.usage = UsageReported(
            valid.get("input", before.input),
            valid.get("output", before.output),
            valid.get("cache_read", before.cache_read),
            valid.get("cache_write", before.cache_write),
        )
        self._events.append(self.usage)

    def _end_half(self, piece: Piece) -> None:
        """Replace half a surrogate pair at the end of a text, whose other half is missing."""
        if isinstance(piece, TextPiece) and piece.half:
            piece.half = ""
            self.extend_text(piece, LONE_HALF)
        elif isinstance(piece, CallPiece) and piece.half:
            piece.half = ""
            self.extend_call(piece, LONE_HALF)

    def _announce(self, call: CallPiece) -> None:
        if not call.announced:
            call.announced = True
            self._emit(CallOpened(call.index, call.id, call.name))

    def _emit(self, event: ModelEvent) -> None:
        self.progress += 1
        self._events.append(event)

    def _grow(self, kind: str, text: str, limit: int) -> None:
        self._sizes[kind] += _size(text)
        if self._sizes[kind] > limit:
            raise _over_limit(f"{kind} of more than {limit:,} bytes")

    def _message(self, pieces: Sequence[Piece]) -> Message:
        blocks: list[Block] = []
        for piece in pieces:
            if isinstance(piece, CallPiece):
                blocks.append(_call_block(piece))
            elif isinstance(piece, TextPiece) and piece.parts:
                blocks.append(
                    ThinkingBlock(piece.text) if piece.thinking else TextBlock(piece.text)
                )
        raw = RawMessage(self.wire, self.raw_message(pieces))
        return Message("assistant", tuple(blocks), raw)


def _call_block(call: CallPiece) -> CallBlock:
    """Return a call: a complete one with its text unchanged, a cut one with arguments that are an
    object.
    """
    text = call.arguments_json
    if not call.closed and parse_object(text) is None:
        text = "{}"
    return CallBlock(call.id, call.name, text)


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def _tokens(value: Any, before: int) -> int:
    """Return a token count within bounds, or the count before for an invalid value."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        return before
    return int(min(value, MAX_TOKENS))


def _over_limit(what: str) -> ModelFailed:
    return ModelFailed("over_limit", f"the message has {what}")
