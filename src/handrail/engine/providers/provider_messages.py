"""Reads tool calls and the end of a provider's response, and writes results as its messages.

Works by shape, with objects and dicts alike, and imports no SDK: the shape of a response is public
and stable, its classes are not.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, Literal, NamedTuple

from handrail.core.call import safe_call_id
from handrail.core.finish_words import (
    ANTHROPIC_FINISH,
    CHAT_FINISH,
    GEMINI_FINISH,
    RESPONSES_FINISH,
    RESPONSES_INCOMPLETE,
    get,
)
from handrail.core.ports.models import Finish
from handrail.core.problems import ProblemRaised
from handrail.core.results import Image, ToolResult
from handrail.engine import messages

Provider = Literal["openai", "openai-responses", "anthropic", "gemini"]

_CAPITAL: Final = re.compile("[A-Z]")
_VISIBLE: Final = frozenset({"image/jpeg", "image/png", "image/gif", "image/webp"})
_ANTHROPIC_BLOCKS: Final = frozenset(
    {"text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"}
)


class RequestedCalls(NamedTuple):
    """The calls a model makes in one response; each `{"id", "name", "arguments"}`."""

    provider: Provider
    calls: list[dict[str, Any]]


def response_id(response: Any) -> str | None:
    """The id of the response, which distinguishes calls of servers that reuse call ids. An id that is
    too long or has unusual characters is replaced by one made from its hash.
    """
    if isinstance(response, list | tuple):
        return None
    given = get(response, "id") or either(response, "responseId")
    return safe_call_id(given) if isinstance(given, str) and given else None


def read_calls(response: Any) -> RequestedCalls:
    """The tool calls of a response, in order; raises `invalid_arguments` for other shapes.

    Takes an OpenAI chat completion, its message or the calls in it, an OpenAI response or its
    output list, an Anthropic message or its content list, a Gemini response or its content. Calls of tools that the provider
    runs itself are not ours and are left out.
    """
    if isinstance(response, list | tuple):
        return _from_items(response)
    choices = get(response, "choices")
    if isinstance(choices, Sequence) and choices:
        return _from_chat(get(choices[0], "message"))
    output = get(response, "output")
    if isinstance(output, list | tuple):
        return _from_output(output)
    parts = gemini_parts(response)
    if parts is not None:
        return _from_parts(parts)
    if get(response, "role") != "assistant":
        raise _unknown_shape(response)
    content = get(response, "content")
    if isinstance(content, list | tuple) and get(response, "tool_calls") is None:
        return _from_blocks(content)
    return _from_chat(response)


def tool_messages(
    results: Sequence[ToolResult], provider: str, names: Sequence[str] = ()
) -> list[dict[str, Any]]:
    """One message per result in their order; for Anthropic and Gemini one message with all of them.
    `names` are the names of the tools, which only Gemini needs.
    """
    if not results:
        return []
    if provider == "gemini":
        shown = [*names, *[""] * (len(results) - len(names))]
        parts = [_gemini(*pair) for pair in zip(results, shown, strict=True)]
        pictures = [_inline(image) for one in results for image in one.images]
        return [{"role": "user", "parts": [*parts, *pictures]}]
    if provider == "anthropic":
        return [{"role": "user", "content": [_anthropic(result) for result in results]}]
    form = _FORMS.get(provider)
    if form is None:
        raise messages.UNKNOWN_MESSAGE_FORMAT.error(
            provider=provider, formats=", ".join(_FORMS), field="provider"
        )
    return [form(result) for result in results]


# --- reading ----------------------------------------------------------------------------


def _from_items(items: Sequence[Any]) -> RequestedCalls:
    if any(get(item, "type") in _ANTHROPIC_BLOCKS for item in items):
        return _from_blocks(items)
    if any(get(item, "function") is not None for item in items):
        return _from_functions(items)
    return _from_output(items)


def _from_chat(message: Any) -> RequestedCalls:
    calls = get(message, "tool_calls")
    if get(message, "role") != "assistant" or not isinstance(calls or [], list | tuple):
        raise _unknown_shape(message)
    legacy = get(message, "function_call")
    if legacy is not None and not calls:
        # It has no id to answer it by, and to ignore it would end the conversation.
        raise messages.CALL_WITHOUT_ID.error(call_id=None, name=get(legacy, "name"))
    return _from_functions(calls or ())


def _from_functions(calls: Iterable[Any]) -> RequestedCalls:
    functions = [(call, get(call, "function")) for call in calls]
    return RequestedCalls(
        "openai",
        [
            _call(get(call, "id"), get(function, "name"), get(function, "arguments"))
            for call, function in functions
            if function is not None
        ],
    )


def _from_output(items: Iterable[Any]) -> RequestedCalls:
    calls = []
    for item in items:
        if not isinstance(get(item, "type"), str):
            raise _unknown_shape(item)
        if get(item, "type") == "function_call":
            calls.append(_call(get(item, "call_id"), get(item, "name"), get(item, "arguments")))
    return RequestedCalls("openai-responses", calls)


def _from_blocks(blocks: Iterable[Any]) -> RequestedCalls:
    return RequestedCalls(
        "anthropic",
        [
            _call(get(block, "id"), get(block, "name"), get(block, "input"))
            for block in blocks
            if get(block, "type") == "tool_use"
        ],
    )


def _from_parts(parts: Iterable[Any]) -> RequestedCalls:
    found = [either(part, "functionCall") for part in parts]
    # A call without an id is answered by its name and position.
    calls = [
        _call(get(call, "id") or "", get(call, "name"), get(call, "args") or {})
        for call in found
        if call is not None
    ]
    return RequestedCalls("gemini", calls)


def gemini_parts(response: Any) -> Sequence[Any] | None:
    """The parts of a Gemini response or of its content; None for other shapes."""
    candidates = get(response, "candidates")
    content = response
    if isinstance(candidates, list | tuple) and candidates:
        content = get(candidates[0], "content")
    elif get(response, "role") != "model":
        return None
    parts = get(content, "parts")
    return parts if isinstance(parts, list | tuple) else ()


def either(thing: Any, name: str) -> Any:
    """The field in the spelling of the wire or, in objects of the SDK, in that of Python."""
    found = get(thing, name)
    return get(thing, _CAPITAL.sub(r"_\g<0>", name).lower()) if found is None else found


def _call(call_id: Any, name: Any, arguments: Any) -> dict[str, Any]:
    """One call; its id may be anything but missing, and goes back as it came."""
    if call_id is None or not isinstance(name, str):
        raise messages.CALL_WITHOUT_ID.error(call_id=call_id, name=name)
    return {"id": call_id, "name": name, "arguments": "" if arguments is None else arguments}


def _unknown_shape(thing: Any) -> ProblemRaised:
    return messages.UNKNOWN_RESPONSE_SHAPE.error(kind=type(thing).__name__, field="response")


# --- answering --------------------------------------------------------------------------


def _chat(result: ToolResult) -> dict[str, Any]:
    notes = [_note(image) for image in result.images]
    content = "\n".join([result.text, *notes] if result.text else notes)
    return {"role": "tool", "tool_call_id": result.call_id, "content": content}


def _responses(result: ToolResult) -> dict[str, Any]:
    output: str | list[dict[str, Any]] = result.text
    if result.images:
        output = _parts(result, "input_text", _input_image)
    return {"type": "function_call_output", "call_id": result.call_id, "output": output}


def _anthropic(result: ToolResult) -> dict[str, Any]:
    content: str | list[dict[str, Any]] = result.text
    if result.images:
        content = _parts(result, "text", _image_block)
    return {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": content,
        "is_error": result.is_error,
    }


def _gemini(result: ToolResult, name: str) -> dict[str, Any]:
    response = {"error" if result.is_error else "output": result.text}
    # A call without an id is answered by its name and position.
    given = {"id": result.call_id} if result.call_id else {}
    return {"functionResponse": {**given, "name": name, "response": response}}


def _inline(image: Image) -> dict[str, Any]:
    if image.media_type not in _VISIBLE:
        return {"text": _note(image)}
    data = base64.b64encode(image.data).decode("ascii")
    return {"inlineData": {"mimeType": image.media_type, "data": data}}


def _parts(
    result: ToolResult, text_type: str, block: Callable[[Image], dict[str, Any]]
) -> list[dict[str, Any]]:
    parts = [{"type": text_type, "text": result.text}] if result.text else []
    for image in result.images:
        if image.media_type in _VISIBLE:
            parts.append(block(image))
        else:
            parts.append({"type": text_type, "text": _note(image)})
    return parts


def _image_block(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    source = {"type": "base64", "media_type": image.media_type, "data": data}
    return {"type": "image", "source": source}


def _input_image(image: Image) -> dict[str, Any]:
    data = base64.b64encode(image.data).decode("ascii")
    return {"type": "input_image", "image_url": f"data:{image.media_type};base64,{data}"}


def _note(image: Image) -> str:
    return f"[an image, {image.media_type}, {len(image.data):,} bytes, cannot be shown here]"


_FORMS: Final[Mapping[str, Callable[[ToolResult], dict[str, Any]]]] = {
    "openai": _chat,
    "openai-responses": _responses,
}


class ResponseEnd(NamedTuple):
    """How a response ended.

    `finish` is None where the shape has no such field: a bare message or list of calls.
    `reason` is the provider's own word. `unfinished` are the positions, among the calls of
    the response, of those that the provider itself marks as incomplete.
    """

    finish: Finish | None
    reason: str = ""
    unfinished: frozenset[int] = frozenset()

    @property
    def runs_effects(self) -> bool:
        """Whether calls that change something may run."""
        return self.finish is None or self.finish is Finish.CALLS

    @property
    def cuts_last_call(self) -> bool:
        """Whether the last call may be a part of what the model meant."""
        return self.finish in (Finish.LENGTH, Finish.REFUSED, Finish.CUT)


# What a complete Anthropic response has and a message of a conversation has not.
_OF_A_RESPONSE: Final = ("id", "model", "usage", "stop_reason", "stop_sequence")


def read_end(response: Any) -> ResponseEnd:
    """How a response that `read_calls` understands ended."""
    if isinstance(response, list | tuple):
        return ResponseEnd(None, unfinished=_unfinished(response))
    choices = get(response, "choices")
    if isinstance(choices, Sequence) and choices:
        named = _named(CHAT_FINISH, get(choices[0], "finish_reason"))
        return _unless_refused(get(choices[0], "message"), named)
    output = get(response, "output")
    if isinstance(output, list | tuple):
        return _of_output(response)._replace(unfinished=_unfinished(output))
    if gemini_parts(response) is not None:
        return _of_candidate(get(response, "candidates"))
    content = get(response, "content")
    if isinstance(content, list | tuple) and get(response, "tool_calls") is None:
        return _of_message(response)
    # Some programs keep the choice's field in the message.
    reason = get(response, "finish_reason")
    return _unless_refused(
        response, ResponseEnd(None) if reason is None else _named(CHAT_FINISH, reason)
    )


def _unless_refused(message: Any, end: ResponseEnd) -> ResponseEnd:
    """A chat message may carry the text of a refusal instead of an answer."""
    return ResponseEnd(Finish.REFUSED, "refusal") if get(message, "refusal") else end


def _of_message(message: Any) -> ResponseEnd:
    """An Anthropic response, or a message of a conversation, which has no such field."""
    if isinstance(message, Mapping) and not any(key in message for key in _OF_A_RESPONSE):
        return ResponseEnd(None)
    return _named(ANTHROPIC_FINISH, get(message, "stop_reason"))


def _of_candidate(candidates: Any) -> ResponseEnd:
    """A Gemini response; its content alone has no such field."""
    if not candidates:
        return ResponseEnd(None)
    reason = either(candidates[0], "finishReason")
    # An enumeration in objects of the SDK.
    return _named(GEMINI_FINISH, get(reason, "value") or reason)


def _of_output(response: Any) -> ResponseEnd:
    status = get(response, "status")
    if status != "incomplete":
        return _named(RESPONSES_FINISH, status)
    reason = get(get(response, "incomplete_details"), "reason")
    found = _named(RESPONSES_INCOMPLETE, reason)
    if found.finish is Finish.UNKNOWN:
        return ResponseEnd(Finish.CUT, found.reason or "incomplete")
    return found


def _named(known: Mapping[str, Finish], reason: Any) -> ResponseEnd:
    if not isinstance(reason, str):
        return ResponseEnd(Finish.UNKNOWN)
    return ResponseEnd(known.get(reason, Finish.UNKNOWN), reason[:100])


def _unfinished(items: Sequence[Any]) -> frozenset[int]:
    """The positions of calls of the Responses API that are marked as incomplete."""
    calls = [item for item in items if get(item, "type") == "function_call"]
    return frozenset(
        number
        for number, item in enumerate(calls)
        if get(item, "status") not in (None, "completed")
    )
