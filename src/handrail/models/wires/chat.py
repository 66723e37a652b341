"""OpenAI's chat completions: streams of OpenAI and of compatible servers, requests, and the check
of a conversation.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from handrail.core.finish_words import CHAT_FINISH, get
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
from handrail.models.wires.object_end import ObjectEnd
from handrail.models.wires.reader import CallPiece, Piece, StreamReader, TextPiece
from handrail.models.wires.requests import (
    IdLinks,
    RequestStep,
    WireFormat,
    WireOptions,
    data_url,
    object_text,
    picture_note,
    raw_value,
    require_object,
    safe_name,
    split_result,
)

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,40}")
_LEGACY: Final = "function_call"


class ChatReader(StreamReader):
    """Reads chat completion chunks. Only the first choice is read."""

    wire = "openai-chat"

    def __init__(self) -> None:
        super().__init__()
        self._by_index: dict[int | str, CallPiece] = {}
        self._given_ids: dict[int | str, str] = {}
        # Finds the end of each call's arguments, by its position in the message.
        self._ends: dict[int, ObjectEnd] = {}
        self._refused = False
        self._reasoning_field = "reasoning_content"
        # Opaque reasoning of some servers that is sent back in the conversation.
        self._details: list[Any] = []
        self._response = _ResponseIds()

    def read(self, event: Mapping[str, Any]) -> Sequence[ModelEvent]:
        """Return the model events of one chunk."""
        if get(event, "error"):
            raise failure_from_body(event, None)
        self.note_response(get(event, "id"))
        choices = get_list(event, "choices")
        if choices:
            self._response.check(get(event, "id"))
        blocks, size = len(self.pieces), self.size
        for choice in choices:
            if get(choice, "index") in (0, None):
                self._read_choice(choice)
        added = (len(self.pieces), self.size) != (blocks, size)
        if self._response.undecided and self.ending is not None and blocks and added:
            raise malformed("its two chunks have different ids")
        usage = get(event, "usage")
        if usage is not None:
            self._read_usage(usage)
        return self.take_events()

    def _read_choice(self, choice: Any) -> None:
        delta = get(choice, "delta")
        if delta is None and not self.pieces:
            # A server that cannot stream sends the whole message in one chunk.
            delta = get(choice, "message")
        if delta is not None:
            self._read_delta(delta)
        reason = get(choice, "finish_reason")
        # Some servers send an empty reason with every chunk.
        if reason not in (None, "") and self.ending is None:
            ending = self.set_ending(CHAT_FINISH, reason)
            if self._refused and ending.finish is Finish.CALLS:
                self.ending = ending._replace(finish=Finish.REFUSED)
            elif ending.finish is Finish.CALLS:
                self.close_open_calls()

    def _read_delta(self, delta: Any) -> None:
        for name in ("reasoning_content", "reasoning"):
            if get_text(delta, name):
                self._reasoning_field = name
                self.add_text(get_text(delta, name), thinking=True)
                break
        details = get_list(delta, "reasoning_details")
        if details:
            self.count_raw(details)
            self._details += details
        refusal = get_text(delta, "refusal")
        self._refused = self._refused or bool(refusal)
        self._read_content(get(delta, "content"))
        self.add_text(refusal)
        for call in get_list(delta, "tool_calls"):
            index = get(call, "index")
            if index is None:
                index = self._guess_index(get(call, "id"))
            elif isinstance(index, str) and index.isdecimal() and len(index) < 4:
                index = int(index)
            if isinstance(index, bool) or not isinstance(index, int):
                raise malformed("the index of a tool call is not a number")
            if _LEGACY in self._by_index:
                raise malformed("tool calls after a function call")
            self._read_call(index, get(call, "id"), get(call, "function"))
        legacy = get(delta, "function_call")
        if legacy is not None and self._by_index.keys() <= {_LEGACY}:
            # The single call of a server that uses functions instead of tools. Next to tool calls
            # it repeats the first of them.
            self._read_call(_LEGACY, None, legacy)

    def _read_content(self, content: Any) -> None:
        """Read the text of a delta. Some servers stream reasoning as parts of the content."""
        if not isinstance(content, list | tuple):
            self.add_text(get_text({"content": content}, "content"))
            return
        for part in content:
            if get(part, "type") == "thinking":
                self.add_text(_thought(part), thinking=True)
            else:
                self.add_text(get_text(part, "text"))

    def _read_call(self, index: int | str, given_id: Any, function: Any) -> None:
        if self.ending is not None:
            raise malformed("a tool call after the finish")
        name, arguments = get_text(function, "name"), get_arguments(function)
        call = self._by_index.get(index)
        if call is None and not (given_id or name or arguments):
            # Some servers send empty fields of a call where there is none.
            return
        if call is None or self._begins_call(call, index, given_id, name, arguments):
            self._close_last_call()
            call = self._by_index[index] = self.open_call(given_id, name)
            self._given_ids[index] = given_id if isinstance(given_id, str) else ""
        elif not call.parts:
            # The next part of the name, or the whole name so far again.
            self.extend_name(call, name.removeprefix(call.name))
        opened = arguments.lstrip().startswith("{") and len(call.parts) <= 2
        if opened and call.arguments_json.strip() == "{}":
            # Some servers send an empty object before the arguments.
            call.parts.clear()
            self._ends.pop(call.index, None)
        self.extend_call(call, arguments)

    def _begins_call(
        self, call: CallPiece, index: int | str, given_id: Any, name: str, arguments: str
    ) -> bool:
        """Return whether a piece with the index of a call begins another call. Some servers number
        every call 0 and distinguish them by id; others send no ids, and a name after complete
        arguments begins the next call. Servers that repeat the name in every piece send the rest of
        the arguments.
        """
        if not name or not call.name:
            return False
        if given_id and given_id != self._given_ids.get(index):
            return True
        if name == call.name and (given_id or not arguments.lstrip().startswith("{")):
            return False
        return self._is_whole(call)

    def _close_last_call(self) -> None:
        """Complete the last call when another begins, unless the server sends parts of several
        calls in turn: its arguments are not an object yet then, and the finish completes it.
        """
        calls = self.open_calls
        if len(calls) == 1 and self._is_whole(calls[0]):
            self.close_call(calls[0])

    def _is_whole(self, call: CallPiece) -> bool:
        """Return whether the arguments of a call are a complete object."""
        end = self._ends.setdefault(call.index, ObjectEnd())
        return end.follow(call.parts) and parse_object(call.arguments_json) is not None

    def _guess_index(self, given_id: Any) -> int:
        """Return the index of a call from a server that sends none: a new id begins a new call."""
        last = max((index for index in self._by_index if isinstance(index, int)), default=-1)
        last_id = self._given_ids.get(last)
        return last + 1 if last < 0 or (given_id and given_id != last_id) else last

    def _read_usage(self, usage: Any) -> None:
        prompt = get(usage, "prompt_tokens_details")
        self.report_usage(
            input=get(usage, "prompt_tokens"),
            output=get(usage, "completion_tokens"),
            cache_read=get(prompt, "cached_tokens"),
        )

    def raw_message(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Return the assistant message. Reasoning is sent back only with calls: servers that accept
        it require it there, and some refuse it elsewhere.
        """
        calls = [piece for piece in pieces if isinstance(piece, CallPiece)]
        texts = [piece for piece in pieces if isinstance(piece, TextPiece)]
        text = "".join(piece.text for piece in texts if not piece.thinking)
        thought = "".join(piece.text for piece in texts if piece.thinking)
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls and thought:
            message[self._reasoning_field] = thought
        if self._details:
            message["reasoning_details"] = list(self._details)
        if calls:
            message["tool_calls"] = [_raw_call(call) for call in calls]
        elif not text:
            message["content"] = ""
        return message


class _ResponseIds:
    """Detects a second response in a stream, such as from a proxy that switched servers: its chunks
    have another id. Some servers give every chunk a different id, which means nothing.
    """

    def __init__(self) -> None:
        self._last: str | None = None
        # Whether two chunks had the same id, whether the id has changed, and whether it always does.
        self._repeated = False
        self._changed = False
        self._always_changes = False

    @property
    def undecided(self) -> bool:
        """Whether the id has changed once, and no id has occurred twice."""
        return self._changed and not self._always_changes

    def check(self, response_id: Any) -> None:
        """Check the id of a chunk; raises `ModelFailed` if a second response begins."""
        if not isinstance(response_id, str) or not response_id or self._always_changes:
            return
        if response_id == self._last:
            self._repeated = True
        elif self._last is not None:
            self._always_changes = self._changed and not self._repeated
            self._changed = True
        if self._repeated and self._changed:
            raise malformed("a second response begins in the stream")
        self._last = response_id


def _thought(part: Any) -> str:
    """Return the text of a thinking part, which is a text or a list of text parts."""
    if isinstance(get(part, "thinking"), str):
        return get_text(part, "thinking")
    return "".join(get_text(item, "text") for item in get_list(part, "thinking"))


def _raw_call(call: CallPiece) -> dict[str, Any]:
    text = call.arguments_json
    if parse_object(text) is None or not text.strip():
        text = "{}"
    return chat_call(call.wire_id, call.wire_name, text)


# --- requests ---------------------------------------------------------------------------


class ChatWire(WireFormat):
    """Requests of chat completions."""

    name = "openai-chat"
    reader = ChatReader

    def target(self, options: WireOptions) -> str:
        return "/chat/completions"

    def render(self, request: ModelRequest, options: WireOptions) -> dict[str, Any]:
        body: dict[str, Any] = {
            "model": options.model,
            "messages": self._messages(request, options),
            "stream": True,
            "stream_options": {"include_usage": True},
        }
        limit = "max_completion_tokens" if options.is_openai else "max_tokens"
        if request.max_output_tokens is not None:
            body[limit] = request.max_output_tokens
        if isinstance(options.reasoning, str):
            body["reasoning_effort"] = options.reasoning
        if request.tools:
            body["tools"] = [
                {"type": "function", "function": _function(tool)} for tool in request.tools
            ]
            if request.tool_choice != "auto":
                body["tool_choice"] = "required" if request.tool_choice == "any" else "none"
        return body

    def _messages(self, request: ModelRequest, options: WireOptions) -> list[dict[str, Any]]:
        messages: list[dict[str, Any]] = []
        if request.system:
            system = "\n\n".join(part.text for part in request.system)
            messages.append({"role": "system", "content": system})
        links = IdLinks(_ID)
        for message in request.messages:
            if message.role == "assistant":
                messages.append(_assistant(message, links))
            elif message.role == "tool":
                messages += _results(message, links, options)
            else:
                messages.append({"role": "user", "content": _content(message.blocks, options)})
        return messages

    def outline(self, body: Mapping[str, Any]) -> Iterator[RequestStep]:
        for message in get_list(body, "messages"):
            role = get(message, "role")
            if role == "system":
                continue
            if role == "assistant":
                calls = get_list(message, "tool_calls")
                for call in calls:
                    require_object(get(get(call, "function"), "arguments"))
                yield RequestStep("assistant", tuple(get(call, "id") for call in calls))
            elif role == "tool":
                yield RequestStep("results", (get(message, "tool_call_id"),))
            else:
                yield RequestStep("user")


def chat_call(call_id: str, name: str, arguments: str) -> dict[str, Any]:
    """Return a tool call of an assistant message."""
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def _assistant(message: Message, links: IdLinks) -> dict[str, Any]:
    raw = raw_value(message, ChatReader.wire, dict)
    if raw is not None:
        links.open(message, [str(call.get("id")) for call in raw.get("tool_calls") or ()])
        return dict(raw)
    ids = links.open(message)
    rendered: dict[str, Any] = {"role": "assistant", "content": message.text or None}
    if ids:
        rendered["tool_calls"] = [
            chat_call(call_id, safe_name(call.name), object_text(call.arguments_json))
            for call_id, call in zip(ids, message.calls, strict=True)
        ]
    elif not message.text:
        rendered["content"] = ""
    return rendered


def _results(message: Message, links: IdLinks, options: WireOptions) -> list[dict[str, Any]]:
    """One message per result; pictures follow in a message of the user, where they are allowed."""
    rendered: list[dict[str, Any]] = []
    pictures: list[Picture] = []
    for block in message.blocks:
        if isinstance(block, ResultBlock):
            images, text = split_result(block, sees_images=options.sees_images)
            pictures += images
            call_id = links.wire_id(block.call_id)
            rendered.append({"role": "tool", "tool_call_id": call_id, "content": text})
    if pictures:
        blocks: tuple[Block, ...] = (TextBlock("The images of the tool results above:"), *pictures)
        rendered.append({"role": "user", "content": _content(blocks, options)})
    return rendered


def _content(blocks: Sequence[Block], options: WireOptions) -> str | list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    for block in blocks:
        if isinstance(block, TextBlock):
            parts.append({"type": "text", "text": block.text})
        elif isinstance(block, Picture):
            if options.sees_images:
                parts.append({"type": "image_url", "image_url": {"url": data_url(block)}})
            else:
                parts.append({"type": "text", "text": picture_note(block)})
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _function(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parameters": tool["input_schema"],
    }
