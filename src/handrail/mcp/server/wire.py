"""Parses messages strictly, for both transports.

Duplicate keys, NaN and similar JSON that parsers read differently are rejected before the SDK
sees them. Messages over `MAX_BYTES` are discarded.
"""

from __future__ import annotations

from typing import Any, Final

from mcp_types import INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from mcp_types.jsonrpc import ErrorData, JSONRPCError, JSONRPCMessage
from pydantic import ValidationError

from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.arguments import load_json

MAX_BYTES: Final = 16 * 1024 * 1024


class UnreadableMessage(Exception):
    """Raised for bytes that are not a valid message; `error` is the response to send."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.error = JSONRPCError(
            jsonrpc="2.0", id=None, error=ErrorData(code=code, message=message)
        )


def parse_json(data: bytes) -> Any:
    """Parse JSON bytes; raises `UnreadableMessage`."""
    try:
        return load_json(data.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise UnreadableMessage(PARSE_ERROR, f"the message is not UTF-8: {error}") from error
    except ProblemRaised as raised:
        raise UnreadableMessage(PARSE_ERROR, f"Parse error: {raised.problem.message}") from raised


def parse_message(value: Any) -> JSONRPCMessage:
    """Validate a value as a JSON-RPC message; raises `UnreadableMessage`."""
    try:
        return jsonrpc_message_adapter.validate_python(value, by_name=False)
    except ValidationError as error:
        raise UnreadableMessage(
            INVALID_REQUEST, "Invalid Request: not one JSON-RPC message"
        ) from error


def too_long() -> UnreadableMessage:
    """Return the error for a message over the size limit."""
    return UnreadableMessage(INVALID_REQUEST, f"the message is longer than {MAX_BYTES:,} bytes")
