"""The OpenAI Responses API: streams, requests, and the check of a conversation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.core.finish_words import RESPONSES_FINISH, RESPONSES_INCOMPLETE, get
from handrail.core.ports.models import (
    Block,
    Finish,
    Message,
    ModelEvent,
    ModelRequest,
    Picture,
    ResultBlock,
    TextBlock,
)
from handrail.models.failures import failure_from_body
from handrail.models.wires.fields import get_arguments, get_list, get_text, malformed, parse_object
from handrail.models.wires.reader import (
    CallPiece,
    Piece,
    RawPiece,
    StreamEnding,
    StreamReader,
    TextPiece,
)
from handrail.models.wires.requests import (
    IdLinks,
    RequestStep,
    WireFormat,
    WireOptions,
    broken,
    data_url,
    object_text,
    picture_note,
    raw_value,
    require_object,
    safe_name,
    split_result,
)

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_TEXT: Final = frozenset({"response.output_text.delta", "response.refusal.delta"})
_THINKING: Final = frozenset(
    {"response.reasoning_summary_text.delta", "response.reasoning_text.delta"}
)
_ENDS: Final = frozenset({"response.completed", "response.incomplete", "response.failed"})


class ResponsesReader(StreamReader):
    """Reads the events of a response. An output item is complete after its done event."""

    wire = "openai-responses"

    def __init__(self) -> None:
        super().__init__()
        self._items: dict[int | str, Piece] = {}
        self._refused = False

    def read(self, event: Mapping[str, Any]) -> Sequence[ModelEvent]:
        """Return the model events of one event; unknown types are ignored."""
        kind = get(event, "type")
        if kind == "error":
            raise failure_from_body(get(event, "error") or event, None)
        if kind == "response.created":
            self.begin_response(get(get(event, "response"), "id"))
        elif kind in _TEXT or kind in _THINKING:
            self._refused = self._refused or kind == "response.refusal.delta"
            self._add_delta(event, thinking=kind in _THINKING)
        elif kind == "response.output_item.added":
            self._add_item(event)
        elif kind == "response.function_call_arguments.delta":
            self.extend_call(self._call(event), get_text(event, "delta"))
        elif kind == "response.output_item.done":
            self._finish_item(get(event, "item"), self._index(event))
        elif kind in _ENDS:
            self._read_end(kind, get(event, "response"))
        return self.take_events()

    def _index(self, event: Mapping[str, Any]) -> int | str:
        """Return the key of an output item: its index, or its id if the server sends none."""
        index = get(event, "output_index")
        if index is None:
            index = get(event, "item_id") or get(get(event, "item"), "id")
        if isinstance(index, bool) or not isinstance(index, int | str):
            raise malformed("an output item has no index")
        return index

    def _add_delta(self, event: Mapping[str, Any], *, thinking: bool) -> None:
        index = self._index(event)
        piece = self._items.get(index)
        if not isinstance(piece, TextPiece):
            piece = TextPiece(thinking=thinking)
            self.add_piece(piece)
            self._items[index] = piece
        self.extend_text(piece, get_text(event, "delta"))

    def _add_item(self, event: Mapping[str, Any]) -> None:
        item, index = get(event, "item"), self._index(event)
        if index in self._items:
            raise malformed("two output items have one index")
        if get(item, "type") == "function_call":
            call = self.open_call(get(item, "call_id"), get_text(item, "name"))
            call.raw = dict(item)
            self._items[index] = call
            self.extend_call(call, get_arguments(item))

    def _call(self, event: Mapping[str, Any]) -> CallPiece:
        call = self._items.get(self._index(event))
        if not isinstance(call, CallPiece):
            raise malformed("arguments for an item that is no open call")
        return call

    def _finish_item(self, item: Any, index: int | str) -> None:
        if not isinstance(item, Mapping):
            raise malformed("an output item is no object")
        piece = self._items.get(index)
        if get(item, "type") == "function_call":
            self._finish_call(item, index)
        elif isinstance(piece, TextPiece):
            self.close_text(piece)
            piece.raw = dict(item)
        elif get(item, "type") == "message":
            # Some servers send the text only with the whole item.
            self._read_message(item, index)
        else:
            raw = RawPiece(dict(item))
            self.count_raw(raw.raw)
            self.add_piece(raw)
            self._items[index] = raw

    def _read_message(self, item: Mapping[str, Any], index: int | str) -> None:
        piece = self._items[index] = TextPiece(raw=dict(item))
        self.add_piece(piece)
        for part in get_list(item, "content"):
            refusal = get_text(part, "refusal")
            self._refused = self._refused or bool(refusal)
            self.extend_text(piece, get_text(part, "text") + refusal)
        self.close_text(piece)

    def _finish_call(self, item: Mapping[str, Any], index: int | str) -> None:
        call = self._items.get(index)
        if call is None:
            # Some servers send short items only when they are done.
            call = self._items[index] = self.open_call(get(item, "call_id"), get_text(item, "name"))
        if not isinstance(call, CallPiece):
            raise malformed("an output item changes its type")
        given = get_arguments(item)
        if given.startswith(call.arguments_json) and given != call.arguments_json:
            # Some servers send no parts, or not all.
            call.half = ""
            self.extend_call(call, given[len(call.arguments_json) :])
        elif given and given != call.arguments_json:
            raise malformed("the arguments of a call differ from their parts")
        call.raw = dict(item)
        if get(item, "status") in (None, "completed"):
            self.close_call(call)

    def _read_end(self, kind: str, response: Any) -> None:
        self.note_response(get(response, "id"))
        self._read_usage(get(response, "usage"))
        status = get(response, "status")
        if "failed" in (status, kind.removeprefix("response.")):
            raise failure_from_body(get(response, "error") or {}, None)
        self._complete_output(get_list(response, "output"))
        self.stopped = True
        if "incomplete" in (status, kind.removeprefix("response.")):
            reason = get(get(response, "incomplete_details"), "reason")
            ending = self.set_ending(RESPONSES_INCOMPLETE, reason)
            if ending.finish is Finish.UNKNOWN:
                self.ending = StreamEnding(Finish.CUT, ending.reason or "incomplete")
            return
        ending = self.set_ending(RESPONSES_FINISH, status)
        if self._refused:
            self.ending = StreamEnding(Finish.REFUSED, "refusal")
        elif ending.finish is Finish.CALLS and self.open_calls:
            self.ending = None
            raise malformed("the response ends while a call is open")

    def _complete_output(self, output: Sequence[Any]) -> None:
        """Read what only the output of the finished response has: calls that were not streamed,
        other items of a kind of which none was streamed, and the end of open calls.
        """
        nothing = not self.pieces
        has_text = any(isinstance(piece, TextPiece) and not piece.thinking for piece in self.pieces)
        streamed = self._match_calls(output)
        for number, item in enumerate(output):
            kind = get(item, "type")
            key = streamed.get(number, f"output {number}")
            if kind == "function_call":
                streamed_item = self._items.get(key)
                if not (isinstance(streamed_item, CallPiece) and streamed_item.closed):
                    self._finish_item(item, key)
            elif nothing or (kind == "message" and not has_text):
                self._finish_item(item, key)

    def _match_calls(self, output: Sequence[Any]) -> dict[int, int | str]:
        """Return the streamed call of each call in the output, by number: the one with its id, else
        an unmatched one with the same content, since some servers change the ids here.
        """
        unmatched = {
            key: piece for key, piece in self._items.items() if isinstance(piece, CallPiece)
        }
        matches: dict[int, int | str] = {}
        for same in (_same_id("call_id"), _same_id("id"), _same_content):
            for number, item in enumerate(output):
                if get(item, "type") != "function_call" or number in matches:
                    continue
                key = next((key for key, call in unmatched.items() if same(call, item)), None)
                if key is not None:
                    matches[number] = key
                    del unmatched[key]
        return matches

    def _read_usage(self, usage: Any) -> None:
        if isinstance(usage, Mapping):
            self.report_usage(
                input=usage.get("input_tokens"),
                output=usage.get("output_tokens"),
                cache_read=get(usage.get("input_tokens_details"), "cached_tokens"),
            )

    def raw_message(self, pieces: Sequence[Piece]) -> list[dict[str, Any]]:
        """Return the output items unchanged, with ids and arguments that can be sent back."""
        return [item for piece in pieces if (item := _raw_item(piece)) is not None]


def _same_id(name: str) -> Callable[[CallPiece, Any], bool]:
    def same(call: CallPiece, item: Any) -> bool:
        value = get(item, name)
        return bool(value) and value == call.raw.get(name)

    return same


def _same_content(call: CallPiece, item: Any) -> bool:
    if call.name != get_text(item, "name"):
        return False
    return not call.closed or call.safe_arguments == (parse_object(get_arguments(item)) or {})


def _raw_item(piece: Piece) -> dict[str, Any] | None:
    if isinstance(piece, CallPiece):
        text = piece.arguments_json
        arguments = text if text.strip() and parse_object(text) is not None else "{}"
        call = _call_item(piece.wire_id, piece.wire_name, arguments)
        return {**piece.raw, **call} if piece.closed else call
    if isinstance(piece, RawPiece) or piece.raw:
        return dict(piece.raw)
    return None if piece.thinking or not piece.text else _text_item(piece.text)


# --- requests ---------------------------------------------------------------------------


class ResponsesWire(WireFormat):
    """Requests of responses. The service stores nothing: reasoning comes back encrypted."""

    name = "openai-responses"
    reader = ResponsesReader

    def target(self, options: WireOptions) -> str:
        return "/responses"

    def render(self, request: ModelRequest, options: WireOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": options.model,
            "input": self._input(request, options),
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
        }
        if request.system:
            body["instructions"] = "\n\n".join(part.text for part in request.system)
        if request.max_output_tokens is not None:
            body["max_output_tokens"] = request.max_output_tokens
        if isinstance(options.reasoning, str):
            body["reasoning"] = {"effort": options.reasoning, "summary": "auto"}
        if request.tools:
            body["tools"] = [_tool(tool) for tool in request.tools]
            if request.tool_choice != "auto":
                body["tool_choice"] = "required" if request.tool_choice == "any" else "none"
        return body

    def _input(self, request: ModelRequest, options: WireOptions) -> list[dict[str, Any]]:
        items: list[dict[str, Any]] = []
        links = IdLinks(_ID)
        for message in request.messages:
            if message.role == "assistant":
                items += _assistant(message, links)
            elif message.role == "tool":
                items += _results(message, links, options)
            else:
                items.append({"role": "user", "content": _content(message.blocks, options)})
        return items

    def outline(self, body: Mapping[str, Any]) -> Iterator[RequestStep]:
        calls: list[Any] = []
        said = False
        for item in get_list(body, "input"):
            if get(item, "type") == "function_call":
                require_object(get(item, "arguments"))
                calls.append(get(item, "call_id"))
                said = True
                continue
            if get(item, "role") == "assistant" or get(item, "type") in ("message", "reasoning"):
                if get(item, "role") == "user":
                    raise broken("a message of the user has the type of an output item")
                said = True
                continue
            if said:
                yield RequestStep("assistant", tuple(calls))
                calls, said = [], False
            if get(item, "type") == "function_call_output":
                yield RequestStep("results", (get(item, "call_id"),))
            elif get(item, "role") == "user":
                yield RequestStep("user")
        if said:
            yield RequestStep("assistant", tuple(calls))


def _call_item(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    return {"type": "function_call", "call_id": call_id, "name": name, "arguments": arguments}


def _text_item(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    return {"type": "message", "role": "assistant", "content": content}


def _assistant(message: Message, links: IdLinks) -> list[dict[str, Any]]:
    raw = raw_value(message, ResponsesReader.wire, list)
    if raw is not None:
        calls = [item for item in raw if item.get("type") == "function_call"]
        links.open(message, [str(call.get("call_id")) for call in calls])
        return [dict(item) for item in raw if _is_returnable(item)]
    ids = links.open(message)
    items = [_text_item(message.text)] if message.text else []
    for call_id, call in zip(ids, message.calls, strict=True):
        items.append(_call_item(call_id, safe_name(call.name), object_text(call.arguments_json)))
    return items


def _is_returnable(item: Mapping[str, Any]) -> bool:
    """Return whether an item can be sent back. Reasoning that is not encrypted is only an id, which
    the service has forgotten.
    """
    return item.get("type") != "reasoning" or bool(item.get("encrypted_content"))


def _results(message: Message, links: IdLinks, options: WireOptions) -> list[dict[str, Any]]:
    items = []
    for block in message.blocks:
        if isinstance(block, ResultBlock):
            pictures, text = split_result(block, sees_images=options.sees_images)
            output: str | list[dict[str, Any]] = text
            if pictures:
                output = _content((*([TextBlock(text)] if text else []), *pictures), options)
            call_id = links.wire_id(block.call_id)
            items.append({"type": "function_call_output", "call_id": call_id, "output": output})
    return items


def _content(blocks: Sequence[Block], options: WireOptions) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "input_text", "text": block.text})
        elif isinstance(block, Picture):
            if options.sees_images:
                parts.append({"type": "input_image", "image_url": data_url(block)})
            else:
                parts.append({"type": "input_text", "text": picture_note(block)})
    return parts


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "function",
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
        "strict": False,
    }
