"""Checks every request of a browser before it is handled, and sets headers that isolate the page.

The token printed at the start is exchanged once for a cookie. The Host must be that of this server,
a name that no other server has, because browsers send cookies to all ports of a host. A change
needs the Origin of this server and the token in its pages.
"""

from __future__ import annotations

import secrets
from collections.abc import MutableMapping
from typing import Any, Final
from urllib.parse import parse_qsl

import anyio
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.requests import cookie_parser
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LOGIN: Final = "/login"
FORM: Final = "handrail.form"
CSRF: Final = "handrail.csrf"
CSRF_FIELD: Final = "csrf"
_COOKIE: Final = "handrail_ui"
_MAX_FORM_BYTES: Final = 1_000_000
_FORM_S: Final = 30.0
_HEADERS: Final = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' data:; base-uri 'none';"
    " form-action 'self'; frame-ancestors 'none'; object-src 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not "no-referrer": forms would then be sent with the Origin null.
    "Referrer-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class BrowserAccess:
    """ASGI middleware that passes a request to `app` or refuses it."""

    def __init__(self, app: ASGIApp, host: str) -> None:
        self._app = app
        self._host = host
        # Exchanged for the cookie by the first browser that sends it.
        self._token: str | None = secrets.token_urlsafe(32)
        self._cookie = secrets.token_urlsafe(32)
        self._csrf = secrets.token_urlsafe(32)

    @property
    def login_path(self) -> str:
        """Return the path to open first; it works once."""
        return f"{LOGIN}?token={self._token}"

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        answer = self._refusal(headers) or await self._checked(scope, headers, receive)
        if answer is None:
            scope[CSRF] = self._csrf
            await self._app(scope, receive, _with_headers(send))
        else:
            await answer(scope, receive, _with_headers(send))

    def _refusal(self, headers: Headers) -> Response | None:
        host = headers.getlist("host")
        if len(host) != 1 or host[0].lower() != self._host:
            return _refuse(421, "this server does not answer to that Host")
        origin = headers.getlist("origin")
        if len(origin) > 1 or any(value.lower() != f"http://{self._host}" for value in origin):
            return _refuse(403, "requests from that Origin are not allowed")
        return None

    async def _checked(self, scope: Scope, headers: Headers, receive: Receive) -> Response | None:
        method = scope["method"]
        if scope["path"] == LOGIN and method == "GET":
            return self._log_in(QueryParams(scope["query_string"]).get("token"))
        cookies = cookie_parser(headers.get("cookie", ""))
        if not _equal(cookies.get(_COOKIE), self._cookie):
            return _refuse(401, "open the address that `handrail ui` has printed; it works once")
        if method in ("GET", "HEAD"):
            return None
        if method != "POST":
            return _refuse(405, "there is nothing here for that method")
        return await self._read_form(scope, headers, receive)

    def _log_in(self, token: str | None) -> Response:
        if self._token is None or not _equal(token, self._token):
            return _refuse(401, "this address was used already; start `handrail ui` again")
        self._token = None
        answer = RedirectResponse("/", status_code=303)
        # No `secure`: loopback is not encrypted.
        answer.set_cookie(_COOKIE, self._cookie, httponly=True, samesite="strict")
        return answer

    async def _read_form(
        self, scope: MutableMapping[str, Any], headers: Headers, receive: Receive
    ) -> Response | None:
        if headers.get("origin") is None:
            return _refuse(403, "a change needs an Origin header")
        kind = headers.get("content-type", "").partition(";")[0].strip().lower()
        if kind != "application/x-www-form-urlencoded":
            return _refuse(415, "a change is a form")
        try:
            with anyio.fail_after(_FORM_S):
                body = await _read_body(receive)
        except TimeoutError:
            return _refuse(408, "the form took too long to arrive")
        if body is None:
            return _refuse(413, f"a form has at most {_MAX_FORM_BYTES:,} bytes")
        form = dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
        if not _equal(form.pop(CSRF_FIELD, None), self._csrf):
            return _refuse(403, "the form is not from a page of this server; load the page again")
        scope[FORM] = form
        return None


async def _read_body(receive: Receive) -> bytes | None:
    """Return the body; None if it is too long or incomplete."""
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            return None
        body += message.get("body", b"")
        if len(body) > _MAX_FORM_BYTES:
            return None
        if not message.get("more_body", False):
            return bytes(body)


def _with_headers(send: Send) -> Send:
    async def wrapped(message: Message) -> None:
        if message["type"] == "http.response.start":
            MutableHeaders(scope=message).update(_HEADERS)
        await send(message)

    return wrapped


def _equal(value: str | None, expected: str) -> bool:
    return value is not None and secrets.compare_digest(
        value.encode("utf-8", "replace"), expected.encode("ascii")
    )


def _refuse(status: int, why: str) -> Response:
    return PlainTextResponse(f"{why}\n", status_code=status)
