"""The Gemini API: streams, requests, and the check of a conversation."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote

from handrail.core.finish_words import GEMINI_FINISH, get
from handrail.core.ports.models import (
    Block,
    CallBlock,
    Message,
    ModelEvent,
    ModelFailed,
    ModelRequest,
    Picture,
    ResultBlock,
    TextBlock,
)
from handrail.models.failures import failure_from_body
from handrail.models.wires.fields import dump_json, get_list, get_text, malformed
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

_ID: Final = re.compile(r"[A-Za-z0-9_.:-]{1,64}")
_THINKING_TOKENS: Final[Mapping[str, int]] = {"low": 1024, "medium": 8192, "high": 24576}

# Values before the message ends, from servers that send defaults.
_UNSPECIFIED: Final = "FINISH_REASON_UNSPECIFIED"


class GeminiReader(StreamReader):
    """Reads the chunks of generated content. A call is complete in one part."""

    wire = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._given_id: Any = None

    def read(self, event: Mapping[str, Any]) -> Sequence[ModelEvent]:
        """Return the model events of one chunk."""
        if get(event, "error"):
            raise failure_from_body(event, None)
        self._check_response(get(event, "responseId"))
        blocked = get(get(event, "promptFeedback"), "blockReason")
        if blocked:
            raise ModelFailed(
                "content_refused", f"the provider refuses the content: {blocked!s:.100}"
            )
        for candidate in get_list(event, "candidates"):
            if get(candidate, "index") in (0, None):
                self._read_candidate(candidate)
        self._read_usage(get(event, "usageMetadata"))
        return self.take_events()

    def _check_response(self, response_id: Any) -> None:
        """Refuse the chunk of another response, whose calls would run besides those of the first."""
        if response_id and response_id != self._given_id:
            self._given_id = response_id
            self.begin_response(response_id)

    def _read_candidate(self, candidate: Any) -> None:
        for part in get_list(get(candidate, "content"), "parts"):
            if not isinstance(part, Mapping):
                raise malformed("a part is no object")
            self._read_part(part)
        reason = get(candidate, "finishReason")
        if reason not in (None, _UNSPECIFIED) and self.ending is None:
            self.set_ending(GEMINI_FINISH, reason)

    def _read_part(self, part: Mapping[str, Any]) -> None:
        call = get(part, "functionCall")
        signature = get(part, "thoughtSignature")
        if call is not None:
            if self.ending is not None:
                raise malformed("a tool call after the finish")
            piece = self.open_call(get(call, "id"), get_text(call, "name"))
            if not get(call, "id"):
                # Results refer to it by name and position.
                piece.wire_id = ""
            if get(call, "willContinue"):
                raise malformed("a call comes in parts, which were not asked for")
            args = get(call, "args")
            if args is not None and not isinstance(args, Mapping):
                raise malformed("the arguments of a call are no object")
            self.extend_call(piece, dump_json(args or {}))
            self.close_call(piece)
            piece.raw = dict(part)
        elif "text" in part:
            self._read_text(part, signature)
        else:
            self.count_raw(dict(part))
            self.add_piece(RawPiece(dict(part)))

    def _read_text(self, part: Mapping[str, Any], signature: Any) -> None:
        thinking, text = bool(get(part, "thought")), get_text(part, "text")
        last = self.pieces[-1] if self.pieces else None
        signed = isinstance(last, TextPiece) and "thoughtSignature" in last.raw
        if signature or signed:
            # A signature belongs to the part that it came with.
            piece = self.add_text(text, thinking=thinking, new=True)
            if piece is not None and signature:
                piece.raw["thoughtSignature"] = get_text(part, "thoughtSignature")
        else:
            self.add_text(text, thinking=thinking)

    def _read_usage(self, usage: Any) -> None:
        if not isinstance(usage, Mapping):
            return
        text_tokens, thinking_tokens = (
            usage.get("candidatesTokenCount"),
            usage.get("thoughtsTokenCount"),
        )
        counted = [
            count
            for count in (text_tokens, thinking_tokens)
            if isinstance(count, int) and count >= 0
        ]
        self.report_usage(
            input=usage.get("promptTokenCount"),
            output=sum(counted) if counted else None,
            cache_read=usage.get("cachedContentTokenCount"),
        )

    def raw_message(self, pieces: Sequence[Piece]) -> dict[str, Any]:
        """Return the content of the model with its signatures."""
        return {"role": "model", "parts": [_raw_part(piece) for piece in pieces]}


def _raw_part(piece: Piece) -> dict[str, Any]:
    if isinstance(piece, RawPiece):
        return dict(piece.raw)
    if isinstance(piece, CallPiece):
        original = piece.raw.get("functionCall")
        call = {**(original if isinstance(original, Mapping) else {}), "name": piece.wire_name}
        if "id" in call:
            call["id"] = piece.wire_id
        return {**piece.raw, "functionCall": {"args": piece.safe_arguments, **call}}
    thought = {"thought": True} if piece.thinking else {}
    return {"text": piece.text, **thought, **piece.raw}


# --- requests ---------------------------------------------------------------------------


class GeminiWire(WireFormat):
    """Requests of generated content. The key is in a header, never in the URL."""

    name = "gemini"
    reader = GeminiReader
    starts_with_user = True

    def target(self, options: WireOptions) -> str:
        return f"/models/{quote(options.model, safe='')}:streamGenerateContent?alt=sse"

    def auth_headers(self, key: str) -> dict[str, str]:
        return {"x-goog-api-key": key}

    def render(self, request: ModelRequest, options: WireOptions) -> dict[str, Any]:
        body: dict[str, Any] = {"contents": self._contents(request, options)}
        if request.system:
            body["systemInstruction"] = {"parts": [{"text": part.text} for part in request.system]}
        settings: dict[str, Any] = {}
        if request.max_output_tokens is not None:
            settings["maxOutputTokens"] = request.max_output_tokens
        if options.reasoning is not None:
            settings["thinkingConfig"] = _thinking(options.reasoning)
        if settings:
            body["generationConfig"] = settings
        if request.tools:
            body["tools"] = [{"functionDeclarations": [_tool(tool) for tool in request.tools]}]
            mode = {"auto": "AUTO", "none": "NONE", "any": "ANY"}[request.tool_choice]
            body["toolConfig"] = {"functionCallingConfig": {"mode": mode}}
        return body

    def _contents(self, request: ModelRequest, options: WireOptions) -> list[dict[str, Any]]:
        contents: list[dict[str, Any]] = []
        links = IdLinks(_ID)
        calls: Mapping[str, CallBlock] = {}
        for message in request.messages:
            if message.role == "assistant":
                calls = {call.id: call for call in message.calls}
                rendered = _assistant(message, links)
            else:
                rendered = {"role": "user", "parts": _user(message, links, calls, options)}
            if not rendered["parts"]:
                continue
            if contents and contents[-1]["role"] == rendered["role"]:
                contents[-1]["parts"] += rendered["parts"]
            else:
                contents.append(rendered)
        return contents

    def outline(self, body: Mapping[str, Any]) -> Iterator[RequestStep]:
        """Yield the steps of the conversation; calls without an id are matched by position."""
        for content in get_list(body, "contents"):
            parts = get_list(content, "parts")
            if not parts:
                raise broken("a message has no content")
            calls = [get(part, "functionCall") for part in parts if get(part, "functionCall")]
            results = [
                get(part, "functionResponse") for part in parts if get(part, "functionResponse")
            ]
            if get(content, "role") == "model":
                for call in calls:
                    require_object(get(call, "args"))
                yield RequestStep("assistant", _keys(calls))
                continue
            if calls:
                raise broken("a message of the user has a call")
            if results:
                yield RequestStep("results", _keys(results))
            if any(not get(part, "functionResponse") for part in parts):
                yield RequestStep("user")


def _keys(items: Sequence[Any]) -> tuple[str, ...]:
    """The id of each call or result, or its name and the number of earlier ones with that name."""
    counts: dict[str, int] = {}
    keys = []
    for item in items:
        name = str(get(item, "name") or "")
        counts[name] = counts.get(name, 0) + 1
        keys.append(str(get(item, "id") or f"{name}#{counts[name]}"))
    return tuple(keys)


def _assistant(message: Message, links: IdLinks) -> dict[str, Any]:
    raw = raw_value(message, GeminiReader.wire, dict)
    if raw is not None:
        calls = [get(part, "functionCall") for part in raw["parts"] if get(part, "functionCall")]
        links.open(message, [str(get(call, "id") or "") for call in calls])
        return {**raw, "parts": list(raw["parts"])}
    ids = links.open(message)
    parts: list[dict[str, Any]] = [{"text": message.text}] if message.text else []
    for call_id, call in zip(ids, message.calls, strict=True):
        rendered = {
            "id": call_id,
            "name": safe_name(call.name),
            "args": object_value(call.arguments_json),
        }
        parts.append({"functionCall": rendered})
    return {"role": "model", "parts": parts}


def _user(
    message: Message, links: IdLinks, calls: Mapping[str, CallBlock], options: WireOptions
) -> list[dict[str, Any]]:
    parts: list[dict[str, Any]] = []
    pictures: list[dict[str, Any]] = []
    for block in message.blocks:
        if isinstance(block, ResultBlock):
            shown, text = split_result(block, sees_images=options.sees_images)
            pictures += [_image(picture) for picture in shown]
            wire_id, call = links.wire_id(block.call_id), calls[block.call_id]
            answer: dict[str, Any] = {"name": safe_name(call.name)}
            answer["response"] = {"error" if block.is_error else "output": text}
            parts.append({"functionResponse": {**({"id": wire_id} if wire_id else {}), **answer}})
        else:
            parts += _part(block, options)
    return [*parts, *pictures]


def _part(block: Block, options: WireOptions) -> list[dict[str, Any]]:
    if isinstance(block, TextBlock) and block.text:
        return [{"text": block.text}]
    if isinstance(block, Picture):
        return [_image(block) if options.sees_images else {"text": picture_note(block)}]
    return []


def _image(picture: Picture) -> dict[str, Any]:
    return {"inlineData": {"mimeType": picture.media_type, "data": base64_text(picture)}}


def _thinking(reasoning: str | int) -> dict[str, Any]:
    wanted = reasoning if isinstance(reasoning, int) else _THINKING_TOKENS.get(reasoning, 8192)
    return {"thinkingBudget": wanted, "includeThoughts": True}


def _tool(tool: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": tool["name"],
        "description": tool.get("description", ""),
        "parametersJsonSchema": tool["input_schema"],
    }
