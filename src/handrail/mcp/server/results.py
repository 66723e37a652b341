"""A result as MCP carries it: text, images, structured content, and what else is known.

Many clients show a model either the text or the structured content, so each says everything.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from handrail.core.results import ToolResult

META: Final = "handrail/result"
# The text of a result in its structured content.
TEXT: Final = "text"
_OF_COMMANDS: Final = (
    "undo",
    "undo_left_out",
    "undo_left_out_count",
    "unattributed",
    "unattributed_count",
)


def wire_result(result: ToolResult, *, structured: bool) -> dict[str, Any]:
    """The result of `tools/call` in its wire form. A refusal is a result too."""
    text = _encodable(result.text)
    content: list[dict[str, Any]] = [{"type": "text", "text": text}]
    for image in result.images:
        data = base64.b64encode(image.data).decode("ascii")
        content.append({"type": "image", "data": data, "mimeType": image.media_type})
    wire: dict[str, Any] = {
        "resultType": "complete",
        "content": content,
        "isError": result.is_error,
        "_meta": _meta(result),
    }
    if structured and result.data is not None:
        wire["structuredContent"] = _structured(text, result.data)
    return wire


def _structured(text: str, data: Any) -> dict[str, Any]:
    # MCP wants an object; what is none is put into one, and then has no schema.
    told: dict[str, Any] = data if isinstance(data, dict) else {"result": data}
    # A tool that has such a member itself keeps it.
    return told if TEXT in told or _says(text, data) else {TEXT: text, **told}


def _says(text: str, data: Any) -> bool:
    """Whether the text is the data, written down."""
    try:
        return text[:1] in ("{", "[") and bool(json.loads(text) == data)
    except (ValueError, RecursionError):
        return False


def _meta(result: ToolResult) -> dict[str, Any]:
    told: dict[str, Any] = {"call_id": result.call_id, "status": result.status.value}
    if result.problem is not None:
        told["problem"] = result.problem.to_dict()
    if result.changes:
        told["changes"] = [
            {"path": change.path, "operation": change.operation} for change in result.changes
        ]
    # Of a command: how much of it can be taken back, and what others changed meanwhile.
    told |= {name: result.meta[name] for name in _OF_COMMANDS if name in result.meta}
    return {META: told}


def _encodable(text: str) -> str:
    """Text that UTF-8 can hold: bytes that were no text show as U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
