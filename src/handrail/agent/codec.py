"""Encodes messages of a conversation as JSON and decodes them, without loss."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from typing import Any, assert_never

from handrail.core.ports.models import (
    Block,
    CallBlock,
    Message,
    Picture,
    RawMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)


def encode_message(message: Message) -> dict[str, Any]:
    """Return the message as JSON values."""
    encoded: dict[str, Any] = {
        "role": message.role,
        "blocks": [_encode_block(block) for block in message.blocks],
    }
    if message.raw is not None:
        encoded["raw"] = {"wire": message.raw.wire, "value": message.raw.value}
    return encoded


def decode_message(encoded: Mapping[str, Any]) -> Message:
    """Return the message that `encode_message` was given; raises ValueError or KeyError otherwise."""
    raw = encoded.get("raw")
    return Message(
        encoded["role"],
        tuple(_decode_block(block) for block in encoded["blocks"]),
        None if raw is None else RawMessage(raw["wire"], raw["value"]),
    )


def _encode_block(block: Block) -> dict[str, Any]:
    match block:
        case TextBlock(text):
            return {"type": "text", "text": text}
        case ThinkingBlock(text):
            return {"type": "thinking", "text": text}
        case Picture(media_type, data):
            encoded = base64.b64encode(data).decode("ascii")
            return {"type": "picture", "media_type": media_type, "data": encoded}
        case CallBlock(id, name, arguments_json):
            return {"type": "call", "id": id, "name": name, "arguments_json": arguments_json}
        case ResultBlock(call_id, blocks, is_error):
            inner = [_encode_block(part) for part in blocks]
            return {"type": "result", "call_id": call_id, "blocks": inner, "is_error": is_error}
        case _:
            assert_never(block)


def _decode_block(encoded: Mapping[str, Any]) -> Block:
    match encoded["type"]:
        case "text":
            return TextBlock(encoded["text"])
        case "thinking":
            return ThinkingBlock(encoded["text"])
        case "picture":
            return _decode_picture(encoded)
        case "call":
            return CallBlock(encoded["id"], encoded["name"], encoded["arguments_json"])
        case "result":
            return ResultBlock(
                encoded["call_id"], _decode_content(encoded["blocks"]), encoded["is_error"]
            )
        case other:
            raise ValueError(f"unknown block type {other!r}")


def _decode_content(encoded: Sequence[Mapping[str, Any]]) -> tuple[TextBlock | Picture, ...]:
    return tuple(
        _decode_picture(part) if part["type"] == "picture" else TextBlock(part["text"])
        for part in encoded
    )


def _decode_picture(encoded: Mapping[str, Any]) -> Picture:
    return Picture(encoded["media_type"], base64.b64decode(encoded["data"]))
