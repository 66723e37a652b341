"""The client sessions of an HTTP endpoint: finds the session of a request, closes idle ones."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import INTERNAL_ERROR
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.session import ClientSession

SESSION_HEADER: Final = "mcp-session-id"
NAME_HEADER: Final = "handrail-session"
IDLE_S: Final = 30 * 60.0
MOST_SESSIONS: Final = 64
_LOOK_S: Final = 30.0


class SessionPool:
    """Sessions by key.

    With a handshake the key is the session id of the server. Newer protocol versions have no
    such id: the key is the client's name and the optional header `Handrail-Session`.
    """

    def __init__(
        self,
        offer: ServerConfig,
        *,
        idle_s: float = IDLE_S,
        most: int = MOST_SESSIONS,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._offer = offer
        self._most = most
        self._idle_s = idle_s
        self._clock = clock or asyncio.get_running_loop().time
        self._sessions: dict[str, ClientSession] = {}
        self._used: dict[str, float] = {}
        self._open: dict[str, int] = {}
        self._ending: set[asyncio.Task[None]] = set()

    def find(self, ctx: ServerRequestContext[Any, Any]) -> ClientSession:
        """Return the session of a request; creates one for a new client."""
        headers = ctx.request.headers if ctx.request is not None else {}
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        given = None if modern else headers.get(SESSION_HEADER)
        key = f"id {given}" if given is not None else _client_key(ctx, headers.get(NAME_HEADER))
        session = self._sessions.get(key)
        if session is None:
            self._make_room()
            session = self._sessions[key] = ClientSession(self._offer, own_ids=given is not None)
        self._used[key] = self._clock()
        return session

    def _make_room(self) -> None:
        """At the limit, close the session that has been idle longest."""
        if len(self._sessions) < self._most:
            return
        idle = [key for key in self._sessions if self._is_idle(key)]
        if not idle:
            raise MCPError(INTERNAL_ERROR, "too many clients are connected; try again later")
        oldest = min(idle, key=self._used.__getitem__)
        del self._used[oldest]
        ending = asyncio.create_task(self._sessions.pop(oldest).aclose())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def _is_idle(self, key: str) -> bool:
        return not self._sessions[key].busy and key not in self._open

    @contextmanager
    def using(self, session_id: str | None) -> Iterator[None]:
        """Mark a session as in use while one of its requests is open."""
        key = f"id {session_id}"
        self._open[key] = self._open.get(key, 0) + 1
        try:
            yield
        finally:
            self._open[key] -= 1
            if not self._open[key]:
                del self._open[key]
            if key in self._used:
                self._used[key] = self._clock()

    async def end(self, session_id: str) -> None:
        """Close the session of a client that disconnected."""
        await self._close(f"id {session_id}")

    async def close_idle(self) -> None:
        """Close the sessions whose idle timeout has passed."""
        now = self._clock()
        idle = [
            key
            for key in self._sessions
            if self._is_idle(key) and now - self._used[key] > self._idle_s
        ]
        for key in idle:
            await self._close(key)

    async def watch(self) -> None:
        """Close idle sessions periodically until cancelled."""
        while True:
            await asyncio.sleep(_LOOK_S)
            await self.close_idle()
            await asyncio.to_thread(self._offer.tidy)

    async def aclose(self) -> None:
        """Close all sessions."""
        for key in list(self._sessions):
            await self._close(key)
        if self._ending:
            await asyncio.wait(set(self._ending))

    async def _close(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        self._used.pop(key, None)
        if session is not None:
            await session.aclose()


def _client_key(ctx: ServerRequestContext[Any, Any], chosen: str | None) -> str:
    params = ctx.session.client_params
    client = params.client_info.name if params is not None else ""
    return f"name {client!r} {chosen!r}"
