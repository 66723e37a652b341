"""OAuth for MCP servers: the user's login at the command line, and the use of its token in sessions.

The SDK finds the authorization server, registers a client, and exchanges and renews tokens.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager
from typing import Final, Protocol
from urllib.parse import parse_qs, urlsplit

import httpx2
from mcp.client.auth import (
    OAuthClientProvider,
    OAuthFlowError,
    OAuthRegistrationError,
    OAuthTokenError,
)
from mcp.client.auth.oauth2 import OAuthContext
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
# The key of a request's extensions with the problem because of which it must not be sent.
REFUSED: Final = "handrail_refused"
_MAX_SCOPE: Final = 1000
_MAX_PAGE: Final = 8000
_VISIBLE: Final = r"^[!-~]{1,16384}$"
_REFUSALS: Final = (401, 403)
_PING: Final = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
_HEADERS: Final = {
    "Accept": "application/json, text/event-stream",
    "MCP-Protocol-Version": LATEST_PROTOCOL_VERSION,
}


class _TokenAnswer(BaseModel):
    """Validates the parts of an answer with tokens that the SDK uses unchecked: tokens become headers and
    form values, and times are added to the clock.
    """

    access_token: str = Field(pattern=_VISIBLE, repr=False)
    refresh_token: str | None = Field(None, pattern=_VISIBLE, repr=False)
    expires_in: int | None = Field(None, ge=0, le=10**10)
    scope: str | None = Field(None, max_length=_MAX_PAGE)


class StoredLogin(BaseModel):
    """A stored login: its URL, its tokens, and the server that renews them."""

    url: str
    tokens: OAuthToken = Field(repr=False)
    expires_at: float | None = None
    client: OAuthClientInformationFull = Field(repr=False)
    server: OAuthMetadata | None = None
    resource: ProtectedResourceMetadata | None = None
    # The scopes that the server has demanded since the login; the next login requests them.
    wanted_scope: str | None = None

    def renewed(self, tokens: OAuthToken) -> StoredLogin:
        """Return the login with new tokens."""
        return self.model_copy(update={"tokens": tokens, "expires_at": _expiry(tokens)})


class LoginStore(Protocol):
    """Stores the login to a server."""

    def load(self) -> StoredLogin | None:
        """Return the login; None if there is none. Raises `untrusted` if it is not private."""

    def save(self, login: StoredLogin) -> None:
        """Store a login."""

    def lock(self) -> AbstractAsyncContextManager[None]:
        """Prevent other sessions and processes from changing the login during the block."""


class _StoreForSession:
    """Stores renewed tokens, unless the user has logged out or logged in again in the meantime."""

    def __init__(self, store: LoginStore) -> None:
        self._store = store
        # The refresh token of the renewal in progress.
        self.renewing: str | None = None

    async def get_tokens(self) -> OAuthToken | None:
        login = self._store.load()
        return None if login is None else login.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        login = self._store.load()
        if login is not None and login.tokens.refresh_token == self.renewing:
            self._store.save(login.renewed(tokens))

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        login = self._store.load()
        return None if login is None else login.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        """Do nothing: only a login registers a client."""


class _StoreForLogin:
    """An empty store: a login uses nothing of an earlier one and is stored only when it is complete."""

    async def get_tokens(self) -> OAuthToken | None:
        return None

    async def set_tokens(self, tokens: OAuthToken) -> None: ...

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return None

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None: ...


class SessionAuth(OAuthClientProvider):
    """Adds the token of the stored login to requests, and renews it. Never starts a login: without a valid
    token, a request is marked with `REFUSED`.
    """

    def __init__(self, server: str, url: str, store: LoginStore) -> None:
        self._kept = _StoreForSession(store)
        super().__init__(url, _client_metadata("http://127.0.0.1/"), self._kept)
        self._server = server
        self._store = store
        self._unsafe: ProblemRaised | None = None

    async def _initialize(self) -> None:
        """Load the login again, because another process may have renewed or deleted it."""
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
        context, refused = self.context, None
        context.protocol_version = request.headers.get("MCP-Protocol-Version")
        for reason in ("its token has expired and was not renewed", "its token was refused"):
            async with context.lock:
                await self._initialize()
                if self._needs_renewal(refused):
                    # Most servers revoke a login if a refresh token is used twice.
                    async with self._store.lock():
                        await self._initialize()
                        if self._needs_renewal(refused):
                            answer = yield await self._refresh_token()
                            await self._handle_refresh_response(answer)
                sent = self._add_token(request, reason, refused)
            response = yield request
            if response.status_code == 403:
                async with self._store.lock():
                    self._keep_scope(response)
            if response.status_code != 401 or sent is None:
                return
            refused = sent

    def _needs_renewal(self, refused: str | None) -> bool:
        """Whether the token must be renewed, because it has expired or was refused, and can be."""
        context = self.context
        if context.current_tokens is None or not context.can_refresh_token():
            return False
        return not context.is_token_valid() or context.current_tokens.access_token == refused

    async def _refresh_token(self) -> httpx2.Request:
        tokens = self.context.current_tokens
        self._kept.renewing = None if tokens is None else tokens.refresh_token
        return await super()._refresh_token()

    async def _handle_refresh_response(self, response: httpx2.Response) -> bool:
        try:
            await _check_token_answer(response)
        except OAuthTokenError:
            self.context.clear_tokens()
            return False
        return await super()._handle_refresh_response(response)

    def _keep_scope(self, response: httpx2.Response) -> None:
        """Store the scopes that an answer demands."""
        scope, login = extract_scope_from_www_auth(response), self._store.load()
        demanded = extract_field_from_www_auth(response, "error") == "insufficient_scope"
        if demanded and scope and len(scope) <= _MAX_SCOPE and login is not None:
            scopes = union_scopes(login.tokens.scope, scope)
            self._store.save(login.model_copy(update={"wanted_scope": scopes}))

    def _add_token(self, request: httpx2.Request, reason: str, refused: str | None) -> str | None:
        """Add the token to a request and return it; without a valid token, mark the request as refused."""
        tokens, valid = self.context.current_tokens, self.context.is_token_valid()
        if tokens is None or not valid or tokens.access_token == refused:
            missing = messages.NOT_LOGGED_IN.error(server=self._server, reason=reason)
            request.extensions[REFUSED] = self._unsafe or missing
            return None
        self._add_auth_header(request)
        return tokens.access_token


class _LoginAuth(OAuthClientProvider):
    """The provider of a login; also requests `scope`."""

    scope: str | None = None

    async def _perform_authorization_code_grant(self) -> tuple[str, str]:
        metadata = self.context.client_metadata
        metadata.scope = union_scopes(metadata.scope, self.scope)
        return await super()._perform_authorization_code_grant()

    async def _handle_token_response(self, response: httpx2.Response) -> None:
        await _check_token_answer(response)
        await super()._handle_token_response(response)


async def log_in(
    server: str,
    url: str,
    client: httpx2.AsyncClient,
    show: Callable[[str], None],
    before: StoredLogin | None,
) -> StoredLogin:
    """Log in to a server. `show` is called with the URL that the user opens in a browser, and may raise.
    Only the scopes that the server demanded are used of the earlier login `before`. Raises `timeout`,
    `unavailable`, and `denied` for a URL that must not be requested.
    """
    tame_sdk_logs()
    try:
        async with asyncio.timeout(LOGIN_S), open_callback() as callback:

            async def begin(page: str) -> None:
                _check_metadata(provider.context)
                shown = _join_query(page)
                callback.expect(_find_state(shown))
                show(shown)

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


def _check_metadata(context: OAuthContext) -> None:
    """Raise CallbackError if an authorization server publishes no usable metadata, or does not support
    PKCE. Metadata is optional only if the MCP server names no authorization server.
    """
    metadata = context.oauth_metadata
    if metadata is None and context.auth_server_url is not None:
        raise CallbackError("the authorization server publishes no metadata that can be used")
    if metadata is not None and "S256" not in (metadata.code_challenge_methods_supported or ()):
        raise CallbackError("the authorization server does not offer PKCE with S256")


async def _check_token_answer(response: httpx2.Response) -> None:
    """Raise OAuthTokenError if the tokens in an answer are invalid."""
    if response.is_success:
        try:
            _TokenAnswer.model_validate_json(await response.aread())
        except ValueError:
            raise OAuthTokenError("invalid") from None


def _join_query(page: str) -> str:
    """Join the two queries of a URL: the SDK adds a second one if the page has a query already."""
    begin, _, added = page.rpartition("?")
    return f"{begin}{'&' if '?' in begin else '?'}{added}"


def _find_state(page: str) -> str:
    """The state in the URL of a page; raises CallbackError if there is none, or the URL is too long."""
    states = parse_qs(urlsplit(page).query).get("state") if len(page) <= _MAX_PAGE else None
    if not states:
        raise CallbackError("the authorization server names a page that cannot be used")
    return states[-1]


def _expiry(tokens: OAuthToken) -> float | None:
    return None if tokens.expires_in is None else time.time() + tokens.expires_in


def _reason(error: Exception) -> str:
    """Return the reason of a failure, without text of the server that may contain tokens."""
    match error:
        case OAuthRegistrationError():
            return "the authorization server did not register a client"
        case OAuthTokenError():
            return "the authorization server gave no token"
        case CallbackError() | OAuthFlowError() | httpx2.HTTPError():
            return safe_text(str(error)[:300], one_line=True) or type(error).__name__
    return "the authorization server sent something invalid"
