"""Handshake sessions over HTTP whose transports are closed while they are idle.

The SDK keeps about 35 kB per session until the session ends, and many clients disconnect without
ending it. Here an idle session keeps only its `initialize` message: its next request opens a
transport with the same id and replays the message.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final, NamedTuple

import anyio
from mcp.server.streamable_http import StreamableHTTPServerTransport
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

SESSION_HEADER: Final = "mcp-session-id"
# Transports of the sessions that were used last stay open.
MOST_OPEN: Final = 32
# A session with a longer message keeps its transport.
_MOST_BYTES: Final = 16 * 1024
_INITIALIZED: Final = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
_HEADERS: Final = (
    (b"accept", b"application/json, text/event-stream"),
    (b"content-type", b"application/json"),
)


class Handshake(NamedTuple):
    """How a session was opened, and when it was last used."""

    initialize: bytes
    used: float


class HandshakeManager(StreamableHTTPSessionManager):
    """The session manager of the SDK, with at most `MOST_OPEN` idle transports.

    `may_suspend` returns whether nothing of a session needs its transport: no request is open, no
    call runs.
    """

    def __init__(self, *, may_suspend: Callable[[str], bool], **options: Any) -> None:
        super().__init__(**options)
        self._may_suspend = may_suspend
        # The session that was used longest ago comes first.
        self._handshakes: dict[str, Handshake] = {}
        self._resuming = anyio.Lock()

    async def _handle_stateful_request(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id = Headers(scope=scope).get(SESSION_HEADER)
        if session_id is None:
            await self._open_session(scope, receive, send)
        else:
            handshake = self._find_handshake(session_id)
            if handshake is not None:
                await self._resume(session_id, handshake, scope)
            await super()._handle_stateful_request(scope, receive, send)
            if scope["method"] == "DELETE":
                self._handshakes.pop(session_id, None)
        await self._suspend_idle()

    async def _open_session(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, opened = bytearray(), list[str]()

        async def read() -> Message:
            message = await receive()
            if len(body) <= _MOST_BYTES:
                body.extend(message.get("body", b""))
            return message

        async def answer(message: Message) -> None:
            if message["type"] == "http.response.start" and message["status"] < 400:
                session_id = Headers(raw=message["headers"]).get(SESSION_HEADER)
                opened.extend([session_id] if session_id is not None else [])
            await send(message)

        await super()._handle_stateful_request(scope, read, answer)
        if opened and len(body) <= _MOST_BYTES:
            self._handshakes[opened[0]] = Handshake(bytes(body), anyio.current_time())
            self._limit_handshakes()

    def _find_handshake(self, session_id: str) -> Handshake | None:
        """Return the handshake of a session, marked as used now; None if there is none, or if the
        session has been idle for too long.
        """
        handshake = self._handshakes.pop(session_id, None)
        now, limit = anyio.current_time(), self.session_idle_timeout
        if handshake is None:
            return None
        is_open = session_id in self._server_instances
        if not is_open and limit is not None and now - handshake.used > limit:
            return None
        self._handshakes[session_id] = handshake = handshake._replace(used=now)
        return handshake

    def _limit_handshakes(self) -> None:
        """Forget sessions without a transport while there are too many, oldest first. Clients start
        a new session when theirs is not found.
        """
        if self.max_sessions is None or len(self._handshakes) <= self.max_sessions:
            return
        suspended = (
            handshake for handshake in self._handshakes if handshake not in self._server_instances
        )
        forgotten = next(suspended, None)
        if forgotten is not None:
            del self._handshakes[forgotten]

    async def _resume(self, session_id: str, handshake: Handshake, scope: Scope) -> None:
        """Open a transport for the session, unless it has one."""
        async with self._resuming:
            if session_id in self._server_instances:
                return
            transport = StreamableHTTPServerTransport(
                mcp_session_id=session_id,
                is_json_response_enabled=self.json_response,
                security_settings=self.security_settings,
                retry_interval=self.retry_interval,
                idle_timeout=self.session_idle_timeout,
            )
            self._server_instances[session_id] = transport
            initialize = _replay(scope, handshake.initialize)
            await self._serve_opening_request(transport, *initialize, _discard_message)
            initialized = _replay(scope, _INITIALIZED, session_id)
            await transport.handle_request(*initialized, _discard_message)

    async def _suspend_idle(self) -> None:
        """Close the transports of idle sessions, all but those of the sessions used last."""
        live = [handshake for handshake in self._handshakes if handshake in self._server_instances]
        for session_id in live[: max(0, len(live) - MOST_OPEN)]:
            transport = self._server_instances.get(session_id)
            if transport is not None and self._may_suspend(session_id):
                await self._discard_session(session_id, transport)

    async def _discard_session(
        self, session_id: str, transport: StreamableHTTPServerTransport
    ) -> None:
        current = self._server_instances.get(session_id)
        await super()._discard_session(session_id, transport)
        if current is not None and current is not transport:
            # The session was resumed before its earlier transport had ended.
            self._server_instances[session_id] = current


def _replay(scope: Scope, body: bytes, session_id: str | None = None) -> tuple[Scope, Receive]:
    """Return a POST request with this body, in the name of the client of the current request."""
    session_headers = [] if session_id is None else [(SESSION_HEADER.encode(), session_id.encode())]
    parts = [body]

    async def receive() -> Message:
        if parts:
            return {"type": "http.request", "body": parts.pop(), "more_body": False}
        await anyio.sleep_forever()
        raise AssertionError

    return {**scope, "method": "POST", "headers": [*_HEADERS, *session_headers]}, receive


async def _discard_message(message: Message) -> None:
    del message
