"""The stream of an SDK, or an iterable of dicts, as one kind of source."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterable, AsyncIterator, Iterable, Iterator, Mapping
from typing import Any, Final

from handrail.engine import messages

_ANTHROPIC_TYPES: Final = ("message_start", "message_delta", "message_stop", "ping")
_GEMINI_FIELDS: Final = frozenset({"candidates", "usageMetadata", "promptFeedback"})
# Events that the SDKs' helpers add to those of the provider, with the whole message in each.
_ADDED: Final = frozenset({"text", "input_json", "thinking", "signature", "citation", "compaction"})


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
