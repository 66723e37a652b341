"""Converts a result to its MCP form: text, images, structured content and metadata.

Many clients show the model either the text or the structured content, so both are complete.
"""

from __future__ import annotations

import base64
import json
from typing import Any, Final

from handrail.core.results import ToolResult

META: Final = "handrail/result"
# Property of the structured content that holds the text.
TEXT: Final = "text"
_COMMAND_META: Final = (
    "undo",
    "undo_left_out",
    "undo_left_out_count",
    "unattributed",
    "unattributed_count",
)


def wire_result(result: ToolResult, *, structured: bool) -> dict[str, Any]:
    """Return the response of `tools/call`. Refusals are results too."""
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
    # MCP requires an object; other values are wrapped and have no schema.
    content: dict[str, Any] = data if isinstance(data, dict) else {"result": data}
    # A tool's own property of this name is kept.
    return content if TEXT in content or _is_data_text(text, data) else {TEXT: text, **content}


def _is_data_text(text: str, data: Any) -> bool:
    """Return whether the text is the data as JSON."""
    try:
        return text[:1] in ("{", "[") and bool(json.loads(text) == data)
    except (ValueError, RecursionError):
        return False


def _meta(result: ToolResult) -> dict[str, Any]:
    meta: dict[str, Any] = {"call_id": result.call_id, "status": result.status.value}
    if result.problem is not None:
        meta["problem"] = result.problem.to_dict()
    if result.changes:
        meta["changes"] = [
            {"path": change.path, "operation": change.operation} for change in result.changes
        ]
    # For commands: what undo covers, and concurrent changes by other processes.
    meta |= {name: result.meta[name] for name in _COMMAND_META if name in result.meta}
    return {META: meta}


def _encodable(text: str) -> str:
    """Replace lone surrogates, which UTF-8 cannot encode, by U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
