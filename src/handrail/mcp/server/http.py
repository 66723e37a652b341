"""MCP over HTTP: one endpoint per workspace, behind the guard."""

from __future__ import annotations

import socket
from collections.abc import Collection, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Final

import anyio
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from handrail.host.http_serving import own_hosts, serve_app
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.guard import APPROVES, Guard, Tokens
from handrail.mcp.server.handshakes import SESSION_HEADER, HandshakeManager
from handrail.mcp.server.session_pool import IDLE_S, SessionPool
from handrail.mcp.server.stdio import MAX_BYTES
from handrail.mcp.server.tool_server import Context, ToolServer

PATH: Final = "/mcp"
_MOST_HANDSHAKES: Final = 2000


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """Who may use the server."""

    tokens: Tokens
    hosts: Collection[str] = ()  # in addition to the server's own addresses
    origins: Collection[str] = ()  # in addition to the server's own URLs


async def serve_http(
    offers: Mapping[str, ServerConfig], door: HttpAccess, listening: socket.socket
) -> None:
    """Serve `/mcp` (the configuration named "") and `/mcp/NAME` until a signal stops it."""
    async with AsyncExitStack() as ends:
        endpoints = {}
        for name, offer in offers.items():
            endpoint = endpoints[f"{PATH}/{name}".rstrip("/")] = _HttpWorkspace(offer)
            await endpoint.enter(ends)
        app = add_guard(_router(endpoints), door, listening)
        await serve_app(app, listening)


def add_guard(app: ASGIApp, door: HttpAccess, listening: socket.socket) -> Guard:
    """Wrap the application in the guard for this socket."""
    own = own_hosts(listening)
    hosts = own | {host.lower() for host in door.hosts}
    origins = {f"http://{host}" for host in own} | {origin.lower() for origin in door.origins}
    return Guard(app, door.tokens, hosts, origins)


class _HttpWorkspace:
    """One workspace over HTTP."""

    def __init__(self, offer: ServerConfig) -> None:
        self.sessions = SessionPool(offer)
        server = ToolServer(self.sessions.find, _approves)
        self._manager = HandshakeManager(
            may_suspend=self.sessions.is_suspended,
            app=server.sdk,
            # The guard has already checked Host and Origin.
            security_settings=TransportSecuritySettings(enable_dns_rebinding_protection=False),
            session_idle_timeout=IDLE_S,
            max_request_body_size=MAX_BYTES,
            # A session is cheap until a call opens a runtime; `SessionPool` limits those.
            max_sessions=_MOST_HANDSHAKES,
        )

    async def enter(self, ends: AsyncExitStack) -> None:
        ends.push_async_callback(self.sessions.aclose)
        group = await ends.enter_async_context(anyio.create_task_group())
        ends.callback(group.cancel_scope.cancel)
        group.start_soon(self.sessions.watch)
        await ends.enter_async_context(self._manager.run())

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        session_id = Headers(scope=scope).get(SESSION_HEADER)
        leaving = session_id if scope["method"] == "DELETE" else None
        if leaving is not None:
            # Before the response, so that the response means the session is closed.
            await self.sessions.end(leaving)
        with self.sessions.using(session_id):
            await self._manager.handle_request(scope, receive, send)
        if leaving is not None:
            # A call may have reopened the session meanwhile.
            await self.sessions.end(leaving)


def _approves(ctx: Context) -> bool:
    return ctx.request is not None and ctx.request.scope.get(APPROVES) is True


def _router(endpoints: Mapping[str, _HttpWorkspace]) -> ASGIApp:
    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoints.get(scope["path"].rstrip("/"))
        await (endpoint or Response(status_code=404))(scope, receive, send)

    return route
