"""An MCP server that demands a login, and its authorization server, on one port of this machine."""

from __future__ import annotations

import base64
import hashlib
import secrets
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlencode

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.routing import Route

_TOOL = {"name": "whoami", "description": "Says who calls.", "inputSchema": {"type": "object"}}


class LoginServer:
    """Its attributes change how it behaves; `given` are all secrets that it has handed out."""

    def __init__(self) -> None:
        self.port = 0
        self.requests: list[str] = []
        self.given: list[str] = []
        self.valid: dict[str, float] = {}
        self.refreshable: set[str] = set()
        self.scopes: list[str | None] = []
        self.codes: dict[str, tuple[str, str]] = {}
        self.expires_in: int | None = 3600
        self.refreshes = 0
        self.refuses_refresh = False
        # Further parts of what is published, and of the answer to the browser.
        self.metadata: dict[str, Any] = {}
        self.resource_metadata: dict[str, Any] = {}
        self.answer: dict[str, str] = {}
        # What it answers instead.
        self.metadata_answer: Response | None = None
        self.token_answer: Response | None = None
        self.call_answer: Response | None = None
        self.quotes_token = False
        self.before_renewal: Callable[[], None] = lambda: None

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @property
    def url(self) -> str:
        return f"{self.origin}/mcp"

    def end_tokens(self) -> None:
        """End all access tokens before their time."""
        self.valid.clear()

    @contextmanager
    def serve(self) -> Iterator[LoginServer]:
        routes = [
            Route("/mcp", self._mcp, methods=["GET", "POST", "DELETE"]),
            Route("/.well-known/oauth-protected-resource/mcp", self._resource),
            Route("/.well-known/oauth-authorization-server", self._metadata),
            Route("/register", self._register, methods=["POST"]),
            Route("/authorize", self._authorize),
            Route("/token", self._token, methods=["POST"]),
        ]
        listener = socket.create_server(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        app = Starlette(routes=routes)
        server = uvicorn.Server(uvicorn.Config(app, log_level="error", lifespan="off"))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.should_exit = True
            thread.join(30)
            listener.close()
            assert not thread.is_alive()

    def _secret(self) -> str:
        self.given.append(secrets.token_hex(20))
        return self.given[-1]

    async def _resource(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        shown = {"resource": self.url, "authorization_servers": [self.origin]}
        return JSONResponse({**shown, **self.resource_metadata})

    async def _metadata(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        if self.metadata_answer is not None:
            return self.metadata_answer
        shown = {
            "issuer": self.origin,
            "authorization_endpoint": f"{self.origin}/authorize",
            "token_endpoint": f"{self.origin}/token",
            "registration_endpoint": f"{self.origin}/register",
            "response_types_supported": ["code"],
            "code_challenge_methods_supported": ["S256"],
        }
        return JSONResponse({**shown, **self.metadata})

    async def _register(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        return JSONResponse({**await request.json(), "client_id": "client-1"}, status_code=201)

    async def _authorize(self, request: Request) -> Response:
        """Agree at once, as a user in a browser would."""
        self.requests.append(request.url.path)
        asked = request.query_params
        assert asked["code_challenge_method"] == "S256"
        assert asked["resource"] == self.url
        self.scopes.append(asked.get("scope"))
        code = self._secret()
        self.codes[code] = (asked["code_challenge"], asked["redirect_uri"])
        answer = {"code": code, "state": asked["state"], **self.answer}
        return RedirectResponse(f"{asked['redirect_uri']}?{urlencode(answer)}", status_code=302)

    async def _token(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        if self.token_answer is not None:
            return self.token_answer
        form = await request.form()
        if form["grant_type"] == "refresh_token":
            self.refreshes += 1
            self.before_renewal()
            if self.refuses_refresh or form["refresh_token"] not in self.refreshable:
                return JSONResponse({"error": "invalid_grant"}, status_code=400)
            self.refreshable.remove(str(form["refresh_token"]))
            return self._give_tokens()
        challenge, redirect = self.codes.pop(str(form["code"]), ("", ""))
        digest = hashlib.sha256(str(form["code_verifier"]).encode()).digest()
        proof = base64.urlsafe_b64encode(digest).decode().rstrip("=")
        if proof != challenge or form["redirect_uri"] != redirect or form["resource"] != self.url:
            return JSONResponse({"error": "invalid_grant"}, status_code=400)
        return self._give_tokens()

    def _give_tokens(self) -> Response:
        access, refresh = self._secret(), self._secret()
        self.valid[access] = time.time() + (3600 if self.expires_in is None else self.expires_in)
        self.refreshable.add(refresh)
        shown = {"access_token": access, "token_type": "Bearer", "refresh_token": refresh}
        if self.expires_in is not None:
            shown["expires_in"] = str(self.expires_in)
        return JSONResponse(shown)

    async def _mcp(self, request: Request) -> Response:
        self.requests.append(request.url.path)
        token = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self.valid.get(token, 0) <= time.time():
            where = f"{self.origin}/.well-known/oauth-protected-resource/mcp"
            challenge = {"WWW-Authenticate": f'Bearer resource_metadata="{where}"'}
            return Response(status_code=401, headers=challenge)
        if request.method != "POST":
            return Response(status_code=405)
        message = await request.json()
        if "id" not in message:
            return Response(status_code=202)
        if message["method"] == "tools/call" and self.call_answer is not None:
            return self.call_answer
        answer = _answer(message["method"])
        if message["method"] == "tools/call" and self.quotes_token:
            answer = {"result": {"content": [{"type": "text", "text": f"your token is {token}"}]}}
        return JSONResponse({"jsonrpc": "2.0", "id": message["id"], **answer})


def _answer(method: str) -> dict[str, Any]:
    if method == "initialize":
        shown = {"capabilities": {"tools": {}}, "serverInfo": {"name": "login", "version": "1"}}
        return {"result": {"protocolVersion": "2025-06-18", **shown}}
    if method == "tools/list":
        return {"result": {"tools": [_TOOL]}}
    if method == "tools/call":
        return {"result": {"content": [{"type": "text", "text": "you are logged in"}]}}
    if method == "ping":
        return {"result": {}}
    return {"error": {"code": -32601, "message": "no such method"}}
