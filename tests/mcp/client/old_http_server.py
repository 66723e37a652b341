"""A server of protocol 2024-11-05 over HTTP, written without the SDK: JSON-RPC by POST, a session
header, and answers as JSON or as events.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, NamedTuple

_TOOL = {"name": "add", "description": "Adds.", "inputSchema": {"type": "object"}}


class HttpRequest(NamedTuple):
    """What the client sent."""

    method: str
    headers: dict[str, str]
    body: Any


class OldHttpServer:
    """Answers one client; `requests` has what it sent. `events`: answers come as events."""

    session, token = "session-1", "secret-token"

    def __init__(self, *, events: bool, strict: bool) -> None:
        """With `strict`, a request without a session is refused before its method is looked at."""
        self.requests: list[HttpRequest] = []
        self._events = events
        self._strict = strict
        self.port = 0

    @asynccontextmanager
    async def serve(self) -> AsyncIterator[str]:
        """Listen on loopback; yields the URL."""
        server = await asyncio.start_server(self._connection, "127.0.0.1", 0)
        self.port = server.sockets[0].getsockname()[1]
        try:
            yield f"http://127.0.0.1:{self.port}/mcp"
        finally:
            server.close()

    async def _connection(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value for name, _, value in (one.partition(": ") for one in lines)}
        body = await reader.readexactly(int(headers.get("content-length", "0")))
        request = HttpRequest(first.split()[0], headers, json.loads(body) if body else None)
        self.requests.append(request)
        status, more, answer = self._answer(request)
        text = b"" if answer is None else json.dumps(answer).encode()
        kind = "application/json"
        if self._events and text:
            kind, text = "text/event-stream", b"event: message\ndata: " + text + b"\n\n"
        writer.write(
            f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(text)}\r\n"
            f"{more}Connection: close\r\n\r\n".encode()
            + text
        )
        await writer.drain()
        writer.close()

    def _answer(self, request: HttpRequest) -> tuple[str, str, Any]:
        if request.headers.get("authorization") != f"Bearer {self.token}":
            return "401 Unauthorized", "", None
        if request.method != "POST":
            return ("200 OK" if request.method == "DELETE" else "405 Not Allowed"), "", None
        begins = request.body.get("method") == "initialize"
        if not begins and self._strict and request.headers.get("mcp-session-id") != self.session:
            lost = "mcp-session-id" in request.headers
            return ("404 Not Found" if lost else "400 Bad Request"), "", None
        if "id" not in request.body:
            return "202 Accepted", "", None
        result = self._result(request.body["method"], request.body.get("params") or {})
        given = {"error": {"code": -32601, "message": "unknown"}} if result is None else result
        more = f"Mcp-Session-Id: {self.session}\r\n" if begins else ""
        return "200 OK", more, {"jsonrpc": "2.0", "id": request.body["id"], **given}

    def _result(self, method: str, params: dict[str, Any]) -> dict[str, Any] | None:
        if method == "initialize":
            about = {"name": "old", "version": "1"}
            given = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}}}
            return {"result": {**given, "serverInfo": about}}
        if method == "tools/list":
            return {"result": {"tools": [_TOOL]}}
        if method == "tools/call":
            total = params["arguments"]["a"] + params["arguments"]["b"]
            return {"result": {"content": [{"type": "text", "text": str(total)}]}}
        return None
