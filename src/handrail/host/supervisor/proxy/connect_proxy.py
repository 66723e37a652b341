"""The proxy of one command: connects to the hosts of a list, each by an address that was checked.

A name is resolved once for each connection, and the connection goes to the address that was checked:
a name that changes its address meanwhile leads nowhere else.
"""

from __future__ import annotations

import ipaddress
import select
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final

from handrail.core.names.hosts import HostList
from handrail.core.ports.processes import Connection
from handrail.host.supervisor import messages
from handrail.host.supervisor.proxy.http_head import BadRequest, ProxyRequest, read_request

_PATIENCE_S: Final = 30.0
_MOST_CLIENTS: Final = 64
# Records of one command; further connections are made, or refused, all the same.
_MOST_RECORDS: Final = 200
_CHUNK: Final = 1 << 16
_BACKLOG: Final = 64

# Addresses of IPv4 as a gateway of an IPv6 network translates them.
_TRANSLATED: Final = ipaddress.IPv6Network("64:ff9b::/96")
# Further ways to write an address of IPv4 (compatible, translated, local translation, 6to4), and
# addresses of a site; not all versions of Python know them.
_LOCAL: Final = tuple(
    map(
        ipaddress.IPv6Network,
        ("::/96", "::ffff:0:0:0/96", "64:ff9b:1::/48", "2002::/16", "fec0::/10"),
    )
)

Resolve = Callable[[str, int], Sequence[str]]


class ConnectProxy:
    """Serves connections of one command until it is closed. Thread-safe."""

    def __init__(self, allowed: Sequence[str], resolve: Resolve | None = None) -> None:
        self._allowed = HostList(allowed)
        self._resolve = resolve or _addresses
        self._lock = threading.Lock()
        self._records: dict[Connection, None] = {}
        self._sockets: set[socket.socket] = set()
        self._closed = False

    @property
    def records(self) -> tuple[Connection, ...]:
        """What was asked for, each once, in the order of the first request."""
        with self._lock:
            return tuple(self._records)

    def record_refusal(self, host: str, port: int, why: str) -> None:
        """Record a connection that was refused without reaching the proxy."""
        self._record(Connection(host, port, why))

    def listen(self, listener: socket.socket) -> None:
        """Serve a bound socket's connections in a thread; takes ownership of the socket."""
        listener.listen(_BACKLOG)
        self._start(self._accept, listener)

    def serve(self, client: socket.socket) -> None:
        """Serve one connection in a thread; takes ownership of the socket."""
        self._start(self._serve, client)

    def close(self) -> None:
        """End all connections."""
        with self._lock:
            self._closed = True
            ended = list(self._sockets)
        for one in ended:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _start(self, work: Callable[[socket.socket], None], handle: socket.socket) -> None:
        with self._lock:
            if self._closed or len(self._sockets) >= _MOST_CLIENTS:
                handle.close()
                return
            self._sockets.add(handle)
        threading.Thread(target=self._run, args=(work, handle), daemon=True).start()

    def _run(self, work: Callable[[socket.socket], None], handle: socket.socket) -> None:
        try:
            with suppress(OSError):
                work(handle)
        finally:
            with self._lock:
                self._sockets.discard(handle)
            handle.close()

    def _accept(self, listener: socket.socket) -> None:
        while not self._closed:
            client, _ = listener.accept()
            self.serve(client)

    def _serve(self, client: socket.socket) -> None:
        client.settimeout(_PATIENCE_S)
        try:
            request = read_request(client)
        except BadRequest as error:
            client.sendall(_answer("400 Bad Request", str(error)))
            return
        server = self._connect(request)
        if isinstance(server, str):
            self._record(Connection(request.host, request.port, server))
            text = f"{request.host}:{request.port}: {server}"
            client.sendall(_answer("403 Forbidden", text))
            return
        with server:
            self._record(Connection(request.host, request.port))
            if request.tunnel:
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            server.sendall(request.head + request.rest)
            self._relay(client, server)

    def _connect(self, request: ProxyRequest) -> socket.socket | str:
        """A connection to the requested host, or why there is none."""
        host, port = request.host, request.port
        if not self._allowed.allows(host, port):
            return messages.HOST_NOT_LISTED
        try:
            addresses = self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            return messages.HOST_NOT_RESOLVED.format(error=error)
        if not self._allowed.names(host, port):
            addresses = [one for one in addresses if _is_public(one)]
        if not addresses:
            return messages.HOST_IS_LOCAL
        for address in addresses:
            with suppress(OSError):
                return socket.create_connection((address, port), timeout=_PATIENCE_S)
        return messages.HOST_NOT_REACHED

    def _relay(self, client: socket.socket, server: socket.socket) -> None:
        """Copy both ways until both sides have ended or the proxy is closed."""
        with self._lock:
            self._sockets.add(server)
        other = {client: server, server: client}
        reading = [client, server]
        try:
            while reading and not self._closed:
                ready, _, _ = select.select(reading, [], [], _PATIENCE_S)
                for source in ready:
                    data = source.recv(_CHUNK)
                    if data:
                        other[source].sendall(data)
                        continue
                    reading.remove(source)
                    with suppress(OSError):
                        other[source].shutdown(socket.SHUT_WR)
        finally:
            with self._lock:
                self._sockets.discard(server)

    def _record(self, record: Connection) -> None:
        with self._lock:
            if len(self._records) < _MOST_RECORDS:
                self._records.setdefault(record)


def _is_public(text: str) -> bool:
    """Whether an address belongs neither to this machine nor to its network."""
    address = ipaddress.ip_address(text)
    if isinstance(address, ipaddress.IPv6Address) and address in _TRANSLATED:
        address = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
    if any(address in network for network in _LOCAL):
        return False
    return address.is_global and not address.is_multicast


def _addresses(host: str, port: int) -> list[str]:
    found: Any = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [entry[4][0] for entry in found]


def _answer(status: str, text: str) -> bytes:
    body = f"handrail: {text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body
