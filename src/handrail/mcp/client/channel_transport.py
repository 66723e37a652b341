"""Connects the streams of the SDK with a program of the supervisor: one JSON message per line."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, Final

import anyio
import anyio.lowlevel
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage

from handrail.core.ports.processes import ProcessChannel
from handrail.core.problems import ProblemRaised
from handrail.mcp.client.message_limits import MAX_MESSAGE, MAX_VALUES, ValueCounter
from handrail.mcp.client.message_repair import repair_message

# The most lines that are not messages, such as a banner; more of them end the connection.
_MAX_GARBAGE: Final = 100
# After this many lines that are not passed on, other tasks get a chance to run.
_LINES_AT_ONCE: Final = 100


@asynccontextmanager
async def open_streams(
    channel: ProcessChannel, take: Callable[[bytes], bool], on_end: Callable[[], None]
) -> AsyncGenerator[Any, None]:
    """Open the two streams for the SDK's client. They close when the program ends, sends a message beyond
    the limits, or sends too many lines that are not messages; `on_end` is called first. Lines for which
    `take` returns True are not passed on.
    """
    incoming_in, incoming = anyio.create_memory_object_stream[SessionMessage | Exception](0)
    outgoing, outgoing_out = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as group:
        group.start_soon(_read, channel, incoming_in, take, on_end)
        group.start_soon(_write, channel, outgoing_out, on_end)
        try:
            yield incoming, outgoing
        finally:
            group.cancel_scope.cancel()
            for stream in (incoming, outgoing, incoming_in, outgoing_out):
                stream.close()


@asynccontextmanager
async def _noting(on_end: Callable[[], None]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        on_end()


async def _read(
    channel: ProcessChannel,
    target: MemoryObjectSendStream[SessionMessage | Exception],
    take: Callable[[bytes], bool],
    on_end: Callable[[], None],
) -> None:
    garbage = skipped = 0
    async with target, _noting(on_end):
        while garbage < _MAX_GARBAGE:
            try:
                line = await channel.receive_until(b"\n", MAX_MESSAGE)
            except ProblemRaised:
                return
            if not line or _has_too_many_values(line):
                return
            if line.isspace() or take(line):
                skipped += 1
                if skipped % _LINES_AT_ONCE == 0:
                    await anyio.lowlevel.checkpoint()
                continue
            try:
                message = _parse(line)
            except (ValueError, RecursionError):
                garbage += 1
                continue
            try:
                await target.send(SessionMessage(message))
            except (anyio.BrokenResourceError, anyio.ClosedResourceError):
                return


def _parse(line: bytes) -> types.JSONRPCMessage:
    parse = partial(types.jsonrpc_message_adapter.validate_json, by_name=False)
    try:
        return parse(line)
    except ValueError:
        return parse(repair_message(line))


def _has_too_many_values(line: bytes) -> bool:
    return len(line) > MAX_VALUES and ValueCounter().exceeds_limit(line)


async def _write(
    channel: ProcessChannel,
    source: MemoryObjectReceiveStream[SessionMessage],
    on_end: Callable[[], None],
) -> None:
    async with source, _noting(on_end):
        async for message in source:
            text = message.message.model_dump_json(by_alias=True, exclude_unset=True)
            try:
                await channel.send(text.encode() + b"\n")
            except ProblemRaised:
                return
