"""A model provider on loopback that gives the replies of a test, in four wire formats."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Self

from handrail.models.scripted.replies import ProviderFault, ReplyQueue, ScriptedReply
from handrail.models.scripted.streams import ScriptedCall, ScriptedMessage
from handrail.testing.model import ScriptedResponse, shape_response

_MAX_BODY: Final = 64 * 1024 * 1024
_HEADER_S: Final = 30.0
_GEMINI_STREAM: Final = ":streamGenerateContent"
# The end of a request's path, without its query, by wire.
_PATHS: Final[Mapping[str, str]] = {
    "/chat/completions": "openai-chat",
    "/responses": "openai-responses",
    "/messages": "anthropic",
    _GEMINI_STREAM: "gemini",
    ":generateContent": "gemini",
}
_BASES: Final[Mapping[str, str]] = {
    "openai-chat": "/v1",
    "openai-responses": "/v1",
    "anthropic": "",
    "gemini": "/v1beta",
}
# Formats in which a request may ask for a whole response, as `shape_response` names them.
_WHOLE: Final[Mapping[str, str]] = {
    "openai-chat": "openai",
    "openai-responses": "openai-responses",
    "anthropic": "anthropic",
    "gemini": "gemini",
}
_PINGS: Final[Mapping[str, bytes]] = {
    "anthropic": b'event: ping\ndata: {"type": "ping"}\n\n',
    "openai-responses": b'event: keepalive\ndata: {"type": "keepalive"}\n\n',
}


@dataclass(frozen=True, slots=True)
class ReceivedRequest:
    """A request as it arrived: its wire format, path, headers (lower case) and body."""

    wire: str
    path: str
    headers: Mapping[str, str]
    body: dict[str, Any]


class FakeProvider:
    """A server on loopback that streams these replies, one per request, and then "done".

    A reply is what `says`, `calls` and `together` make, a `ScriptedMessage`, or a `ProviderFault`,
    which fails the next request once. `requests` has the requests, `tokens` the tokens that were
    reported. `chunk` is the number of characters in a delta, `pace_s` the time between two events.
    With `chop` the stream is sent in pieces of this many bytes. With `key`, requests without that
    key get 401.
    """

    def __init__(
        self,
        replies: Iterable[ScriptedResponse | ScriptedMessage | ProviderFault] = (),
        *,
        chunk: int = 20,
        pace_s: float = 0.0,
        chop: int | None = None,
        key: str | None = None,
    ) -> None:
        self._queue = ReplyQueue(map(to_entry, replies), chunk=chunk)
        self._pace_s = pace_s
        self._chop = chop
        self._key = key
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self.requests: list[ReceivedRequest] = []

    @property
    def tokens(self) -> Mapping[str, int]:
        """The tokens that were reported so far: `input` and `output`."""
        return self._queue.tokens

    @property
    def port(self) -> int:
        """The port that the server listens on."""
        if self._server is None:
            raise RuntimeError("the server is not open: use it with `async with`")
        return int(self._server.sockets[0].getsockname()[1])

    def base_url(self, wire: str) -> str:
        """The base URL to configure for a wire format."""
        return f"http://127.0.0.1:{self.port}{_BASES[wire]}"

    def add(self, *replies: ScriptedResponse | ScriptedMessage | ProviderFault) -> None:
        """Append replies."""
        self._queue.entries.extend(map(to_entry, replies))

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_: object) -> None:
        server, self._server = self._server, None
        if server is not None:
            server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if server is not None:
            await server.wait_closed()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        if task is not None:
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, TimeoutError, asyncio.CancelledError):
            pass
        finally:
            writer.transport.abort()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        async with asyncio.timeout(_HEADER_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
            first, *lines = head.split("\r\n")
            path = first.split(" ")[1]
            pairs = [line.split(":", 1) for line in lines if ":" in line]
            headers = {name.strip().lower(): value.strip() for name, value in pairs}
            size = int(headers.get("content-length", "0"))
            body = await reader.readexactly(size) if size <= _MAX_BODY else b""
        await self._send(writer, *self._answer(path, headers, body))

    def _answer(
        self, path: str, headers: Mapping[str, str], body: bytes
    ) -> tuple[ScriptedReply, str]:
        plain = path.partition("?")[0]
        wire = next((one for end, one in _PATHS.items() if plain.endswith(end)), None)
        try:
            asked = json.loads(body)
        except ValueError:
            asked = None
        if wire is None or not isinstance(asked, dict):
            return _error(404 if wire is None else 400, "there is no such resource"), ""
        self.requests.append(ReceivedRequest(wire, path, headers, asked))
        if self._key is not None and not _has_key(headers, self._key):
            return _error(401, "invalid key"), wire
        streams = plain.endswith(_GEMINI_STREAM) or asked.get("stream") is True
        if not streams:
            return self._whole_reply(wire), wire
        return self._queue.answer(wire, body), wire

    def _pieces(self, chunks: list[bytes]) -> list[bytes]:
        if self._chop is None:
            return chunks
        data = b"".join(chunks)
        return [data[at : at + self._chop] for at in range(0, len(data), self._chop)]

    def _whole_reply(self, wire: str) -> ScriptedReply:
        """Return the next message as one response, for requests that do not ask for a stream."""
        message, number = self._queue.take_message(), len(self.requests)
        calls = tuple((one.name, json.loads(one.arguments_json)) for one in message.calls)
        said = ScriptedResponse(message.text, calls)
        ids = [f"call_{number}_{position}" for position in range(len(said.calls))]
        body = shape_response(_WHOLE[wire], said, ids, f"response_{number}")
        headers = {"content-type": "application/json"}
        return ScriptedReply(200, headers, [json.dumps(body).encode()])

    async def _send(self, writer: asyncio.StreamWriter, reply: ScriptedReply, wire: str) -> None:
        await asyncio.sleep(reply.delay_s)
        headers = {**reply.headers, "transfer-encoding": "chunked", "connection": "close"}
        lines = [f"{name}: {value}\r\n" for name, value in headers.items()]
        writer.write(f"HTTP/1.1 {reply.status} Scripted\r\n{''.join(lines)}\r\n".encode("latin-1"))
        for chunk in self._pieces(reply.chunks):
            await _write(writer, chunk)
            if self._pace_s:
                await asyncio.sleep(self._pace_s)
        if reply.then == "end":
            writer.write(b"0\r\n\r\n")
            await writer.drain()
            writer.close()
            await writer.wait_closed()
        while reply.then == "ping":
            await _write(writer, _PINGS.get(wire, b": ping\n\n"))
            await asyncio.sleep(0.01)
        if reply.then == "hang":
            await asyncio.Event().wait()


async def _write(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
    await writer.drain()


def to_entry(
    reply: ScriptedResponse | ScriptedMessage | ProviderFault,
) -> ScriptedMessage | ProviderFault:
    """Return the reply as an entry of the queue."""
    if not isinstance(reply, ScriptedResponse):
        return reply
    return ScriptedMessage(reply.text, tuple(ScriptedCall(*call) for call in reply.calls))


def _has_key(headers: Mapping[str, str], key: str) -> bool:
    given = {headers.get("x-api-key"), headers.get("x-goog-api-key"), headers.get("authorization")}
    return key in given or f"Bearer {key}" in given


def _error(status: int, message: str) -> ScriptedReply:
    word = {400: "invalid_request_error", 401: "authentication_error", 404: "not_found_error"}
    error = {"type": word[status], "message": message}
    body = json.dumps({"type": "error", "error": error}).encode()
    return ScriptedReply(status, {"content-type": "application/json"}, [body])
