"""A result as MCP carries it: text, images, structured content, and what else is known."""

from __future__ import annotations

import base64
from typing import Any, Final

from handrail.core.results import ToolResult

META: Final = "handrail/result"


def wire_result(result: ToolResult) -> dict[str, Any]:
    """The result of `tools/call` in its wire form. A refusal is a result too."""
    content: list[dict[str, Any]] = [{"type": "text", "text": _encodable(result.text)}]
    for image in result.images:
        data = base64.b64encode(image.data).decode("ascii")
        content.append({"type": "image", "data": data, "mimeType": image.media_type})
    wire: dict[str, Any] = {
        "resultType": "complete",
        "content": content,
        "isError": result.is_error,
        "_meta": _meta(result),
    }
    if result.data is not None:
        # MCP wants an object; what is none is put into one, and then has no schema.
        wire["structuredContent"] = (
            result.data if isinstance(result.data, dict) else {"result": result.data}
        )
    return wire


def _meta(result: ToolResult) -> dict[str, Any]:
    told: dict[str, Any] = {"call_id": result.call_id, "status": result.status.value}
    if result.problem is not None:
        told["problem"] = result.problem.to_dict()
    if result.changes:
        told["changes"] = [
            {"path": change.path, "operation": change.operation} for change in result.changes
        ]
    return {META: told}


def _encodable(text: str) -> str:
    """Text that UTF-8 can hold: bytes that were no text show as U+FFFD."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode("utf-8")
