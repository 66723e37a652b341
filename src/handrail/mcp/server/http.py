"""MCP over HTTP: one endpoint per workspace, behind the guard."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Collection, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Any, Final

import anyio
import uvicorn
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp.server.transport_security import TransportSecuritySettings
from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from handrail.mcp.server import messages
from handrail.mcp.server.config import ServerConfig
from handrail.mcp.server.guard import APPROVES, Guard
from handrail.mcp.server.serve import stop_on_signal
from handrail.mcp.server.session_pool import IDLE_S, SESSION_HEADER, SessionPool
from handrail.mcp.server.tokens import Tokens
from handrail.mcp.server.tool_server import Context, ToolServer
from handrail.mcp.server.wire import MAX_BYTES

PATH: Final = "/mcp"
_MOST_CONNECTIONS: Final = 512
_MOST_HANDSHAKES: Final = 2000
# Time limit for the next request head on a connection.
_REQUEST_S: Final = 10.0
_GOODBYE_S: Final = 3


@dataclass(frozen=True, slots=True)
class HttpAccess:
    """Who may use the server."""

    tokens: Tokens
    hosts: Collection[str] = ()  # in addition to the server's own addresses
    origins: Collection[str] = ()  # in addition to the server's own URLs


def listen(address: str, *, exposed: bool = False) -> socket.socket:
    """Listen on `HOST:PORT`.

    Raises `invalid_arguments` for an invalid address, and for one that other machines can reach
    unless `exposed` is true.
    """
    host, separator, port = address.rpartition(":")
    host = host.removeprefix("[").removesuffix("]") or "127.0.0.1"
    if not separator or not port.isdecimal() or int(port) > 65535:
        raise messages.NOT_AN_ADDRESS.error(address=address, field="http")
    try:
        found = socket.getaddrinfo(host, int(port), type=socket.SOCK_STREAM)
    except OSError as error:
        raise messages.UNKNOWN_HOST.error(host=host, error=error) from error
    family, _, _, _, place = found[0]
    if not exposed and not ipaddress.ip_address(place[0]).is_loopback:
        raise messages.EXPOSED_ADDRESS.error(host=host, field="http")
    try:
        listening = socket.create_server((place[0], place[1]), family=family, backlog=128)
    except OSError as error:
        raise messages.CANNOT_LISTEN.error(address=address, error=error) from error
    # Inherited by accepted connections: Nagle's algorithm would delay responses.
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return listening


def server_url(listening: socket.socket, path: str = PATH) -> str:
    """Return the URL for clients."""
    return f"http://{_authority(*listening.getsockname()[:2])}{path}"


async def serve_http(
    offers: Mapping[str, ServerConfig], door: HttpAccess, listening: socket.socket
) -> None:
    """Serve `/mcp` (the configuration named "") and `/mcp/NAME` until a signal stops it."""
    async with AsyncExitStack() as ends:
        endpoints = {}
        for name, offer in offers.items():
            endpoint = endpoints[f"{PATH}/{name}".rstrip("/")] = _Endpoint(offer)
            await endpoint.enter(ends)
        app = add_guard(_router(endpoints), door, listening)
        server = _Uvicorn(_config(app))
        with stop_on_signal(server.end):
            await server.serve(sockets=[listening])


def add_guard(app: ASGIApp, door: HttpAccess, listening: socket.socket) -> Guard:
    """Wrap the application in the guard for this socket."""
    port = listening.getsockname()[1]
    own = {_authority(host, port) for host in ("127.0.0.1", "localhost", "::1")}
    own.add(_authority(*listening.getsockname()[:2]))
    hosts = own | {host.lower() for host in door.hosts}
    origins = {f"http://{host}" for host in own} | {one.lower() for one in door.origins}
    return Guard(app, door.tokens, hosts, origins)


class _Endpoint:
    """One workspace over HTTP."""

    def __init__(self, offer: ServerConfig) -> None:
        self.sessions = SessionPool(offer)
        server = ToolServer(self.sessions.find, _approves)
        self._manager = StreamableHTTPSessionManager(
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


def _router(endpoints: Mapping[str, _Endpoint]) -> ASGIApp:
    async def route(scope: Scope, receive: Receive, send: Send) -> None:
        endpoint = endpoints.get(scope["path"].rstrip("/"))
        await (endpoint or Response(status_code=404))(scope, receive, send)

    return route


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _config(app: ASGIApp) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=_Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        date_header=False,
        limit_concurrency=_MOST_CONNECTIONS,
        timeout_graceful_shutdown=_GOODBYE_S,
    )


class _Uvicorn(uvicorn.Server):
    def end(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise captured signals again before our cleanup.
        yield


class _Protocol(H11Protocol):
    """Closes a connection without a request after a timeout, so that idle connections do not
    use up the limit.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._await_request(self.cycle)

    def on_response_complete(self) -> None:
        answered = self.cycle
        super().on_response_complete()
        self._await_request(answered)

    def _await_request(self, last: object) -> None:
        self.loop.call_later(_REQUEST_S, self._close_if_silent, last)

    def _close_if_silent(self, last: object) -> None:
        if self.cycle is last:
            self.transport.close()
