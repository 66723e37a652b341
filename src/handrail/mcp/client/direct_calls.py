"""Calls tools of a server's program over the same pipes as the SDK, but without its session, whose layers
cost more than all other parts of a call. Only for protocol versions before 2026-07-28, in which a
request has only a method and parameters.
"""

from __future__ import annotations

import asyncio
import re
import select
from collections.abc import Callable, Mapping
from contextlib import suppress
from json import dumps
from typing import Any, Final, NamedTuple

import anyio
import mcp_types as types
from mcp import MCPError
from pydantic_core import from_json

from handrail.core.ports.processes import ProcessChannel
from handrail.core.problems import ProblemRaised
from handrail.mcp.client.message_repair import repair_message

# The prefix of the ids of these requests; the SDK's session uses numbers.
_PREFIX: Final = "handrail-"
_MARK: Final = f'"{_PREFIX}'.encode()
_ANSWERED: Final = re.compile(rf'"id"\s*:\s*"({_PREFIX}\d+)"'.encode())
_CANCEL_S: Final = 1.0

# Called with the progress of a call: how much is done, the total, and a message.
OnProgress = Callable[[float, float | None, str | None], None]


class _PendingCall(NamedTuple):
    answer: asyncio.Future[dict[str, Any]]
    on_progress: OnProgress


class DirectCalls:
    """The calls of one program that wait for an answer."""

    def __init__(self, channel: ProcessChannel) -> None:
        self._channel = channel
        self._pending: dict[str, _PendingCall] = {}
        self._last = 0

    async def call(
        self, tool: str, arguments: Mapping[str, Any], on_progress: OnProgress
    ) -> types.CallToolResult:
        """Call a tool. Raises MCPError for an error of the server, ValueError for an invalid result,
        `anyio.BrokenResourceError` if the program ended. Cancelling it also cancels the call at the server.
        """
        self._last += 1
        name = f"{_PREFIX}{self._last}"
        answer: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._pending[name] = _PendingCall(answer, on_progress)
        meta = {"progressToken": name}
        params = {"name": tool, "arguments": arguments, "_meta": meta}
        request = {"jsonrpc": "2.0", "id": name, "method": "tools/call", "params": params}
        try:
            await self._send(request)
            message = await answer
        except asyncio.CancelledError:
            await self._cancel(name)
            raise
        finally:
            del self._pending[name]
        return _read_answer(message)

    def take(self, line: bytes) -> bool:
        """Handle a line of the program if it answers one of these calls or reports its progress; returns
        whether it does.
        """
        if _MARK not in line:
            return False
        try:
            message = _parse(line)
        except ValueError:
            return self._fail(line)
        if not isinstance(message, dict):
            return False
        waiting = self._find(message.get("id"))
        if waiting is not None and "method" not in message:
            if not waiting.answer.done():
                waiting.answer.set_result(message)
            return True
        params = message.get("params")
        if message.get("method") != "notifications/progress" or not isinstance(params, dict):
            return False
        waiting = self._find(params.get("progressToken"))
        if waiting is not None:
            _report(waiting.on_progress, params)
        return waiting is not None

    def end(self) -> None:
        """Fail all calls, because the program will not answer any more."""
        for waiting in self._pending.values():
            if not waiting.answer.done():
                waiting.answer.set_exception(anyio.BrokenResourceError())

    def _fail(self, line: bytes) -> bool:
        """Fail the call that an invalid line answers; returns whether there is one."""
        named = _ANSWERED.search(line)
        waiting = None if named is None else self._find(named[1].decode())
        if waiting is None:
            return False
        if not waiting.answer.done():
            waiting.answer.set_exception(ValueError("the answer is no valid JSON"))
        return True

    def _find(self, name: Any) -> _PendingCall | None:
        return self._pending.get(name) if isinstance(name, str) else None

    async def _send(self, message: Mapping[str, Any]) -> None:
        data = dumps(message).encode() + b"\n"
        try:
            if len(data) <= select.PIPE_BUF:
                await self._channel.send(data)
                return
            # Shielded: cancelling a longer message half-way would end the connection for all calls.
            sending = asyncio.ensure_future(self._channel.send(data))
            sending.add_done_callback(_ignore_failure)
            await asyncio.shield(sending)
        except ProblemRaised as raised:
            raise anyio.BrokenResourceError from raised

    async def _cancel(self, name: str) -> None:
        params = {"requestId": name, "reason": "cancelled"}
        message = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params}
        # The message is sent when the program reads again, or fails when the program ends.
        sending = asyncio.ensure_future(self._send(message))
        sending.add_done_callback(_ignore_failure)
        with suppress(anyio.BrokenResourceError, asyncio.CancelledError, TimeoutError):
            await asyncio.wait_for(asyncio.shield(sending), _CANCEL_S)


def _parse(line: bytes) -> Any:
    try:
        return from_json(line)
    except ValueError:
        return from_json(repair_message(line))


def _ignore_failure(sending: asyncio.Future[None]) -> None:
    if not sending.cancelled():
        sending.exception()


def _read_answer(message: Mapping[str, Any]) -> types.CallToolResult:
    error = message.get("error")
    if isinstance(error, dict):
        error_data = types.ErrorData.model_validate(error)
        raise MCPError(code=error_data.code, message=error_data.message)
    return types.CallToolResult.model_validate(message.get("result"), by_name=False)


def _report(on_progress: OnProgress, params: Mapping[str, Any]) -> None:
    progress, total, message = (params.get(key) for key in ("progress", "total", "message"))
    if isinstance(progress, int | float) and isinstance(total, int | float | None):
        on_progress(progress, total, message if isinstance(message, str) else None)
