"""JSON-RPC messages as lines. A line that is not a message is answered with an error, and reading
continues.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any, Final

from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.arguments import load_json
from handrail.host.stdio_lines import Pipe, read_lines

MAX_BYTES: Final = 16 * 1024 * 1024
PARSE_ERROR: Final = -32700
INVALID_REQUEST: Final = -32600


class _NotAMessage(Exception):
    """Raised for a line that is not one JSON-RPC message."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code


class LineTransport:
    """The transport of a connection over a pipe to the editor."""

    def __init__(self, pipe: Pipe) -> None:
        self._pipe = pipe
        self._lines = read_lines(pipe, MAX_BYTES)
        self._writing = asyncio.Lock()

    async def send(self, message: dict[str, Any]) -> None:
        """Write a message; raises OSError if the editor has disconnected."""
        data = json.dumps(message, separators=(",", ":"), default=str).encode() + b"\n"
        async with self._writing:
            await self._pipe.write(data)

    async def receive(self) -> dict[str, Any] | None:
        """Return the next message; None at the end of the stream."""
        async for line in self._lines:
            try:
                return _read_message(line)
            except _NotAMessage as error:
                await self._refuse(error)
        return None

    async def close(self) -> None:
        """Do nothing: the pipe is closed with the process."""

    async def _refuse(self, error: _NotAMessage) -> None:
        details = {"code": error.code, "message": str(error)}
        try:
            await self.send({"jsonrpc": "2.0", "id": None, "error": details})
        except OSError:
            # The editor no longer reads; the end of the input also shows that.
            return


def _read_message(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise _NotAMessage(INVALID_REQUEST, f"the message is longer than {MAX_BYTES:,} bytes")
    try:
        value = load_json(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise _NotAMessage(PARSE_ERROR, f"the message is not UTF-8: {error}") from error
    except ProblemRaised as raised:
        raise _NotAMessage(PARSE_ERROR, f"Parse error: {raised.problem.message}") from raised
    if not isinstance(value, dict) or value.get("jsonrpc") != "2.0" or not _has_valid_id(value):
        raise _NotAMessage(INVALID_REQUEST, "Invalid Request: not one JSON-RPC message")
    if "method" in value:
        method, params = value["method"], value.get("params")
        if not isinstance(method, str) or not isinstance(params, dict | None):
            raise _NotAMessage(INVALID_REQUEST, "Invalid Request: wrong method or params")
    elif "id" not in value or not (("result" in value) ^ ("error" in value)):
        raise _NotAMessage(INVALID_REQUEST, "Invalid Request: neither a request nor a response")
    elif "error" in value and not _is_error(value["error"]):
        # A request waits for this response: it fails instead of waiting for ever.
        return {**value, "error": {"code": INVALID_REQUEST, "message": "an invalid response"}}
    return value


def _has_valid_id(value: dict[str, Any]) -> bool:
    id_ = value.get("id")
    return isinstance(id_, str | int | None) and not isinstance(id_, bool)


def _is_error(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("code"), int)
        and isinstance(value.get("message"), str)
    )
