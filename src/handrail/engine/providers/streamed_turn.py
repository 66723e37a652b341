"""A response of a provider that is read while its calls already run."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Generator,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from dataclasses import dataclass, replace
from typing import Any, Final, Self

from handrail.core.ports.models import (
    CallClosed,
    CallOpened,
    Finish,
    ModelFailed,
    TextDelta,
    ThinkingDelta,
)
from handrail.core.results import ToolResult
from handrail.engine import messages
from handrail.engine.providers.provider_messages import ResponseEnd, tool_messages
from handrail.engine.providers.streamed_calls import StreamedCalls
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.reader import CallPiece, StreamReader

_ANTHROPIC_TYPES: Final = ("message_start", "message_delta", "message_stop", "ping")
_GEMINI_FIELDS: Final = frozenset({"candidates", "usageMetadata", "promptFeedback"})
# Events that the SDKs' helpers add to those of the provider, with the whole message in each.
_ADDED: Final = frozenset({"text", "input_json", "thinking", "signature", "citation", "compaction"})

# The names of formats as `rt.declare` has them, and as models have them.
_WIRES: Final[Mapping[str, str]] = {"openai": "openai-chat", **{name: name for name in FORMATS}}
_PROVIDERS: Final[Mapping[str, str]] = {
    **{name: name for name in FORMATS},
    "openai-chat": "openai",
}


@dataclass(frozen=True, slots=True)
class TurnOutcome:
    """What came of a turn: how it ended, the provider's messages, the results of the calls."""

    finish: Finish
    assistant: Any
    answers: tuple[dict[str, Any], ...] = ()
    results: tuple[ToolResult, ...] = ()


class StreamedTurn:
    """One response. Iterate over it for the events of the source, unchanged; after the last one all
    calls have ended. `await turn` reads the rest.

    `assistant` is the assembled message of the model, `answers` are the messages with the results,
    `messages` both in order, `finish` how the message ended, `results` the results themselves.
    """

    def __init__(self, events: Any, provider: str | None, calls: StreamedCalls) -> None:
        self._source = StreamSource(events)
        self._wire = None if provider is None else _known_wire(provider)
        self._calls = calls
        self._reader: StreamReader | None = None
        # Runs the calls once the response has said how it ends.
        self._running: asyncio.Task[list[ToolResult]] | None = None
        self._outcome: TurnOutcome | None = None
        self._left = False

    @property
    def finish(self) -> str:
        """end, calls, length, refused, paused, cut or unknown."""
        return self._known.finish

    @property
    def assistant(self) -> Any:
        """The model's message as its provider takes it back; of Responses the list of its items."""
        return self._known.assistant

    @property
    def answers(self) -> list[Any]:
        """The messages with the results of the calls."""
        return list(self._known.answers)

    @property
    def messages(self) -> list[Any]:
        """The model's message and the answers, to be appended to the conversation."""
        said = self._known.assistant
        return [*(said if isinstance(said, list) else [said]), *self._known.answers]

    @property
    def results(self) -> list[ToolResult]:
        """The results of the calls, in order."""
        return list(self._known.results)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        self._left = True
        try:
            if self._running is not None and self._outcome is None:
                await self._complete()
            elif self._outcome is None:
                await self._give_up()
        finally:
            await self._source.aclose()

    def __await__(self) -> Generator[Any, None, Self]:
        return self._drain().__await__()

    def __aiter__(self) -> AsyncIterator[Any]:
        return self

    async def __anext__(self) -> Any:
        if self._outcome is not None or self._left:
            raise StopAsyncIteration
        try:
            event = await self._source.read()
        except StopAsyncIteration:
            await self.end()
            raise
        await self.feed(event)
        return event

    async def feed(self, event: Any) -> None:
        """Take one event; raises `unavailable` if the response cannot be used."""
        try:
            self._read(event)
        except ModelFailed as failed:
            await self._fail(failed)

    async def _drain(self) -> Self:
        async for _ in self:
            pass
        return self

    @property
    def _known(self) -> TurnOutcome:
        if self._outcome is None:
            raise RuntimeError(
                "the stream was not read to its end: `await turn`, or leave its block"
            )
        return self._outcome

    def _read(self, event: Any) -> None:
        plain = self._source.plain(event)
        if plain is None:
            return
        reader = self._reader
        if reader is None:
            wire = self._wire or recognise_wire(plain)
            reader = self._reader = FORMATS[wire].reader()
        if reader.stopped:
            # The response is complete: what follows belongs to nothing.
            return
        for one in reader.read(plain):
            if isinstance(one, CallOpened | TextDelta | ThinkingDelta):
                self._calls.advance()
            if isinstance(one, CallOpened) and one.index == 0:
                self._calls.scope_to(reader.response_id)
            elif isinstance(one, CallClosed):
                self._calls.add(_asked(reader.calls[one.index]))
        if reader.ending is not None and self._running is None and reader.calls:
            asked = [_asked(call) for call in reader.calls]
            end = ResponseEnd(reader.end().finish, reader.ending.reason)
            self._running = asyncio.create_task(self._calls.finish(asked, end))

    async def end(self) -> None:
        """The source has ended: wait for the calls; raises `unavailable` if it was cut off."""
        if self._reader is None or self._reader.ending is None:
            await self._fail(ModelFailed("cut", "it ended without its finish"))
        await self._complete()

    async def _complete(self) -> None:
        """Wait for the calls of a response that has said how it ends."""
        reader = self._reader
        if reader is None:
            return
        results: list[ToolResult] = []
        if self._running is not None:
            try:
                results = await self._running
            except asyncio.CancelledError:
                self._running.cancel()
                await asyncio.wait([self._running])
                raise
        done = reader.end()
        self._outcome = _outcome(reader, done.finish, reader.pieces, results)

    async def _fail(self, failed: ModelFailed) -> None:
        """The response cannot be used; raises the problem. Nothing with an effect has begun."""
        if self._running is not None:
            return
        self._left = True
        await self._calls.settle()
        over = failed.code == "over_limit"
        template = messages.STREAM_OVER_LIMIT if over else messages.STREAM_CUT_OFF
        raise template.error(reason=failed.message) from failed

    async def _give_up(self) -> None:
        """The block was left before the response ended: calls that began are finished."""
        reader = self._reader
        if reader is None:
            self._outcome = TurnOutcome(Finish.CUT, {"role": "assistant", "content": ""})
            return
        pieces = reader.complete_pieces()
        calls = [_asked(piece) for piece in pieces if isinstance(piece, CallPiece)]
        results: Sequence[ToolResult] = ()
        if calls:
            end = ResponseEnd(Finish.CUT)
            results = await self._calls.finish(calls, end, begin=False)
        self._outcome = _outcome(reader, Finish.CUT, pieces, results)


def _asked(call: CallPiece) -> dict[str, Any]:
    return {"id": call.id, "name": call.name, "arguments": call.arguments_json}


def _outcome(
    reader: StreamReader, finish: Finish, pieces: Sequence[Any], results: Sequence[ToolResult]
) -> TurnOutcome:
    raw = reader.raw_message(pieces)
    assistant = {"role": "assistant", "content": raw} if reader.wire == "anthropic" else raw
    calls = [piece for piece in pieces if isinstance(piece, CallPiece)]
    answered = [
        replace(result, call_id=call.wire_id) for call, result in zip(calls, results, strict=True)
    ]
    names = [call.wire_name for call in calls]
    answers = tool_messages(answered, _PROVIDERS[reader.wire], names)
    return TurnOutcome(finish, assistant, tuple(answers), tuple(results))


def _known_wire(provider: str) -> str:
    if provider not in _WIRES:
        raise messages.UNKNOWN_MESSAGE_FORMAT.error(
            provider=provider, formats=", ".join(_WIRES), field="provider"
        )
    return _WIRES[provider]


class StreamSource:
    """Reads events one by one; `aclose` closes the connection behind them if there is one."""

    def __init__(self, events: Any) -> None:
        self._events = events
        self._iterator = _iterator(events)

    async def read(self) -> Any:
        """The next event; raises StopAsyncIteration after the last one."""
        iterator = self._iterator
        if isinstance(iterator, AsyncIterator):
            return await anext(iterator)
        try:
            return next(iterator)
        except StopIteration:
            raise StopAsyncIteration from None

    def plain(self, event: Any) -> Mapping[str, Any] | None:
        """The event as a dict; None for one that an SDK's helper has added."""
        kind = None if isinstance(event, Mapping) else getattr(event, "type", None)
        if kind == "chunk" and hasattr(event, "chunk"):
            return self.plain(event.chunk)
        if isinstance(event, Mapping):
            return event
        if (isinstance(kind, str) and kind in _ADDED) or _is_helper(kind):
            return None
        dump = getattr(event, "model_dump", None)
        if dump is None:
            raise _unknown(event)
        dumped = dump(mode="json", by_alias=True, exclude_unset=True, warnings=False)
        if not isinstance(dumped, Mapping):
            raise _unknown(event)
        return dumped

    async def aclose(self) -> None:
        """Stop the source. An error in closing is not an error of the turn."""
        for name in ("aclose", "close"):
            close = getattr(self._events, name, None)
            if callable(close):
                closed = close()
                if inspect.isawaitable(closed):
                    await closed
                return


def recognise_wire(event: Mapping[str, Any]) -> str:
    """The format of a stream by its first event; raises `invalid_arguments`."""
    kind = event.get("type")
    if isinstance(kind, str):
        if kind.startswith("response."):
            return "openai-responses"
        if kind in _ANTHROPIC_TYPES or kind.startswith("content_block_") or kind == "error":
            return "anthropic"
    if "choices" in event or event.get("object") == "chat.completion.chunk" or "error" in event:
        return "openai-chat"
    if _GEMINI_FIELDS & set(event):
        return "gemini"
    raise _unknown(event)


def _iterator(events: Any) -> AsyncIterator[Any] | Iterator[Any]:
    if isinstance(events, AsyncIterable):
        return aiter(events)
    if isinstance(events, Iterable) and not isinstance(events, str | bytes | Mapping):
        return iter(events)
    raise _unknown(events)


def _is_helper(kind: Any) -> bool:
    """Whether a type is one of those that OpenAI's chat helper makes from chunks."""
    return isinstance(kind, str) and kind.split(".")[0] in (
        "content",
        "refusal",
        "tool_calls",
        "logprobs",
    )


def _unknown(thing: Any) -> Exception:
    return messages.UNKNOWN_STREAM_SHAPE.error(
        kind=type(thing).__name__,
        formats="openai, openai-responses, anthropic, gemini",
        field="events",
    )
