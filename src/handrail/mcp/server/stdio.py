"""MCP over standard input and output, with a limit on the length of lines; reads every message
strictly.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR, INVALID_REQUEST, PARSE_ERROR, jsonrpc_message_adapter
from mcp_types.jsonrpc import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse
from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from handrail.core.problems import ProblemRaised
from handrail.engine.prepare.arguments import load_json
from handrail.host.stdio_lines import Pipe, open_stdio, read_lines
from handrail.host.stop_signals import stop_on_signal
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.session import ClientSession
from handrail.mcp.server.tool_server import ToolServer

MAX_BYTES: Final = 16 * 1024 * 1024

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


@asynccontextmanager
async def stdio() -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Open message streams on standard input and output."""
    async with message_streams(await open_stdio()) as streams:
        yield streams


@asynccontextmanager
async def message_streams(pipe: Pipe) -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Open message streams over a pipe; unreadable lines are answered with an error."""
    arrived, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, leaving = anyio.create_memory_object_stream[SessionMessage](0)

    async def read() -> None:
        async with arrived:
            async for line in lines(pipe):
                try:
                    if isinstance(line, UnreadableMessage):
                        raise line
                    message = parse_message(parse_json(line))
                except UnreadableMessage as unreadable:
                    await _answer(pipe, unreadable.error)
                    continue
                try:
                    await arrived.send(SessionMessage(message))
                except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                    return

    async def write() -> None:
        async with leaving:
            async for message in leaving:
                await _answer(pipe, message.message)

    async with anyio.create_task_group() as group:
        group.start_soon(read)
        group.start_soon(write)
        try:
            yield incoming, outgoing
        finally:
            group.cancel_scope.cancel()


async def lines(pipe: Pipe) -> AsyncIterator[bytes | UnreadableMessage]:
    """Yield the lines of a pipe; an error in place of a line that is too long."""
    async for line in read_lines(pipe, MAX_BYTES):
        yield too_long() if line is None else line


async def _answer(pipe: Pipe, message: JSONRPCMessage) -> None:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        data = text.encode("utf-8") + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        # An answer that cannot be serialized must not end the connection.
        if not isinstance(message, JSONRPCResponse):
            return
        error = ErrorData(code=INTERNAL_ERROR, message="the result cannot be written as JSON")
        failed = JSONRPCError(jsonrpc="2.0", id=message.id, error=error)
        data = failed.model_dump_json(by_alias=True).encode("utf-8", "replace") + b"\n"
    try:
        await pipe.write(data)
    except OSError:
        # The client no longer reads; the reading side detects the disconnect.
        return


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


async def serve_stdio(offer: ServerConfig) -> None:
    """Serve one client until it disconnects or a signal stops the server."""
    session = ClientSession(offer, own_ids=True)
    server = ToolServer(lambda ctx: session)
    try:
        with anyio.CancelScope() as scope, stop_on_signal(scope.cancel):
            async with stdio() as (incoming, outgoing):
                await server.sdk.run(incoming, outgoing, server.sdk.create_initialization_options())
    finally:
        await session.aclose()
        await asyncio.to_thread(offer.tidy)
