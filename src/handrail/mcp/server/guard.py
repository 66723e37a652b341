"""What a request over HTTP must be before anything of it is acted on.

Against a web page in the person's browser: the Host must be ours, an Origin must be allowed,
the token comes in a header that a page cannot send, and nothing here answers to CORS.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, Final

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.mcp.server.tokens import Tokens
from handrail.mcp.server.wire import MAX_BYTES, Unreadable, parse, too_long

APPROVAL_HEADER: Final = "handrail-approval"
APPROVES: Final = "handrail.approves"
# For a whole message; a client that sends more slowly does not mean to.
_BODY_S: Final = 30.0
_METHODS: Final = ("GET", "POST", "DELETE")


@dataclass(frozen=True, slots=True)
class Guard:
    """Lets a request through to `app`, or answers it. `hosts` and `origins` are lower case."""

    app: ASGIApp
    tokens: Tokens
    hosts: Collection[str]
    origins: Collection[str]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope["method"], headers)
        if refusal is None and scope["method"] == "POST":
            try:
                receive = await self._whole(headers, receive)
            except _Refused as refused:
                refusal = refused.response
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        scope[APPROVES] = self._approves(headers)
        await self.app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        host, origin = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return _said(421, "this server does not answer to that Host")
        if len(origin) > 1 or any(one.lower() not in self.origins for one in origin):
            return _said(403, "requests from that Origin are not allowed")
        if not self.tokens.may_call(_bearer(headers)):
            refused = _said(401, "a bearer token is needed in the Authorization header")
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        if method not in _METHODS:
            refused = _said(405, "there is nothing here for that method")
            refused.headers["Allow"] = ", ".join(_METHODS)
            return refused
        if method == "POST" and _media_type(headers) != "application/json":
            return _said(415, "the content type must be application/json")
        return None

    def _approves(self, headers: Headers) -> bool:
        given = headers.getlist(APPROVAL_HEADER)
        return len(given) == 1 and self.tokens.may_approve(given[0])

    async def _whole(self, headers: Headers, receive: Receive) -> Receive:
        """The same request with its body read and understood; raises `_Refused`."""
        try:
            with anyio.fail_after(_BODY_S):
                body = await _body(headers, receive)
            value = parse(body)
        except TimeoutError:
            raise _Refused(_said(408, "the message took too long to arrive")) from None
        except Unreadable as unreadable:
            error = unreadable.error.model_dump(mode="json", by_alias=True, exclude_none=True)
            raise _Refused(JSONResponse({**error, "id": None}, status_code=400)) from None
        if not isinstance(value, dict):
            # The older protocol knew lists, in which an answer could hide.
            raise _Refused(_said(400, "a message is one JSON object"))
        if _is_answer(value) and not self._approves(headers):
            # It can only be the answer to a question of ours.
            raise _Refused(_said(403, f"an answer needs the {APPROVAL_HEADER} header"))
        return _replayed(body, receive)


class _Refused(Exception):
    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def _body(headers: Headers, receive: Receive) -> bytes:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BYTES:
        raise _Refused(_said(413, str(too_long())))
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _Refused(_said(400, "the message is not complete"))
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise _Refused(_said(413, str(too_long())))
        if not message.get("more_body", False):
            return bytes(body)


def _replayed(body: bytes, receive: Receive) -> Receive:
    waiting: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return again


def _is_answer(value: dict[str, Any]) -> bool:
    """Whether any reader could take it for an answer, as one with an odd `method` as well."""
    return not isinstance(value.get("method"), str) or "result" in value or "error" in value


def _bearer(headers: Headers) -> str | None:
    given = headers.getlist("authorization")
    scheme, _, token = given[0].partition(" ") if len(given) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else None


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _said(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)
