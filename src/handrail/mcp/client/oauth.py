"""Logins to MCP servers with OAuth: the user's own at the command line, and the use of its token.

The SDK finds the authorization server, registers a client, and exchanges and renews tokens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from typing import Final, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.utils import (
    extract_field_from_www_auth,
    extract_scope_from_www_auth,
    union_scopes,
)
from mcp.shared.auth import (
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthMetadata,
    OAuthToken,
    ProtectedResourceMetadata,
)
from mcp_types import LATEST_PROTOCOL_VERSION
from pydantic import AnyUrl, BaseModel, Field

from handrail.core.problems import ProblemRaised
from handrail.core.text.safe_text import safe_text
from handrail.mcp.client import messages
from handrail.mcp.client.login_callback import CallbackError, open_callback
from handrail.mcp.client.sdk_logs import tame_sdk_logs

LOGIN_S: Final = 300.0
# The extension of a request that must not be sent, with the problem.
REFUSED: Final = "handrail_refused"
_MAX_SCOPE: Final = 1000
_REFUSALS: Final = (401, 403)
_PING: Final = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
}


class StoredLogin(BaseModel):
    """What is kept of a login: for which URL it was, its tokens, and where they are renewed."""

    url: str
    tokens: OAuthToken = Field(repr=False)
    expires_at: float | None = None
    client: OAuthClientInformationFull = Field(repr=False)
    server: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    # The rights that the server has demanded since then; the next login asks for them.
    wanted_scope: str | None = None

    def renewed(self, tokens: OAuthToken) -> StoredLogin:
        """The same with other tokens."""
        return self.model_copy(update={"tokens": tokens, "expires_at": _expiry(tokens)})


class LoginStore(Protocol):
    """Where the login to a server is kept."""

    def load(self) -> StoredLogin | None:
        """The login; None if there is none. Raises `untrusted` if it is not private."""

    def save(self, login: StoredLogin) -> None:
        """Keep a login."""


class _StoreForSession:
    """Keeps renewed tokens, unless the user has logged out meanwhile."""

    def __init__(self, store: LoginStore) -> None:
        self._store = store

    async def get_tokens(self) -> OAuthToken | None:
        login = self._store.load()
        return None if login is None else login.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        login = self._store.load()
        if login is not None:
            self._store.save(login.renewed(tokens))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        login = self._store.load()
        return None if login is None else login.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Only a login registers a client."""


class _StoreForLogin:
    """Offers nothing of an earlier login, and keeps nothing: a login counts only when it is done."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class SessionAuth(OAuthClientProvider):
    """Adds the token of the stored login to requests, and renews it. Never begins a login: without a
    valid token a request is marked with `REFUSED`.
    """

    def __init__(self, server: str, url: str, store: LoginStore) -> None:
        super().__init__(url, _client_metadata("http://127.0.0.1/"), _StoreForSession(store))
        self._server = server
        self._store = store
        self._unsafe: ProblemRaised | None = None

    async def _initialize(self) -> None:
        """Read the login again: another process may have renewed or ended it."""
        login, context, self._unsafe = None, self.context, None
        try:
            login = self._store.load()
        except ProblemRaised as raised:
            self._unsafe = raised
        context.current_tokens = None if login is None else login.tokens
        context.token_expiry_time = None if login is None else login.expires_at
        context.client_info = None if login is None else login.client
        context.oauth_metadata = None if login is None else login.server
        context.protected_resource_metadata = None if login is None else login.resource

    async def _auth_flow(
        self, request: httpx2.Request
    ) -> AsyncGenerator[httpx2.Request, httpx2.Response]:
        context = self.context
        async with context.lock:
            await self._initialize()
            reason = "there is none yet" if context.current_tokens is None else ""
            context.protocol_version = request.headers.get("MCP-Protocol-Version")
            if not context.is_token_valid() and context.can_refresh_token():
                answer = yield await self._refresh_token()
                if not await self._handle_refresh_response(answer):
                    await self._initialize()
            sent = self._add_token(request, reason or "its token has expired and was not renewed")
        response = yield request
        if response.status_code == 403:
            self._keep_scope(response)
        if response.status_code != 401 or sent is None:
            return
        async with context.lock:
            await self._initialize()
            tokens = context.current_tokens
            if tokens is not None and tokens.access_token == sent and context.can_refresh_token():
                answer = yield await self._refresh_token()
                if not await self._handle_refresh_response(answer):
                    context.clear_tokens()
            elif tokens is not None and tokens.access_token == sent:
                context.clear_tokens()
            self._add_token(request, "its token was refused")
        yield request

    def _keep_scope(self, response: httpx2.Response) -> None:
        """Note the rights that an answer demands."""
        scope, login = extract_scope_from_www_auth(response), self._store.load()
        demanded = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        if demanded and scope and len(scope) <= _MAX_SCOPE and login is not None:
            wanted = union_scopes(login.tokens.scope, scope)
            self._store.save(login.model_copy(update={"wanted_scope": wanted}))

    def _add_token(self, request: httpx2.Request, reason: str) -> str | None:
        """Add the token to a request and return it; without one that is valid, mark the request."""
        tokens = self.context.current_tokens
        if tokens is None or not self.context.is_token_valid():
            missing = messages.NOT_LOGGED_IN.error(server=self._server, reason=reason)
            request.extensions[REFUSED] = self._unsafe or missing
            return None
        self._add_auth_header(request)
        return tokens.access_token


class _LoginAuth(OAuthClientProvider):
    """Also asks for `scope`."""

    scope: str | None = None

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        metadata = self.context.client_metadata
        metadata.scope = union_scopes(metadata.scope, self.scope)
        return await super()._perform_authorization_code_grant()


async def log_in(
    server: str,
    url: str,
    client: httpx2.AsyncClient,
    show: Callable[[str], None],
    before: StoredLogin | None,
) -> StoredLogin:
    """Log in to a server: `show` gets the URL that the user opens in a browser, and may raise.
    Of the login `before` only the rights that the server demanded are used.

    Raises `timeout`, `unavailable`, and `denied` for what must not be requested.
    """
    tame_sdk_logs()
    try:
        async with asyncio.timeout(LOGIN_S), open_callback() as callback:

            async def begin(page: str) -> None:
                _check_challenges(provider.context.oauth_metadata)
                callback.expect(_find_state(page))
                show(page)

            provider = _LoginAuth(
                url, _client_metadata(callback.url), _StoreForLogin(), begin, callback.wait
            )
            provider.scope = None if before is None else before.wanted_scope
            async with client.stream(
                "POST", url, json=_PING, headers=_HEADERS, auth=provider
            ) as response:
                status = response.status_code
    except TimeoutError:
        raise messages.LOGIN_TIMEOUT.error(server=server, seconds=LOGIN_S) from None
    except (CallbackError, OAuthFlowError, httpx2.HTTPError, ValueError) as error:
        raise messages.LOGIN_FAILED.error(server=server, reason=_reason(error)) from None
    context = provider.context
    if context.current_tokens is None or context.client_info is None:
        reason = f"the server answered with HTTP status {status} and asked for none"
        raise messages.LOGIN_FAILED.error(server=server, reason=reason)
    if status in _REFUSALS:
        reason = f"the server refused the new token with HTTP status {status}"
        raise messages.LOGIN_FAILED.error(server=server, reason=reason)
    return StoredLogin(
        url=url,
        tokens=context.current_tokens,
        expires_at=_expiry(context.current_tokens),
        client=context.client_info,
        server=context.oauth_metadata,
        resource=context.protected_resource_metadata,
    )


def _client_metadata(redirect: str) -> OAuthClientMetadata:
    return OAuthClientMetadata(
        client_name="Handrail",
        redirect_uris=[AnyUrl(redirect)],
        token_endpoint_auth_method="none",  # noqa: S106 - the name of a method
    )


def _check_challenges(metadata: OAuthMetadata | None) -> None:
    """Raise CallbackError if a server that publishes what it offers does not bind codes to logins."""
    if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise CallbackError("the authorization server does not offer PKCE with S256")


def _find_state(page: str) -> str:
    """The state that the URL of a page carries; raises CallbackError if the page would not get it."""
    found = parse_qs(urlsplit(page).query).get("state")
    if not found:
        raise CallbackError("the authorization server names a page that cannot be used")
    return found[-1]


def _expiry(tokens: OAuthToken) -> float | None:
    return None if tokens.expires_in is None else time.time() + tokens.expires_in


def _reason(error: Exception) -> str:
    """The reason of a failure, without what a server sent where that may have tokens."""
    match error:
        case OAuthRegistrationError():
            return "the authorization server did not register a client"
        case OAuthTokenError():
            return "the authorization server gave no token"
        case CallbackError() | OAuthFlowError() | httpx2.HTTPError():
            return safe_text(str(error)[:300], one_line=True) or type(error).__name__
    return "the authorization server sent something invalid"
