"""The protocol of a model: requests, streamed events and failures.

Values only. The wire formats of real services are in `handrail.models`.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any, Final, Literal, Protocol

Role = Literal["user", "assistant", "tool"]
ToolChoice = Literal["auto", "none", "any"]
FailureCode = Literal[
    "auth",
    "invalid_request",
    "context_overflow",
    "rate_limited",
    "overloaded",
    "network",
    "idle",
    "cut",
    "over_limit",
    "content_refused",
]
DEFAULT_CONTEXT_TOKENS: Final = 128_000


class Finish(StrEnum):
    """How a model's message ended, in one vocabulary for all providers."""

    END = "end"
    CALLS = "calls"
    LENGTH = "length"
    REFUSED = "refused"
    PAUSED = "paused"
    CUT = "cut"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TextBlock:
    """Text of the user, the model or a tool."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingBlock:
    """The model's reasoning as far as the provider shows it. The signatures that a provider wants
    back are in the `raw` of the message.
    """

    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """An image, as bytes."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class CallBlock:
    """A tool call that the model made. `id` is unique within its message, not beyond it."""

    id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class ResultBlock:
    """The result of a call of the nearest assistant message before it."""

    call_id: str
    blocks: tuple[TextBlock | Picture, ...]
    is_error: bool = False

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))


Block = TextBlock | ThinkingBlock | Picture | CallBlock | ResultBlock


@dataclass(frozen=True, slots=True)
class RawMessage:
    """An assistant message as its provider sent it. It is sent back unchanged over the same wire."""

    wire: str
    value: Any


@dataclass(frozen=True, slots=True)
class Message:
    """One message of a conversation. Results are in messages of role "tool"."""

    role: Role
    blocks: tuple[Block, ...]
    raw: RawMessage | None = None

    @property
    def text(self) -> str:
        """The text blocks, joined."""
        return "".join(block.text for block in self.blocks if isinstance(block, TextBlock))

    @property
    def calls(self) -> tuple[CallBlock, ...]:
        """The tool calls, in order."""
        return tuple(block for block in self.blocks if isinstance(block, CallBlock))


@dataclass(frozen=True, slots=True)
class SystemPart:
    """A part of the system prompt. `cache` marks the end of a prefix that stays the same."""

    text: str
    cache: bool = False


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """One request. `tools` are in the form of `rt.declare("anthropic")`: name, description,
    input_schema; each wire renders them. `cache_marks` are indexes into `messages`: the prefix up
    to each of them is worth caching. `stream_retries`: how many further streams the model may ask
    for, None for the number in its limits.
    """

    system: tuple[SystemPart, ...]
    messages: tuple[Message, ...]
    tools: tuple[Mapping[str, Any], ...] = ()
    max_output_tokens: int | None = None
    tool_choice: ToolChoice = "auto"
    cache_marks: tuple[int, ...] = ()
    stream_retries: int | None = None


@dataclass(frozen=True, slots=True)
class TextDelta:
    """A piece of the message's text."""

    text: str


@dataclass(frozen=True, slots=True)
class ThinkingDelta:
    """A piece of the model's reasoning."""

    text: str


@dataclass(frozen=True, slots=True)
class CallOpened:
    """A call begins. `index` counts the calls of the message."""

    index: int
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class CallDelta:
    """A piece of the argument text of the call with this index."""

    index: int
    json: str


@dataclass(frozen=True, slots=True)
class CallClosed:
    """A call is complete: its block ended, the next one began, or the message ended with calls."""

    index: int
    id: str
    name: str
    arguments_json: str


@dataclass(frozen=True, slots=True)
class UsageReported:
    """Tokens of the request so far, as the provider counts them. A later report replaces an earlier
    one. `input` includes what was read from or written to a cache. `estimated`: the provider reported
    nothing usable, and the numbers are bytes divided by four.
    """

    input: int
    output: int
    cache_read: int = 0
    cache_write: int = 0
    estimated: bool = False


@dataclass(frozen=True, slots=True)
class MessageDone:
    """The last event of a stream. With `length` and `refused` the last call of the message may be
    incomplete and must not run; with every finish but `calls` no call with an effect may run.
    `response_id` is the provider's id of the response, if it gave one.
    """

    finish: Finish
    message: Message
    reason: str = ""
    response_id: str | None = None


@dataclass(frozen=True, slots=True)
class ModelRetry:
    """The request is sent again after `wait_s`. Comes only before the other events. `usage` is what
    the failed attempt cost, if the provider had begun to answer.
    """

    attempt: int
    code: FailureCode
    wait_s: float
    usage: UsageReported | None = None


ModelEvent = (
    TextDelta
    | ThinkingDelta
    | CallOpened
    | CallDelta
    | CallClosed
    | UsageReported
    | MessageDone
    | ModelRetry
)


class ModelFailed(Exception):
    """A request failed. `partial` holds the complete blocks of a stream that was cut off after the
    first event, None if there are none: a conversation can go on from it. `usage` is what the
    attempt cost, if the provider had begun to answer. `hint` says what the user can do, where the
    code alone does not.
    """

    def __init__(
        self,
        code: FailureCode,
        message: str,
        *,
        status: int | None = None,
        retryable: bool = False,
        retry_after_s: float | None = None,
        partial: Message | None = None,
        usage: UsageReported | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status
        self.retryable = retryable
        self.retry_after_s = retry_after_s
        self.partial = partial
        self.usage = usage
        self.hint = hint


@dataclass(frozen=True, slots=True)
class ModelLimits:
    """The limits of a model. `context_known` is False if the context size is the default.
    `stream_retries`: how often, in total, a message is requested again after its stream failed.
    """

    context_tokens: int = DEFAULT_CONTEXT_TOKENS
    max_output_tokens: int = 8192
    sees_images: bool = True
    parallel_calls: bool = True
    stream_retries: int = 5
    context_known: bool = field(default=False, compare=False)


class Model(Protocol):
    """Streams one message per request."""

    @property
    def name(self) -> str:
        """The user's name of the model."""

    @property
    def wire(self) -> str:
        """The wire format: "openai-chat", "openai-responses", "anthropic", "gemini" or "custom"."""

    @property
    def limits(self) -> ModelLimits:
        """The limits of the model."""

    def stream(self, request: ModelRequest) -> AsyncIterator[ModelEvent]:
        """The events of one message, ended by `MessageDone`; raises `ModelFailed`."""

    async def aclose(self) -> None:
        """Close connections. Safe to repeat."""
