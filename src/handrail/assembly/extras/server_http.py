"""Connections to MCP servers behind URLs: requests reach only the server's host and port and, with
OAuth, its authorization server; answers are limited in size.
"""

from __future__ import annotations

import asyncio
import fcntl
import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, Final

import httpx2
from mcp.client.streamable_http import streamable_http_client

from handrail.assembly.extras.server_records import server_records
from handrail.config.model import WebTable
from handrail.core.names.web_urls import WebReach, WebUrl, parse_web_url
from handrail.core.problems import ProblemRaised
from handrail.host.resolver import resolve_addresses
from handrail.mcp.client import messages
from handrail.mcp.client.message_limits import MAX_MESSAGE, ValueCounter
from handrail.mcp.client.oauth import REFUSED, SessionAuth, StoredLogin, log_in
from handrail.mcp.client.server_spec import HttpRefusal, NoteRefusal, RemoteServerSpec
from handrail.web import messages as web_messages
from handrail.web.transport import PinningTransport

_REFUSALS: Final = (401, 403)
_SESSION: Final = "Mcp-Session-Id"
# Shorter tokens could be ordinary words of an answer.
_MIN_TOKEN: Final = 8
_HIDDEN: Final = b"[token]"
_LOCK_S: Final = 30.0
_LOCK_PAUSE_S: Final = 0.02


class BoundedTransport(httpx2.AsyncBaseTransport):
    """Limits the size of each message: a whole answer, or one event of a stream.

    Compressed answers are refused, because their size is known too late. The token of a request is
    removed from its answer, which becomes part of the record. A request that is marked with a problem is
    not sent. If an answer refuses the token or the session, `note` is called with the problem that
    `explain` returns for its status; after other answers it is called with None.
    """

    def __init__(
        self,
        inner: httpx2.AsyncBaseTransport,
        limit: int = MAX_MESSAGE,
        *,
        explain: Callable[[int], ProblemRaised] | None = None,
        note: NoteRefusal = lambda refusal: None,
    ) -> None:
        self._inner = inner
        self._limit = limit
        self._explain = explain
        self._note = note

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; reading its answer raises `httpx2.ReadError` beyond the limit."""
        refused = request.extensions.get(REFUSED)
        if isinstance(refused, ProblemRaised):
            self._note(HttpRefusal(refused))
            return httpx2.Response(401, stream=httpx2.ByteStream(b""))
        request.headers["Accept-Encoding"] = "identity"
        answer = await self._inner.handle_async_request(request)
        if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
            await answer.aclose()
            raise httpx2.ReadError("the answer is compressed", request=request)
        calls = request.method == "POST" and _SESSION in request.headers
        lost = calls and answer.status_code == 404
        if (lost or answer.status_code in _REFUSALS) and self._explain is not None:
            self._note(HttpRefusal(self._explain(answer.status_code), lost))
        elif answer.is_success:
            self._note(None)
        events = answer.headers.get("Content-Type", "").startswith("text/event-stream")
        assert isinstance(answer.stream, httpx2.AsyncByteStream)  # noqa: S101 - for the type checker
        token = request.headers.get("Authorization", "").removeprefix("Bearer ").encode()
        stream = _BoundedStream(answer.stream, self._limit, events=events)
        answer.stream = _TokenFilter(stream, token) if len(token) >= _MIN_TOKEN else stream
        return answer

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()


class _BoundedStream(httpx2.AsyncByteStream):
    """Limits the bytes of an answer; `events`: each blank line begins a new message."""

    def __init__(self, inner: httpx2.AsyncByteStream, limit: int, *, events: bool) -> None:
        self._inner = inner
        self._limit = limit
        self._events = events

    async def __aiter__(self) -> AsyncIterator[bytes]:
        size, last, values = 0, b"", ValueCounter()
        async for chunk in self._inner:
            size += len(chunk)
            piece = chunk
            if self._events:
                # A blank line may begin in one chunk and end in the next.
                seen = last + chunk
                end = max(seen.rfind(b"\n\n"), seen.rfind(b"\n\r\n"), seen.rfind(b"\r\r"))
                if end >= 0:
                    size, piece, values = len(seen) - end, seen[end:], ValueCounter()
                last = seen[-2:]
            if size > self._limit:
                raise httpx2.ReadError(f"a message of the server has more than {self._limit} bytes")
            if values.exceeds_limit(piece):
                raise httpx2.ReadError("a message of the server has too many values")
            yield chunk

    async def aclose(self) -> None:
        await self._inner.aclose()


class _TokenFilter(httpx2.AsyncByteStream):
    """Removes a token from the bytes of an answer, for servers that return what was sent to them."""

    def __init__(self, inner: httpx2.AsyncByteStream, token: bytes) -> None:
        self._inner = inner
        self._token = token

    async def __aiter__(self) -> AsyncIterator[bytes]:
        held = b""
        async for chunk in self._inner:
            seen = (held + chunk).replace(self._token, _HIDDEN)
            end = self._find_begin(seen)
            held = seen[end:]
            if end:
                yield seen[:end]
        if held:
            yield held

    def _find_begin(self, seen: bytes) -> int:
        """The position of bytes at the end that may be the beginning of the token."""
        first = self._token[:1]
        at = seen.find(first, max(0, len(seen) - len(self._token) + 1))
        while at >= 0 and not self._token.startswith(seen[at:]):
            at = seen.find(first, at + 1)
        return len(seen) if at < 0 else at

    async def aclose(self) -> None:
        await self._inner.aclose()


class _LoginTransport(httpx2.AsyncBaseTransport):
    """Reaches the origin that the user named, and other hosts under the rules of the web tools; addresses
    of this machine or its network are otherwise not reachable.
    """

    def __init__(self, own: WebUrl, reach: WebReach) -> None:
        self._own = own
        self._reach = reach
        self._named = _named_transport(own)
        self._others = PinningTransport(reach, resolve_addresses)

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request; raises `denied` for a host that must not be reached."""
        url = self.check(str(request.url))
        if url.origin == self._own.origin:
            return await self._named.handle_async_request(request)
        if request.headers.get("Authorization", "").lower().startswith("bearer"):
            reason = "the token is only for the server that it was given for"
            raise web_messages.REFUSED.error(url=url.text, reason=reason)
        return await self._others.handle_async_request(request)

    def check(self, text: str) -> WebUrl:
        """Parse a URL and check whether it may be used for a login; raises `denied`."""
        try:
            url = parse_web_url(text)
        except ValueError as error:
            raise web_messages.REFUSED.error(url=text[:200], reason=error) from None
        if url.origin == self._own.origin:
            return url
        refusal = self._reach.find_refusal(url)
        if refusal is None and url.scheme != "https" and not self._reach.names(url):
            refusal = "a login needs https"
        if refusal is not None:
            raise web_messages.REFUSED.error(url=url.text, reason=refusal)
        return url

    async def aclose(self) -> None:
        """Close all connections."""
        await self._named.aclose()
        await self._others.aclose()


class _LoginFile:
    """The login to a server, in the state directory."""

    def __init__(self, spec: RemoteServerSpec) -> None:
        self._spec = spec
        self._resource = parse_web_url(spec.url or "").text

    def load(self) -> StoredLogin | None:
        """The login; None if there is none. Raises `untrusted` if it is not private."""
        data = server_records().load_tokens(self._spec.name, self._resource)
        try:
            login = None if data is None else StoredLogin.model_validate_json(data)
        except ValueError:
            return None
        return login if login is not None and login.url == self._spec.url else None

    def save(self, login: StoredLogin) -> None:
        """Store a login."""
        data = login.model_dump_json(exclude_none=True).encode()
        server_records().save_tokens(self._spec.name, self._resource, data)

    @asynccontextmanager
    async def lock(self) -> AsyncGenerator[None]:
        """Prevent other sessions and processes from changing the login during the block. If another one
        holds the lock too long, the block runs without it: the worst case is another login.
        """
        handle = server_records().open_token_lock(self._spec.name)
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout(_LOCK_S):
                    while not _take_lock(handle):  # noqa: ASYNC110 - another process holds it
                        await asyncio.sleep(_LOCK_PAUSE_S)
            yield
        finally:
            os.close(handle)


def _take_lock(handle: int) -> bool:
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _named_transport(url: WebUrl) -> PinningTransport:
    """A transport that reaches only the host and port of a URL that the user named, at any address."""
    host = f"[{url.host}]" if ":" in url.host else url.host
    return PinningTransport(WebReach([f"{host}:{url.port}"]), resolve_addresses)


def _explain_status(spec: RemoteServerSpec, status: int) -> ProblemRaised:
    """The problem for the status of an answer that refuses the token or the session."""
    if status == 404:
        return messages.SESSION_LOST.error(server=spec.name)
    if spec.oauth:
        reason = f"it answered with HTTP status {status}"
        return messages.NOT_LOGGED_IN.error(server=spec.name, reason=reason)
    return messages.NOT_AUTHORIZED.error(server=spec.name, status=status)


@asynccontextmanager
async def open_http(
    spec: RemoteServerSpec, variables: Mapping[str, str], web: WebTable, note: NoteRefusal
) -> AsyncGenerator[Any, None]:
    """Open the streams of a server behind a URL. Raises `unavailable` if its token is missing or refused;
    `note` is called with later refusals.
    """
    text = spec.url or ""
    url = parse_web_url(text)
    headers, auth = {}, None
    inner: httpx2.AsyncBaseTransport = _named_transport(url)
    if spec.bearer_token is not None:
        headers["Authorization"] = f"Bearer {spec.bearer_token.reveal()}"
    elif spec.bearer_env is not None:
        if spec.bearer_env not in variables:
            raise messages.MISSING_VARIABLE.error(server=spec.name, variable=spec.bearer_env)
        headers["Authorization"] = f"Bearer {variables[spec.bearer_env]}"
    elif spec.oauth:
        auth = SessionAuth(spec.name, text, _LoginFile(spec))
        inner = _LoginTransport(url, WebReach(web.allow, web.deny))
    last: list[ProblemRaised | None] = [None]

    def note_last(refusal: HttpRefusal | None) -> None:
        last[0] = None if refusal is None else refusal.problem
        note(refusal)

    transport = BoundedTransport(inner, explain=partial(_explain_status, spec), note=note_last)
    timeout = httpx2.Timeout(spec.start_s, read=spec.call_s)
    client = httpx2.AsyncClient(
        transport=transport, headers=headers, timeout=timeout, trust_env=False, auth=auth
    )
    try:
        async with client, streamable_http_client(text, http_client=client) as streams:
            yield streams
    except Exception as error:
        if last[0] is None:
            raise
        raise last[0] from error


async def log_in_to_server(
    spec: RemoteServerSpec, web: WebTable, show: Callable[[str, str], None]
) -> None:
    """Log in to a server and store its tokens; `show` is called with the host and the URL of the page
    that the user has to open. Raises `unavailable`, `timeout` or `denied`.
    """
    text = spec.url or ""
    url = parse_web_url(text)
    routes = _LoginTransport(url, WebReach(web.allow, web.deny))
    timeout = httpx2.Timeout(spec.start_s)
    file, before = _LoginFile(spec), None
    # A file that is not private is replaced.
    with suppress(ProblemRaised):
        before = file.load()

    def show_page(page: str) -> None:
        show(routes.check(page.partition("?")[0]).authority, page)

    async with httpx2.AsyncClient(
        transport=BoundedTransport(routes), timeout=timeout, trust_env=False
    ) as client:
        login = await log_in(spec.name, text, client, show_page, before)
    async with file.lock():
        file.save(login)
