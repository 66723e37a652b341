"""The Anthropic Messages API: streams, requests, and the check of a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.core.finish_words import ANTHROPIC_FINISH, get
from handrail.core.ports.models import (
    Finish,
    Message,
    ModelEvent,
    ModelRequest,
    Picture,
    ResultBlock,
    TextBlock,
)
from handrail.models.failures import failure_from_body
from handrail.models.wires.fields import dump_json, get_list, get_text, malformed, parse_object
from handrail.models.wires.reader import CallPiece, Piece, RawPiece, StreamReader, TextPiece
from handrail.models.wires.requests import (
    IdLinks,
    RequestStep,
    WireFormat,
    WireOptions,
    base64_text,
    broken,
    object_value,
    picture_note,
    raw_value,
    require_object,
    safe_name,
    split_result,
)

_ID: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")
_MAX_CACHE_MARKS: Final = 4
_VERSION: Final = "2023-06-01"
_THINKING_TOKENS: Final[Mapping[str, int]] = {"low": 2048, "medium": 8192, "high": 24576}
# The field with the text of a block, and of a delta, by type.
_TEXT_FIELDS: Final = {"text": "text", "thinking": "thinking"}
_DELTA_FIELDS: Final = {"text_delta": "text", "thinking_delta": "thinking"}
_BLANK: Final = "(blank)"


class AnthropicReader(StreamReader):
    """Reads the events of a message. A block is complete after its stop event."""

    wire = "anthropic"

    def __init__(self) -> None:
        super().__init__()
        self._open: dict[int, Piece] = {}

    def read(self, event: Mapping[str, Any]) -> Sequence[ModelEvent]:
        """Return the model events of one event; unknown types are ignored."""
        kind = get(event, "type")
        if kind == "error":
            raise failure_from_body(event, None)
        if kind == "message_start":
            message = get(event, "message")
            self.begin_response(get(message, "id"))
            self._read_usage(get(message, "usage"))
        elif isinstance(kind, str) and kind.startswith("content_block_"):
            self._read_block(kind, event)
        elif kind == "message_delta":
            self._read_usage(get(event, "usage"))
            self._read_end(get(get(event, "delta"), "stop_reason"))
        elif kind == "message_stop":
            self.stopped = True
        return self.take_events()

    def complete_pieces(self) -> list[Piece]:
        """Return the complete blocks: those with a stop event."""
        opened = [id(piece) for piece in self._open.values()]
        return [piece for piece in super().complete_pieces() if id(piece) not in opened]

    def _read_block(self, kind: str, event: Mapping[str, Any]) -> None:
        index = get(event, "index")
        if not self.begun or self.ending is not None or not isinstance(index, int):
            raise malformed(f"{kind} is out of order")
        if kind == "content_block_start":
            if index in self._open:
                raise malformed("a block starts before the last one of its index has stopped")
            self._open[index] = self._start(get(event, "content_block"))
            return
        piece = self._open.get(index)
        if piece is None:
            raise malformed(f"{kind} for a block that is not open")
        if kind == "content_block_delta":
            self._extend(piece, get(event, "delta"))
        elif kind == "content_block_stop":
            self._stop(piece)
            del self._open[index]

    def _start(self, block: Any) -> Piece:
        kind = get(block, "type")
        if kind in _TEXT_FIELDS:
            piece = TextPiece(thinking=kind == "thinking")
            self.add_piece(piece)
            self.extend_text(piece, get_text(block, _TEXT_FIELDS[kind]))
            if get(block, "signature"):
                piece.raw["signature"] = get_text(block, "signature")
            return piece
        if kind == "tool_use":
            call = self.open_call(get(block, "id"), get_text(block, "name"))
            # Some compatible servers send the arguments here instead of in deltas.
            call.raw["input"] = get(block, "input") or {}
            return call
        if not isinstance(kind, str) or not isinstance(block, Mapping):
            raise malformed("a block has no type")
        raw = RawPiece(dict(block))
        self.count_raw(raw.raw)
        self.add_piece(raw)
        return raw

    def _extend(self, piece: Piece, delta: Any) -> None:
        kind = get(delta, "type")
        if isinstance(piece, TextPiece):
            if kind in _DELTA_FIELDS:
                self.extend_text(piece, get_text(delta, _DELTA_FIELDS[kind]))
            elif kind == "signature_delta":
                added = get_text(delta, "signature")
                self.count_raw(added)
                piece.raw["signature"] = piece.raw.get("signature", "") + added
            elif kind == "citations_delta":
                self.count_raw(get(delta, "citation"))
                piece.raw.setdefault("citations", []).append(get(delta, "citation"))
        elif isinstance(piece, CallPiece):
            if kind == "input_json_delta":
                self.extend_call(piece, get_text(delta, "partial_json"))
        else:
            self._extend_raw(piece, delta)

    def _extend_raw(self, piece: RawPiece, delta: Any) -> None:
        """Extend blocks of tools that the provider runs, and blocks of unknown types."""
        for name, value in delta.items() if isinstance(delta, Mapping) else ():
            if name == "type":
                continue
            before = piece.raw.get(name)
            self.count_raw(value)
            if isinstance(before, str) and not isinstance(value, str):
                raise malformed(f"{name} of a block changes its type")
            piece.raw[name] = before + value if isinstance(before, str) else value

    def _stop(self, piece: Piece) -> None:
        self.progress += 1
        if isinstance(piece, CallPiece):
            arguments = piece.raw.pop("input", None)
            if not piece.parts and isinstance(arguments, dict) and arguments:
                self.extend_call(piece, dump_json(arguments))
            self.close_call(piece)
        elif isinstance(piece, TextPiece):
            self.close_text(piece)
        elif isinstance(piece.raw.get("partial_json"), str):
            piece.raw["input"] = parse_object(piece.raw.pop("partial_json")) or {}

    def _read_end(self, reason: Any) -> None:
        if reason is None or self.ending is not None:
            return
        ending = self.set_ending(ANTHROPIC_FINISH, reason)
        if ending.finish is Finish.CALLS and self.open_calls:
            self.ending = None
            raise malformed("the message ends while a call is open")

    def _read_usage(self, usage: Any) -> None:
        if not isinstance(usage, Mapping):
            return
        read, written = (
            usage.get("cache_read_input_tokens"),
            usage.get("cache_creation_input_tokens"),
        )
        total = usage.get("input_tokens")
        if isinstance(total, int):
            total += sum(count for count in (read, written) if isinstance(count, int) and count > 0)
        self.report_usage(
            input=total, output=usage.get("output_tokens"), cache_read=read, cache_write=written
        )

    def raw_message(self, pieces: Sequence[Piece]) -> list[dict[str, Any]]:
        """Return the content of the message without empty texts, which the service refuses."""
        return [block for piece in pieces if (block := _raw_block(piece)) is not None]


def _raw_block(piece: Piece) -> dict[str, Any] | None:
    if isinstance(piece, RawPiece):
        return dict(piece.raw)
    if isinstance(piece, CallPiece):
        return {
            "type": "tool_use",
            "id": piece.wire_id,
            "name": piece.wire_name,
            "input": piece.safe_arguments,
        }
    if piece.thinking:
        return {"type": "thinking", "thinking": piece.text, **piece.raw}
    return {"type": "text", "text": piece.text, **piece.raw} if piece.text.strip() else None


# --- requests ---------------------------------------------------------------------------


class AnthropicWire(WireFormat):
    """Requests to the Messages API."""

    name = "anthropic"
    reader = AnthropicReader

    def target(self, options: WireOptions) -> str:
        return "/v1/messages"

    def auth_headers(self, key: str) -> dict[str, str]:
        return {"x-api-key": key}

    def fixed_headers(self) -> dict[str, str]:
        return {"anthropic-version": _VERSION}

    def render(self, request: ModelRequest, options: WireOptions) -> dict[str, Any]:
        most = request.max_output_tokens or 8192
        body: dict[str, Any] = {
            "model": options.model,
            "max_tokens": most,
            "messages": self._messages(request, options),
            "stream": True,
        }
        if request.system:
            body["system"] = [_system_block(part.text, cache=part.cache) for part in request.system]
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                body["tool_choice"] = {"type": request.tool_choice}
        if options.reasoning is not None:
            body["thinking"] = _thinking(options.reasoning, most)
        return body

    def _messages(self, request: ModelRequest, options: WireOptions) -> list[dict[str, Any]]:
        rendered: list[dict[str, Any]] = []
        links = IdLinks(_ID)
        marks = sum(part.cache for part in request.system)
        marked = set(request.cache_marks[-(_MAX_CACHE_MARKS - marks) :] if marks < 4 else ())
        for number, message in enumerate(request.messages):
            if message.role == "assistant":
                role, blocks = "assistant", _assistant(message, links)
            else:
                role, blocks = "user", _user(message, links, options)
            if not blocks:
                continue
            if number in marked:
                blocks[-1] = {**blocks[-1], "cache_control": {"type": "ephemeral"}}
            if rendered and rendered[-1]["role"] == role:
                rendered[-1]["content"] += blocks
            else:
                rendered.append({"role": role, "content": blocks})
        return rendered

    def outline(self, body: Mapping[str, Any]) -> Iterator[RequestStep]:
        for message in get_list(body, "messages"):
            content = get(message, "content")
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if not isinstance(blocks, list) or not blocks:
                raise broken("a message has no content")
            if get(message, "role") == "assistant":
                yield _assistant_step(blocks)
            else:
                yield from _user_steps(blocks)


def _assistant_step(blocks: Sequence[Any]) -> RequestStep:
    calls = [block for block in blocks if get(block, "type") == "tool_use"]
    for call in calls:
        require_object(get(call, "input"))
    first_call = next(
        (n for n, block in enumerate(blocks) if get(block, "type") == "tool_use"), None
    )
    if first_call is not None and any(
        get(block, "type") == "text" for block in blocks[first_call:]
    ):
        raise broken("text follows a tool call in one message")
    _check_text(blocks)
    return RequestStep("assistant", tuple(get(call, "id") for call in calls))


def _user_steps(blocks: Sequence[Any]) -> Iterator[RequestStep]:
    results = [get(block, "tool_use_id") for block in blocks if get(block, "type") == "tool_result"]
    if any(get(block, "type") != "tool_result" for block in blocks[: len(results)]):
        raise broken("a result does not stand at the start of its message")
    _check_text(blocks)
    if results:
        yield RequestStep("results", tuple(results))
    if len(blocks) > len(results):
        yield RequestStep("user")


def _check_text(blocks: Sequence[Any]) -> None:
    for block in blocks:
        if get(block, "type") == "text" and not str(get(block, "text") or "").strip():
            raise broken("a text block is empty")


def _assistant(message: Message, links: IdLinks) -> list[dict[str, Any]]:
    raw = raw_value(message, AnthropicReader.wire, list)
    if raw is not None:
        links.open(message, [str(block["id"]) for block in raw if block.get("type") == "tool_use"])
        return _calls_last([dict(block) for block in raw])
    ids = links.open(message)
    blocks: list[dict[str, Any]] = []
    if message.text.strip():
        blocks.append({"type": "text", "text": message.text})
    for call_id, call in zip(ids, message.calls, strict=True):
        arguments = object_value(call.arguments_json)
        blocks.append(
            {"type": "tool_use", "id": call_id, "name": safe_name(call.name), "input": arguments}
        )
    return blocks


def _calls_last(blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the blocks with text before the first call: the service refuses text after a call."""
    kinds = [block.get("type") for block in blocks]
    if "tool_use" not in kinds or "text" not in kinds[kinds.index("tool_use") :]:
        return blocks
    first = kinds.index("tool_use")
    later = [block for block in blocks[first:] if block.get("type") == "text"]
    rest = [block for block in blocks[first:] if block.get("type") != "text"]
    return [*blocks[:first], *later, *rest]


def _user(message: Message, links: IdLinks, options: WireOptions) -> list[dict[str, Any]]:
    blocks: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, ResultBlock):
            blocks.append(_result(block, links, options))
        elif isinstance(block, TextBlock) and block.text.strip():
            blocks.append({"type": "text", "text": block.text})
        elif isinstance(block, Picture):
            shown = _image(block) if options.sees_images else _text(picture_note(block))
            blocks.append(shown)
    # The service refuses blank text, and the first message must not be dropped.
    return blocks or [_text(_BLANK) for _ in message.blocks[:1]]


def _result(block: ResultBlock, links: IdLinks, options: WireOptions) -> dict[str, Any]:
    pictures, text = split_result(block, sees_images=options.sees_images)
    content: list[dict[str, Any]] = [_text(text)] if text.strip() else []
    rendered: dict[str, Any] = {
        "type": "tool_result",
        "tool_use_id": links.wire_id(block.call_id),
        "content": [*content, *map(_image, pictures)],
    }
    if block.is_error:
        rendered["is_error"] = True
    return rendered


def _text(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def _image(picture: Picture) -> dict[str, Any]:
    source = {"type": "base64", "media_type": picture.media_type, "data": base64_text(picture)}
    return {"type": "image", "source": source}


def _system_block(text: str, *, cache: bool) -> dict[str, Any]:
    return {**_text(text), "cache_control": {"type": "ephemeral"}} if cache else _text(text)


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {name: tool[name] for name in ("name", "description", "input_schema") if name in tool}


def _thinking(reasoning: str | int, most: int) -> dict[str, Any]:
    wanted = reasoning if isinstance(reasoning, int) else _THINKING_TOKENS.get(reasoning, 8192)
    # The service requires at least 1,024, and fewer than the limit of the message.
    return {"type": "enabled", "budget_tokens": max(1024, min(wanted, most - 1))}
