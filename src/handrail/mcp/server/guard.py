"""Checks every HTTP request before it is processed: Host, Origin, token, method, body.

Protects against web pages in the user's browser: Host and Origin must be allowed, the token is
in a header that a page cannot set, and no CORS headers are sent.
"""

from __future__ import annotations

import os
import secrets
import stat
from collections import deque
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import anyio
from starlette.datastructures import Headers
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from handrail.core.problems import ProblemRaised
from handrail.host.state.directories import private_directory, state_home
from handrail.mcp.server import messages
from handrail.mcp.server.stdio import MAX_BYTES, UnreadableMessage, parse_json, too_long

CALLS: Final = "call-token"
APPROVALS: Final = "approval-token"
_MAX_BYTES: Final = 256


@dataclass(frozen=True, slots=True)
class Tokens:
    """The two tokens that requests are compared with."""

    calls: str = field(repr=False)
    approvals: str = field(repr=False)

    def may_call(self, token: str | None) -> bool:
        """Return whether this is the token for calls."""
        return _equal(token, self.calls)

    def may_approve(self, token: str | None) -> bool:
        """Return whether this is the token for approvals."""
        return _equal(token, self.approvals)


def token_file(name: str) -> Path:
    """Return the path of a token."""
    return state_home() / "mcp" / name


def load_tokens(*, renew: bool = False) -> Tokens:
    """Load the user's tokens; create missing ones. Raises `unavailable` if not private."""
    private_directory(state_home())
    private_directory(token_file(CALLS).parent)
    return Tokens(_load(token_file(CALLS), renew=renew), _load(token_file(APPROVALS), renew=renew))


def _load(path: Path, *, renew: bool) -> str:
    if renew:
        path.unlink(missing_ok=True)
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        return _make(path)
    except OSError as error:
        raise _unusable(path, error.strerror or str(error)) from error
    try:
        info = os.fstat(descriptor)
        if not stat.S_ISREG(info.st_mode) or info.st_uid != os.geteuid() or info.st_mode & 0o077:
            raise _unusable(path, "other users could have read or written it")
        token = os.read(descriptor, _MAX_BYTES).decode("ascii", "replace").strip()
    finally:
        os.close(descriptor)
    if len(token) < 32:
        raise _unusable(path, "it contains no token")
    return token


def _make(path: Path) -> str:
    token = secrets.token_urlsafe(32)
    # Written under a temporary name first: two servers may start at the same time.
    draft = path.with_name(f".{path.name}.{os.urandom(4).hex()}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        os.write(descriptor, f"{token}\n".encode("ascii"))
    finally:
        os.close(descriptor)
    try:
        os.link(draft, path)
    except FileExistsError:
        return _load(path, renew=False)
    finally:
        draft.unlink()
    return token


def _equal(value: str | None, token: str) -> bool:
    return value is not None and secrets.compare_digest(
        value.encode("utf-8", "replace"), token.encode("ascii")
    )


def _unusable(path: Path, why: str) -> ProblemRaised:
    return messages.TOKEN_UNUSABLE.error(path=str(path), reason=why)


APPROVAL_HEADER: Final = "handrail-approval"
# Answered without a token and for any Host: it says only that the server runs.
HEALTH: Final = "/healthz"
APPROVES: Final = "handrail.approves"
# Time limit for the whole request body.
_BODY_S: Final = 30.0
_METHODS: Final = ("GET", "POST", "DELETE")


@dataclass(frozen=True, slots=True)
class Guard:
    """ASGI middleware that passes a request to `app` or refuses it."""

    app: ASGIApp
    tokens: Tokens
    hosts: Collection[str]  # lower case
    origins: Collection[str]  # lower case

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle one request."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        if _asks_for_health(scope, headers):
            await JSONResponse({"status": "ok"})(scope, receive, send)
            return
        refusal = self._refusal(scope["method"], headers)
        if refusal is None and scope["method"] == "POST":
            try:
                receive = await self._whole(headers, receive)
            except _RequestRefused as refused:
                refusal = refused.response
        if refusal is not None:
            await refusal(scope, receive, send)
            return
        scope[APPROVES] = self._approves(headers)
        await self.app(scope, receive, send)

    def _refusal(self, method: str, headers: Headers) -> Response | None:
        host, origin = headers.getlist("host"), headers.getlist("origin")
        if len(host) != 1 or host[0].lower() not in self.hosts:
            return _error_response(421, "this server does not answer to that Host")
        if len(origin) > 1 or any(value.lower() not in self.origins for value in origin):
            return _error_response(403, "requests from that Origin are not allowed")
        if not self.tokens.may_call(_bearer(headers)):
            refused = _error_response(401, "a bearer token is needed in the Authorization header")
            refused.headers["WWW-Authenticate"] = "Bearer"
            return refused
        if method not in _METHODS:
            refused = _error_response(405, "there is nothing here for that method")
            refused.headers["Allow"] = ", ".join(_METHODS)
            return refused
        if method == "POST" and _media_type(headers) != "application/json":
            return _error_response(415, "the content type must be application/json")
        return None

    def _approves(self, headers: Headers) -> bool:
        values = headers.getlist(APPROVAL_HEADER)
        return len(values) == 1 and self.tokens.may_approve(values[0])

    async def _whole(self, headers: Headers, receive: Receive) -> Receive:
        """Read and check the body; return a `receive` that replays it. Raises `_RequestRefused`."""
        try:
            with anyio.fail_after(_BODY_S):
                body = await _read_body(headers, receive)
            value = parse_json(body)
        except TimeoutError:
            raise _RequestRefused(
                _error_response(408, "the message took too long to arrive")
            ) from None
        except UnreadableMessage as unreadable:
            error = unreadable.error.model_dump(mode="json", by_alias=True, exclude_none=True)
            raise _RequestRefused(JSONResponse({**error, "id": None}, status_code=400)) from None
        if not isinstance(value, dict):
            # Older protocol versions allow lists, which could contain an answer.
            raise _RequestRefused(_error_response(400, "a message is one JSON object"))
        if _is_answer(value) and not self._approves(headers):
            # It can only be an answer to an elicitation.
            raise _RequestRefused(
                _error_response(403, f"an answer needs the {APPROVAL_HEADER} header")
            )
        return _replay_body(body, receive)


class _RequestRefused(Exception):
    def __init__(self, response: Response) -> None:
        super().__init__()
        self.response = response


async def _read_body(headers: Headers, receive: Receive) -> bytes:
    length = headers.get("content-length", "0")
    if not length.isdecimal() or int(length) > MAX_BYTES:
        raise _RequestRefused(_error_response(413, str(too_long())))
    body = bytearray()
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise _RequestRefused(_error_response(400, "the message is not complete"))
        body += message.get("body", b"")
        if len(body) > MAX_BYTES:
            raise _RequestRefused(_error_response(413, str(too_long())))
        if not message.get("more_body", False):
            return bytes(body)


def _replay_body(body: bytes, receive: Receive) -> Receive:
    waiting: deque[Message] = deque([{"type": "http.request", "body": body, "more_body": False}])

    async def again() -> Message:
        return waiting.popleft() if waiting else await receive()

    return again


def _asks_for_health(scope: Scope, headers: Headers) -> bool:
    """Return whether this is a health check; web pages, which send an Origin, get none."""
    return (
        scope["path"] == HEALTH and scope["method"] in ("GET", "HEAD") and "origin" not in headers
    )


def _is_answer(value: dict[str, Any]) -> bool:
    """Return whether a parser could take the message for an answer, even with an odd `method`."""
    return not isinstance(value.get("method"), str) or "result" in value or "error" in value


def _bearer(headers: Headers) -> str | None:
    values = headers.getlist("authorization")
    scheme, _, token = values[0].partition(" ") if len(values) == 1 else ("", "", "")
    return token.strip() if scheme.lower() == "bearer" else None


def _media_type(headers: Headers) -> str:
    return headers.get("content-type", "").partition(";")[0].strip().lower()


def _error_response(status: int, message: str) -> Response:
    return JSONResponse({"error": message}, status_code=status)
