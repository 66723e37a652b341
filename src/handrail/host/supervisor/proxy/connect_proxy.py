"""The proxy of one command: connects to the hosts of a list, each by an address that was checked.

A name is resolved once per connection, and the connection goes to the address that was checked, so
a name that changes its address meanwhile has no effect.
"""

from __future__ import annotations

import re
import select
import socket
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, Final, NamedTuple
from urllib.parse import urlsplit

from handrail.core.names.hosts import HostList, split_host, suggest_entry
from handrail.core.names.web_urls import is_public_address
from handrail.core.ports.processes import Connection
from handrail.host import messages

MAX_HEAD: Final = 32 << 10
_END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"([A-Z]{1,20}) ([!-~]{1,8192}) HTTP/1\.[01]")
# Servers disagree about other forms: a name before a blank, a continued line, a lone line end.
_FIELD: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\r\n\0]*")
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443
# Headers that are meant for the proxy, or set by it.
_DROPPED: Final = (b"proxy-", b"connection:", b"host:", b"keep-alive:")

_PATIENCE_S: Final = 30.0
_MOST_CLIENTS: Final = 64
# The limit for the records of one command; further connections are served or refused without a
# record.
_MOST_RECORDS: Final = 200
_CHUNK: Final = 1 << 16
_BACKLOG: Final = 64

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
        """Return the requested hosts, each once, in the order of the first request."""
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
        """Return a connection to the requested host, or why there is none."""
        host, port = request.host, request.port
        if not self._allowed.allows(host, port):
            return messages.HOST_NOT_LISTED.format(entry=suggest_entry(host, port))
        try:
            addresses = self._resolve(host, port)
        except (OSError, UnicodeError) as error:
            return messages.HOST_NOT_RESOLVED.format(
                error=getattr(error, "strerror", None) or error
            )
        if not self._allowed.names(host, port):
            addresses = [one for one in addresses if is_public_address(one)]
        if not addresses:
            return messages.HOST_IS_LOCAL.format(entry=suggest_entry(host, port, local=True))
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


def _addresses(host: str, port: int) -> list[str]:
    found: Any = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return [entry[4][0] for entry in found]


def _answer(status: str, text: str) -> bytes:
    body = f"handrail: {text}\n".encode()
    head = f"HTTP/1.1 {status}\r\nContent-Type: text/plain\r\nContent-Length: {len(body)}\r\n"
    return f"{head}Connection: close\r\n\r\n".encode() + body


class BadRequest(Exception):
    """The request is malformed."""


class ProxyRequest(NamedTuple):
    """The destination of a request. `head` (empty for CONNECT), then `rest` is sent to the host."""

    host: str
    port: int
    tunnel: bool
    head: bytes
    rest: bytes


def read_request(client: socket.socket) -> ProxyRequest:
    """Read and parse a head. Raises BadRequest, OSError."""
    data = b""
    while _END not in data:
        chunk = client.recv(MAX_HEAD)
        data += chunk
        if not chunk or len(data) > MAX_HEAD:
            raise BadRequest("the head of the request is incomplete")
    head, _, rest = data.partition(_END)
    first, *fields = head.split(b"\r\n")
    line = _LINE.fullmatch(first)
    if line is None:
        raise BadRequest("the request line is invalid")
    if not all(map(_FIELD.fullmatch, fields)):
        raise BadRequest("a header field is invalid")
    method, target = line[1], line[2].decode("ascii")
    try:
        if method == b"CONNECT":
            host, port = split_host(target)
            return ProxyRequest(host, port or _HTTPS_PORT, True, b"", rest)
        return _plain(method, target, fields, rest)
    except ValueError as error:
        raise BadRequest(f"the target is invalid: {error}") from error


def _plain(method: bytes, target: str, fields: list[bytes], rest: bytes) -> ProxyRequest:
    """Return a request in absolute form, rewritten for the host, for this one exchange."""
    url = urlsplit(target)
    if url.scheme.lower() != "http" or not url.netloc:
        raise ValueError("an absolute http:// URL or CONNECT is needed")
    host, port = split_host(url.netloc)
    path = (url.path or "/") + (f"?{url.query}" if url.query else "")
    kept = [one for one in fields if not one.lower().startswith(_DROPPED)]
    head = [
        b"%s %s HTTP/1.1" % (method, path.encode("ascii")),
        b"Host: %s" % url.netloc.encode("ascii"),
        *kept,
        b"Connection: close",
    ]
    return ProxyRequest(host, port or _HTTP_PORT, False, b"\r\n".join(head) + _END, rest)
