"""Receives the result of a login: the browser's request to a port of this machine."""

from __future__ import annotations

import asyncio
import re
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from secrets import compare_digest
from typing import Final
from urllib.parse import parse_qsl

from mcp.shared.auth import AuthorizationCodeResult

_HOST: Final = "127.0.0.1"
_PATH: Final = "/callback"
_MAX_HEAD: Final = 16 << 10
_HEAD_S: Final = 10.0
_MOST_FIELDS: Final = 50
_FIELDS: Final = ("code", "state", "iss", "error")
_ERROR_CODE: Final = re.compile(r"[A-Za-z_]{1,40}")


class CallbackError(Exception):
    """Raised if the browser's request does not complete the login; the message is shown to the user."""


class CallbackListener:
    """Accepts exactly one request for the callback page, valid or not. Before `expect` is called, the page
    does not exist.
    """

    def __init__(self) -> None:
        self._state: str | None = None
        self._found: asyncio.Future[AuthorizationCodeResult] = (
            asyncio.get_running_loop().create_future()
        )
        self._server: asyncio.Server | None = None
        self._port = 0

    @property
    def url(self) -> str:
        """The URL to which the authorization server redirects the browser."""
        return f"http://{_HOST}:{self._port}{_PATH}"

    def expect(self, state: str) -> None:
        """Accept a request from now on; it must have this state."""
        self._state = state

    async def wait(self) -> AuthorizationCodeResult:
        """The values of the request; raises CallbackError if it does not belong to this login."""
        return await self._found

    async def open(self) -> None:
        """Listen on a port that the system chooses."""
        self._server = await asyncio.start_server(self._answer, _HOST, 0, limit=_MAX_HEAD)
        self._port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Stop listening."""
        if self._server is not None:
            self._server.close()
        self._found.cancel()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        unreadable = (ValueError, asyncio.IncompleteReadError, asyncio.LimitOverrunError)
        with suppress(OSError, TimeoutError, *unreadable):
            async with asyncio.timeout(_HEAD_S):
                head = (await reader.readuntil(b"\r\n\r\n")).decode("ascii")
                status, text = self._take(head)
                writer.write(_page(status, text))
                await writer.drain()
        writer.close()

    def _take(self, head: str) -> tuple[str, str]:
        """Handle a request; returns the status and the text of the answer."""
        request, *lines = head.split("\r\n")
        method, target, *_ = [*request.split(" "), "", ""]
        path, _, query = target.partition("?")
        # Requests by pages of other sites have another Host or another Sec-Fetch-Dest.
        hosts, uses = _header(lines, "host"), _header(lines, "sec-fetch-dest")
        is_callback = method == "GET" and path == _PATH and hosts == [f"{_HOST}:{self._port}"]
        is_callback = is_callback and uses in ([], ["document"])
        if not is_callback or self._state is None or self._found.done():
            return "404 Not Found", "There is nothing here."
        if self._server is not None:
            self._server.close()
        try:
            self._found.set_result(_read_answer(query, self._state))
        except CallbackError as error:
            self._found.set_exception(error)
            return "400 Bad Request", f"The login has failed: {error}."
        return "200 OK", "You can close this page and return to the terminal."


@asynccontextmanager
async def open_callback() -> AsyncGenerator[CallbackListener]:
    """Open a listener, which is closed after the block."""
    listener = CallbackListener()
    await listener.open()
    try:
        yield listener
    finally:
        listener.close()


def _header(lines: Sequence[str], name: str) -> list[str]:
    """Return the values of all headers with this name."""
    pairs = (line.partition(":") for line in lines)
    return [value.strip() for key, _, value in pairs if key.lower() == name]


def _read_answer(query: str, state: str) -> AuthorizationCodeResult:
    try:
        pairs = parse_qsl(query, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError:
        raise CallbackError("the answer has too many values") from None
    parameters: Mapping[str, str] = dict(pairs)
    names = [name for name, _ in pairs if name in _FIELDS]
    if len(names) != len(set(names)):
        raise CallbackError("the answer names a value twice")
    if not compare_digest(parameters.get("state", "").encode(), state.encode()):
        raise CallbackError("the answer does not belong to this login")
    if "error" in parameters:
        shown = (
            parameters["error"] if _ERROR_CODE.fullmatch(parameters["error"]) else "unknown error"
        )
        raise CallbackError(f"the authorization server answered {shown}")
    if not parameters.get("code"):
        raise CallbackError("the answer has no code")
    return AuthorizationCodeResult(code=parameters["code"], state=state, iss=parameters.get("iss"))


def _page(status: str, text: str) -> bytes:
    body = text.encode()
    return (
        f"HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n"
        "X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    ).encode() + body
