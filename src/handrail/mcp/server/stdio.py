"""MCP over standard input and output, with a limit on the length of lines.

While serving, descriptors 0 and 1 are replaced: output of libraries goes to standard error, and
child processes read an empty standard input.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final, Protocol

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import INTERNAL_ERROR
from mcp_types.jsonrpc import ErrorData, JSONRPCError, JSONRPCMessage, JSONRPCResponse
from pydantic_core import PydanticSerializationError

from handrail.mcp.server.wire import (
    MAX_BYTES,
    UnreadableMessage,
    parse_json,
    parse_message,
    too_long,
)

_CHUNK: Final = 256 * 1024

Incoming = MemoryObjectReceiveStream[SessionMessage | Exception]
Outgoing = MemoryObjectSendStream[SessionMessage]


class Pipe(Protocol):
    """A byte stream to and from the client."""

    async def read(self) -> bytes:
        """Read some bytes; b"" at the end of the stream."""

    async def write(self, data: bytes) -> None:
        """Write all bytes; raises OSError if the client has disconnected."""


@asynccontextmanager
async def stdio() -> AsyncIterator[tuple[Incoming, Outgoing]]:
    """Open message streams on standard input and output."""
    source, sink = _take(0, os.O_RDONLY), _take(1, os.O_WRONLY)
    pipe = await _pipe(source, sink)
    async with message_streams(pipe) as streams:
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
    """The lines that arrive; of one that is too long nothing is kept but that it came."""
    kept = bytearray()
    skipping = False
    while data := await pipe.read():
        *ended, rest = data.split(b"\n")
        for part in ended:
            line = bytes(kept) + part
            kept.clear()
            if skipping or len(line) > MAX_BYTES:
                skipping = False
                yield too_long()
            elif line.strip():
                yield line
        if not skipping:
            kept += rest
        if len(kept) > MAX_BYTES:
            kept.clear()
            skipping = True


async def _answer(pipe: Pipe, message: JSONRPCMessage) -> None:
    try:
        text = message.model_dump_json(by_alias=True, exclude_unset=True)
        data = text.encode("utf-8") + b"\n"
    except (PydanticSerializationError, UnicodeEncodeError):
        # One answer that cannot be written must not cost the connection.
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


def _take(descriptor: int, flags: int) -> int:
    """Duplicate a standard descriptor and redirect the original."""
    own = os.dup(descriptor)
    os.set_inheritable(own, False)
    if flags == os.O_WRONLY:
        os.dup2(2, descriptor)
    else:
        nothing = os.open(os.devnull, flags)
        os.dup2(nothing, descriptor)
        os.close(nothing)
    return own


async def _pipe(source: int, sink: int) -> Pipe:
    if all(_is_pipe(one) for one in (source, sink)):
        return await _LoopPipe.open(source, sink)
    return _ThreadPipe(source, sink)


def _is_pipe(descriptor: int) -> bool:
    mode = os.fstat(descriptor).st_mode
    return stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)


class _LoopPipe:
    """A pipe or socket that the event loop can poll."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer

    @classmethod
    async def open(cls, source: int, sink: int) -> _LoopPipe:
        loop = asyncio.get_running_loop()
        reader = asyncio.StreamReader(limit=_CHUNK)
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(source, "rb", buffering=0)
        )
        transport, protocol = await loop.connect_write_pipe(
            asyncio.streams.FlowControlMixin, os.fdopen(sink, "wb", buffering=0)
        )
        return cls(reader, asyncio.StreamWriter(transport, protocol, None, loop))

    async def read(self) -> bytes:
        return await self._reader.read(_CHUNK)

    async def write(self, data: bytes) -> None:
        self._writer.write(data)
        await self._writer.drain()


class _ThreadPipe:
    """A terminal or file, read in a thread: O_NONBLOCK would affect other processes."""

    def __init__(self, source: int, sink: int) -> None:
        self._source = source
        self._sink = sink

    async def read(self) -> bytes:
        data: bytes = await _in_thread(os.read, self._source, _CHUNK)
        return data

    async def write(self, data: bytes) -> None:
        rest = memoryview(data)
        while rest:
            rest = rest[await _in_thread(os.write, self._sink, rest) :]


async def _in_thread(work: Any, *args: Any) -> Any:
    # The thread is abandoned at exit: a read from a terminal may never return.
    return await anyio.to_thread.run_sync(work, *args, abandon_on_cancel=True)
