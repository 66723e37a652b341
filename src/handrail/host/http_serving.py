"""Runs Handrail's own HTTP servers: the listening socket, the settings of uvicorn, and the signals
that stop a server.

Needs uvicorn, which the extras `mcp` and `ui` install.
"""

from __future__ import annotations

import ipaddress
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from handrail.host import messages
from handrail.host.stop_signals import stop_on_signal

_MAX_CONNECTIONS: Final = 512
# The share of this process's file descriptors that connections may use; the server's own work needs
# the rest.
_SHARE: Final = 0.5
_MAX_WAITING: Final = 2048
# Time limit for the next request head on a connection.
_REQUEST_S: Final = 10.0
_SHUTDOWN_S: Final = 3


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


def server_url(listening: socket.socket, path: str) -> str:
    """Return the URL for clients."""
    return f"http://{_authority(*listening.getsockname()[:2])}{path}"


def own_hosts(listening: socket.socket) -> set[str]:
    """Return the values of the Host header that mean this server on this machine."""
    port = listening.getsockname()[1]
    names = {_authority(host, port) for host in ("127.0.0.1", "localhost", "::1")}
    return names | {_authority(*listening.getsockname()[:2])}


def _authority(host: str, port: int) -> str:
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _max_connections() -> int:
    """The limit for open connections, which leaves file descriptors for the server's own work."""
    files, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if files == resource.RLIM_INFINITY:
        return _MAX_CONNECTIONS
    return max(1, min(_MAX_CONNECTIONS, int(files * _SHARE)))


async def serve_app(
    app: Any, listening: socket.socket, on_stop: Callable[[], None] = lambda: None
) -> None:
    """Serve an ASGI application on the socket until a signal stops it. `on_stop` is called then and
    ends the responses that would never end by themselves.
    """
    server = _Server(
        uvicorn.Config(
            app,
            http=_Protocol,
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            date_header=False,
            # The number of connections accepted in one pass of the event loop; those over the limit
            # are closed a few passes later.
            backlog=max(1, _max_connections() // 16),
            timeout_graceful_shutdown=_SHUTDOWN_S,
        )
    )

    def stop() -> None:
        server.end()
        on_stop()

    with stop_on_signal(stop):
        await server.serve(sockets=[listening])


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for listening in sockets or ():
            # Connections that wait in the backlog take no file descriptor of this process.
            listening.listen(_MAX_WAITING)

    def end(self) -> None:
        self.should_exit = True

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        # uvicorn would raise captured signals again before the cleanup.
        yield


class _Protocol(H11Protocol):
    """Closes connections over the limit, and those that send no request within a timeout, so that
    idle connections do not use up the limit.
    """

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > _max_connections():
            transport.close()
        else:
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
