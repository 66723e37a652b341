"""Renders a scripted message as the event stream of a provider: the counterpart of `wires/`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.ports.models import Finish

_CHAT_WORDS: Final = {
    "end": "stop",
    "calls": "tool_calls",
    "length": "length",
    "refused": "content_filter",
}
_ANTHROPIC_WORDS: Final = {
    "end": "end_turn",
    "calls": "tool_use",
    "length": "max_tokens",
    "refused": "refusal",
    "paused": "pause_turn",
}
_GEMINI_WORDS: Final = {
    "end": "STOP",
    "calls": "STOP",
    "length": "MAX_TOKENS",
    "refused": "SAFETY",
}
_INCOMPLETE_WORDS: Final = {"length": "max_output_tokens", "refused": "content_filter"}
_MODEL: Final = "scripted"


@dataclass(frozen=True, slots=True)
class ScriptedCall:
    """A call of a scripted message; `arguments` may be text that is not JSON. Without an id the
    service makes one.
    """

    name: str
    arguments: Mapping[str, Any] | str
    id: str | None = None

    @property
    def arguments_json(self) -> str:
        """The argument text as it is streamed."""
        arguments = self.arguments
        return (
            arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
        )


@dataclass(frozen=True, slots=True)
class ScriptedMessage:
    """One message of a scripted model. `finish` is derived from the calls if it is not given; a
    word that is not a `Finish` is sent as it is. `usage` has the fields of `UsageReported`. The
    stream begins after `delay_s` and takes `stream_s`.
    """

    text: str = ""
    calls: tuple[ScriptedCall, ...] = ()
    thinking: str = ""
    usage: Mapping[str, Any] | None = None
    delay_s: float = 0.0
    stream_s: float = 0.0
    finish: str | None = None

    @property
    def ending(self) -> str:
        """How the message ends."""
        return self.finish or (Finish.CALLS if self.calls else Finish.END)

    def call_ids(self, response_id: str) -> list[str]:
        """Return the ids of the calls."""
        return [call.id or f"call_{response_id}_{n}" for n, call in enumerate(self.calls)]


@dataclass(frozen=True, slots=True)
class StreamShape:
    """How a message is streamed: the id of its response, its token counts, the characters per
    delta.
    """

    response_id: str
    usage: Mapping[str, Any]
    chunk: int = 20


def render_stream(message: ScriptedMessage, wire: str, shape: StreamShape) -> list[bytes]:
    """Return the events of a message, each with its blank line."""
    return [
        _encode(event, with_type=wire != "openai-chat") for event in _STREAMS[wire](message, shape)
    ]


def _encode(event: Any, *, with_type: bool) -> bytes:
    if isinstance(event, str):
        return f"data: {event}\n\n".encode()
    kind = f"event: {event['type']}\n" if with_type and "type" in event else ""
    return f"{kind}data: {json.dumps(event, ensure_ascii=False)}\n\n".encode("utf-8", "replace")


def _pieces(text: str, size: int) -> Iterator[str]:
    for start in range(0, len(text), max(size, 1)):
        yield text[start : start + max(size, 1)]


def _finish_word(words: Mapping[str, str], ending: str) -> str:
    return words.get(ending, ending)


# --- chat completions -------------------------------------------------------------------


def _chat(message: ScriptedMessage, shape: StreamShape) -> Iterator[Any]:
    head = {"id": shape.response_id, "object": "chat.completion.chunk", "created": 0}
    head["model"] = _MODEL

    def chunk(delta: Mapping[str, Any], finish: str | None = None) -> dict[str, Any]:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return {**head, "choices": [choice], "usage": None}

    yield chunk({"role": "assistant", "content": ""})
    for piece in _pieces(message.thinking, shape.chunk):
        yield chunk({"reasoning_content": piece})
    for piece in _pieces(message.text, shape.chunk):
        yield chunk({"content": piece})
    ids = message.call_ids(shape.response_id)
    for index, (call, call_id) in enumerate(zip(message.calls, ids, strict=True)):
        function = {"name": call.name, "arguments": ""}
        opened = {"index": index, "id": call_id, "type": "function", "function": function}
        yield chunk({"tool_calls": [opened]})
        for piece in _pieces(call.arguments_json, shape.chunk):
            yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
    yield chunk({}, _finish_word(_CHAT_WORDS, message.ending))
    usage = shape.usage
    counted: dict[str, Any] = {
        "prompt_tokens": usage.get("input"),
        "completion_tokens": usage.get("output"),
        "total_tokens": _sum(usage.get("input"), usage.get("output")),
        "prompt_tokens_details": {"cached_tokens": usage.get("cache_read", 0)},
    }
    yield {**head, "choices": [], "usage": counted}
    yield "[DONE]"


def _sum(*counts: Any) -> Any:
    return sum(count for count in counts if isinstance(count, int | float))


# --- Anthropic --------------------------------------------------------------------------


def _anthropic(message: ScriptedMessage, shape: StreamShape) -> Iterator[Any]:
    usage = shape.usage
    cached = _sum(usage.get("cache_read"), usage.get("cache_write"))
    input_tokens = usage.get("input")
    start: dict[str, Any] = {
        "id": shape.response_id,
        "type": "message",
        "role": "assistant",
        "model": _MODEL,
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": {
            "input_tokens": input_tokens - cached
            if isinstance(input_tokens, int) and input_tokens >= cached
            else input_tokens,
            "cache_read_input_tokens": usage.get("cache_read", 0),
            "cache_creation_input_tokens": usage.get("cache_write", 0),
            "output_tokens": 1,
        },
    }
    yield {"type": "message_start", "message": start}
    yield {"type": "ping"}
    for index, (block, deltas) in enumerate(_anthropic_blocks(message, shape)):
        yield {"type": "content_block_start", "index": index, "content_block": block}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": _finish_word(_ANTHROPIC_WORDS, message.ending), "stop_sequence": None}
    counted = {"output_tokens": usage.get("output")}
    yield {"type": "message_delta", "delta": ending, "usage": counted}
    yield {"type": "message_stop"}


def _anthropic_blocks(
    message: ScriptedMessage, shape: StreamShape
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]]]]:
    if message.thinking:
        deltas = [
            {"type": "thinking_delta", "thinking": piece}
            for piece in _pieces(message.thinking, shape.chunk)
        ]
        signature = {"type": "signature_delta", "signature": f"signature-{shape.response_id}"}
        yield {"type": "thinking", "thinking": "", "signature": ""}, [*deltas, signature]
    if message.text:
        yield (
            {"type": "text", "text": ""},
            [{"type": "text_delta", "text": piece} for piece in _pieces(message.text, shape.chunk)],
        )
    for call, call_id in zip(message.calls, message.call_ids(shape.response_id), strict=True):
        yield (
            {"type": "tool_use", "id": call_id, "name": call.name, "input": {}},
            [
                {"type": "input_json_delta", "partial_json": piece}
                for piece in ("", *_pieces(call.arguments_json, shape.chunk))
            ],
        )


# --- Responses --------------------------------------------------------------------------


def _responses(message: ScriptedMessage, shape: StreamShape) -> Iterator[Any]:
    for number, event in enumerate(_responses_events(message, shape)):
        yield {"type": event["type"], "sequence_number": number, **event}


def _responses_events(message: ScriptedMessage, shape: StreamShape) -> Iterator[dict[str, Any]]:
    head = {"id": shape.response_id, "object": "response", "model": _MODEL, "created_at": 0}
    yield {
        "type": "response.created",
        "response": {**head, "status": "in_progress", "output": [], "usage": None},
    }
    output: list[dict[str, Any]] = []
    for index, (begun, deltas, done) in enumerate(_responses_items(message, shape)):
        yield {"type": "response.output_item.added", "output_index": index, "item": begun}
        for delta in deltas:
            yield {"output_index": index, "item_id": done["id"], **delta}
        yield {"type": "response.output_item.done", "output_index": index, "item": done}
        output.append(done)
    usage = shape.usage
    response: dict[str, Any] = {
        **head,
        "status": "completed",
        "output": output,
        "usage": {
            "input_tokens": usage.get("input"),
            "output_tokens": usage.get("output"),
            "total_tokens": _sum(usage.get("input"), usage.get("output")),
            "input_tokens_details": {"cached_tokens": usage.get("cache_read", 0)},
            "output_tokens_details": {"reasoning_tokens": 0},
        },
    }
    if message.ending not in (Finish.END, Finish.CALLS):
        reason = _finish_word(_INCOMPLETE_WORDS, message.ending)
        response |= {"status": "incomplete", "incomplete_details": {"reason": reason}}
        yield {"type": "response.incomplete", "response": response}
        return
    yield {"type": "response.completed", "response": response}


def _responses_items(
    message: ScriptedMessage, shape: StreamShape
) -> Iterator[tuple[dict[str, Any], list[dict[str, Any]], dict[str, Any]]]:
    rid = shape.response_id
    if message.thinking:
        summary = [{"type": "summary_text", "text": message.thinking}]
        item = {"type": "reasoning", "id": f"rs_{rid}", "encrypted_content": f"sealed-{rid}"}
        kind = "response.reasoning_summary_text.delta"
        deltas = [
            {"type": kind, "summary_index": 0, "delta": piece}
            for piece in _pieces(message.thinking, shape.chunk)
        ]
        yield {**item, "summary": []}, deltas, {**item, "summary": summary}
    if message.text:
        part = {"type": "output_text", "text": message.text, "annotations": []}
        item = {"type": "message", "id": f"msg_{rid}", "role": "assistant"}
        kind, at = "response.output_text", {"content_index": 0}
        deltas = [
            {"type": "response.content_part.added", **at, "part": {**part, "text": ""}},
            *(
                {"type": f"{kind}.delta", **at, "delta": piece, "logprobs": []}
                for piece in _pieces(message.text, shape.chunk)
            ),
            {"type": f"{kind}.done", **at, "text": message.text, "logprobs": []},
            {"type": "response.content_part.done", **at, "part": part},
        ]
        begun = {**item, "status": "in_progress", "content": []}
        yield begun, deltas, {**item, "status": "completed", "content": [part]}
    for number, (call, call_id) in enumerate(
        zip(message.calls, message.call_ids(rid), strict=True)
    ):
        item = {"type": "function_call", "id": f"fc_{rid}_{number}", "call_id": call_id}
        item["name"] = call.name
        kind = "response.function_call_arguments.delta"
        deltas = [
            {"type": kind, "delta": piece} for piece in _pieces(call.arguments_json, shape.chunk)
        ]
        end = {"type": "response.function_call_arguments.done", "arguments": call.arguments_json}
        begun = {**item, "status": "in_progress", "arguments": ""}
        done = {**item, "status": "completed", "arguments": call.arguments_json}
        yield begun, [*deltas, {**end, "name": call.name}], done


# --- Gemini -----------------------------------------------------------------------------


def _gemini(message: ScriptedMessage, shape: StreamShape) -> Iterator[Any]:
    head = {"modelVersion": _MODEL, "responseId": shape.response_id}

    def chunk(parts: Sequence[Any], **more: Any) -> dict[str, Any]:
        candidate = {"content": {"role": "model", "parts": list(parts)}, "index": 0, **more}
        return {"candidates": [candidate], **head}

    for piece in _pieces(message.thinking, shape.chunk):
        yield chunk([{"text": piece, "thought": True}])
    for piece in _pieces(message.text, shape.chunk):
        yield chunk([{"text": piece}])
    for number, call in enumerate(message.calls):
        arguments = call.arguments
        args = json.loads(arguments) if isinstance(arguments, str) else dict(arguments)
        part: dict[str, Any] = {"functionCall": {"name": call.name, "args": args}}
        if call.id is not None:
            part["functionCall"]["id"] = call.id
        if number == 0:
            part["thoughtSignature"] = f"signature-{shape.response_id}"
        yield chunk([part])
    usage = shape.usage
    counted = {
        "promptTokenCount": usage.get("input"),
        "candidatesTokenCount": usage.get("output"),
        "totalTokenCount": _sum(usage.get("input"), usage.get("output")),
        "cachedContentTokenCount": usage.get("cache_read", 0),
    }
    last = chunk([{"text": ""}], finishReason=_finish_word(_GEMINI_WORDS, message.ending))
    yield {**last, "usageMetadata": counted}


_STREAMS: Final[Mapping[str, Callable[[ScriptedMessage, StreamShape], Iterator[Any]]]] = {
    "openai-chat": _chat,
    "openai-responses": _responses,
    "anthropic": _anthropic,
    "gemini": _gemini,
}
