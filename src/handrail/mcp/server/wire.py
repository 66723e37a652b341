"""Messages as bytes, read strictly and once, whichever transport they come by.

Two readers of a message must not disagree, so duplicate keys, NaN and the like are refused
before the SDK sees them; nothing is kept of what is longer than `MAX_BYTES`.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from mcp_types.jsonrpc import ErrorData, JSONRPCError, JSONRPCMessage
from pydantic import ValidationError

from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.arguments import load_json

MAX_BYTES: Final = 16 * 1024 * 1024


class Unreadable(Exception):
    """Bytes that are no message; `error` is what to answer."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = JSONRPCError(
            jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message)
        )


def parse(data: bytes) -> Any:
    """The JSON value in the bytes; raises `Unreadable`."""
    try:
        return load_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise Unreadable(PARSE_ERROR, f"the message is not UTF-8: {error}") from error
    except ProblemRaised as raised:
        raise Unreadable(PARSE_ERROR, f"Parse error: {raised.problem.message}") from raised


def message_of(value: Any) -> JSONRPCMessage:
    """The value as a JSON-RPC message; raises `Unreadable`."""
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as error:
        raise Unreadable(INVALID_REQUEST, "Invalid Request: not one JSON-RPC message") from error


def too_long() -> Unreadable:
    """What to answer to a message that was not even kept."""
    return Unreadable(INVALID_REQUEST, f"the message is longer than {MAX_BYTES:,} bytes")
