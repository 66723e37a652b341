"""The head of a request to the proxy: `CONNECT host:port`, or a request for an absolute URL."""

from __future__ import annotations

import re
import socket
from typing import Final, NamedTuple
from urllib.parse import urlsplit

from handrail.core.names.hosts import split_host

MAX_HEAD: Final = 32 << 10
_END: Final = b"\r\n\r\n"
_LINE: Final = re.compile(rb"([A-Z]{1,20}) ([!-~]{1,8192}) HTTP/1\.[01]")
_HTTP_PORT: Final = 80
_HTTPS_PORT: Final = 443
# Meant for the proxy, or set by it.
_DROPPED: Final = (b"proxy-", b"connection:", b"host:", b"keep-alive:")


class BadRequest(Exception):
    """The request cannot be understood."""


class ProxyRequest(NamedTuple):
    """Where a request goes. `head` is sent to the host first; empty for CONNECT. `rest` follows."""

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
    method, target = line[1], line[2].decode("ascii")
    try:
        if method == b"CONNECT":
            host, port = split_host(target)
            return ProxyRequest(host, port or _HTTPS_PORT, True, b"", rest)
        return _plain(method, target, fields, rest)
    except ValueError as error:
        raise BadRequest(f"the target is invalid: {error}") from error


def _plain(method: bytes, target: str, fields: list[bytes], rest: bytes) -> ProxyRequest:
    """A request in absolute form, as the host expects it, for this one exchange."""
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
