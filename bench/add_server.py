"""A small MCP server over stdio without any library, so that both clients wait for the same."""

from __future__ import annotations

import json
import sys
from typing import Any

NUMBER = {"type": "integer"}
SCHEMA = {"type": "object", "properties": {"a": NUMBER, "b": NUMBER}, "required": ["a", "b"]}
TOOL = {
    "name": "add",
    "description": "Adds.",
    "inputSchema": SCHEMA,
    "annotations": {"readOnlyHint": True},
}


def _answer(method: str, params: dict[str, Any]) -> Any:
    if method == "initialize":
        about = {"name": "add", "version": "1"}
        given = {"protocolVersion": params["protocolVersion"], "capabilities": {"tools": {}}}
        return {**given, "serverInfo": about}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        total = params["arguments"]["a"] + params["arguments"]["b"]
        return {"content": [{"type": "text", "text": str(total)}], "isError": False}
    return None


def main() -> None:
    """Answer requests until the input ends."""
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = _answer(message["method"], message.get("params") or {})
        unknown = {"error": {"code": -32601, "message": "unknown"}}
        given = unknown if result is None else {"result": result}
        sys.stdout.write(json.dumps({"jsonrpc": "2.0", "id": message["id"], **given}) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
