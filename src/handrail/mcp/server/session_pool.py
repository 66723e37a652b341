"""The client sessions of an HTTP endpoint: finds the session of a request, suspends sessions that
are idle and closes those that have been idle for long.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from mcp import MCPError
from mcp.server.context import ServerRequestContext
from mcp_types import INTERNAL_ERROR
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from handrail.host.processes.free_memory import return_free_memory
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.handshakes import SESSION_HEADER
from handrail.mcp.server.session import ClientSession

NAME_HEADER: Final = "handrail-session"
IDLE_S: Final = 30 * 60.0
MOST_SESSIONS: Final = 2000
# A session with a runtime has a thread, a connection to the store and open directories.
MOST_RUNTIMES: Final = 64
IDLE_RUNTIMES: Final = 8
_LOOK_S: Final = 30.0
_TRIM_EVERY: Final = 16


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
        most_runtimes: int = MOST_RUNTIMES,
        idle_runtimes: int = IDLE_RUNTIMES,
        clock: Callable[[], float] | None = None,
    ) -> None:
        self._offer = offer
        self._most = most
        self._most_runtimes = most_runtimes
        self._idle_runtimes = idle_runtimes
        self._idle_s = idle_s
        self._clock = clock or asyncio.get_running_loop().time
        self._sessions: dict[str, ClientSession] = {}
        self._used: dict[str, float] = {}
        self._open: dict[str, int] = {}
        # Sessions that could not be suspended, and when they had last been used.
        self._kept: dict[str, float] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._suspended = 0
        self._suspending: asyncio.Task[None] | None = None

    def find(self, ctx: ServerRequestContext[Any, Any]) -> ClientSession:
        """Return the session of a request; creates one for a new client."""
        headers = ctx.request.headers if ctx.request is not None else {}
        modern = ctx.protocol_version in MODERN_PROTOCOL_VERSIONS
        session_id = None if modern else headers.get(SESSION_HEADER)
        key = (
            f"id {session_id}"
            if session_id is not None
            else _client_key(ctx, headers.get(NAME_HEADER))
        )
        session = self._sessions.get(key)
        if session is None:
            if len(self._sessions) >= self._most:
                self._make_room(self._sessions)
            session = self._sessions[key] = ClientSession(
                self._offer, own_ids=session_id is not None
            )
        self._used[key] = self._clock()
        if not session.is_open:
            self._limit_runtimes()
        return session

    def _limit_runtimes(self) -> None:
        """Start to suspend idle sessions, because one more runtime will be opened."""
        opened = [key for key, session in self._sessions.items() if session.is_open]
        enough = sum(map(self._may_suspend, opened)) < self._idle_runtimes
        if enough and len(opened) >= self._most_runtimes:
            self._make_room(opened)
        elif not enough and self._suspending is None:
            self._suspending = asyncio.create_task(self.suspend_idle())

    def _make_room(self, keys: Iterable[str]) -> None:
        """Close the session of these that has been idle longest and has no jobs."""
        idle = [key for key in keys if self._is_idle(key) and not self._sessions[key].has_jobs]
        if not idle:
            raise MCPError(INTERNAL_ERROR, "too many clients are connected; try again later")
        oldest = min(idle, key=self._used.__getitem__)
        del self._used[oldest]
        self._kept.pop(oldest, None)
        ending = asyncio.create_task(self._sessions.pop(oldest).aclose())
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def is_suspended(self, session_id: str) -> bool:
        """Return whether no request of a session is open and it has no runtime."""
        key = f"id {session_id}"
        session = self._sessions.get(key)
        return key not in self._open and (session is None or not (session.is_open or session.busy))

    def _is_idle(self, key: str) -> bool:
        return not self._sessions[key].busy and key not in self._open

    def _may_suspend(self, key: str) -> bool:
        failed_before = self._kept.get(key) == self._used[key]
        return self._sessions[key].is_open and self._is_idle(key) and not failed_before

    async def suspend_idle(self) -> None:
        """Close the runtimes of the sessions that have been idle longest, all but a few. Their
        next call opens a runtime that continues the session.
        """
        try:
            for key in self._suspendable():
                used, session = self._used[key], self._sessions[key]
                if await session.suspend():
                    await self._count_suspended()
                elif key in self._sessions:
                    self._kept[key] = used
        finally:
            self._suspending = None

    async def _count_suspended(self) -> None:
        self._suspended += 1
        if self._suspended % _TRIM_EVERY == 0:
            await asyncio.to_thread(return_free_memory)

    def _suspendable(self) -> Iterator[str]:
        """Yield the sessions to suspend, one after the other, until few enough idle ones are open."""
        while True:
            idle = [key for key in self._sessions if self._may_suspend(key)]
            if len(idle) < self._idle_runtimes:
                return
            yield min(idle, key=self._used.__getitem__)

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
        ending = self._ending | ({self._suspending} if self._suspending is not None else set())
        if ending:
            await asyncio.wait(ending)

    async def _close(self, key: str) -> None:
        session = self._sessions.pop(key, None)
        self._used.pop(key, None)
        self._kept.pop(key, None)
        if session is not None:
            await session.aclose()


def _client_key(ctx: ServerRequestContext[Any, Any], chosen: str | None) -> str:
    params = ctx.session.client_params
    client = params.client_info.name if params is not None else ""
    return f"name {client!r} {chosen!r}"
