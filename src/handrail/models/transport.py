"""How requests reach a model service: the port, and HTTP through httpx2."""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from handrail.core.ports.models import ModelFailed
from handrail.core.problems import ProblemRaised
from handrail.models import messages

if TYPE_CHECKING:
    import httpx2

_CONNECT_S: Final = 30.0
# Descriptions of the errors of httpx2.
_BROKEN: Final[Mapping[str, str]] = {
    "ConnectError": "nothing accepts it",
    "ConnectTimeout": "nothing answers",
    "PoolTimeout": "too many are open",
    "WriteTimeout": "the server takes no more data",
    "RemoteProtocolError": "the server ended it early",
    "LocalProtocolError": "the request has headers that cannot be sent",
    "ProxyError": "the proxy refuses it",
    "DecodingError": "the answer cannot be decoded",
}
_LOST: Final = "it was lost"
_NOT_CONNECTED: Final = frozenset({"ConnectError", "ConnectTimeout"})
_THIS_MACHINE: Final = frozenset({"127.0.0.1", "::1", "localhost"})
OLLAMA_PORT: Final = 11434
_WRITE_S: Final = 60.0


class HttpReply(Protocol):
    """The response to a request, whose body is read in pieces."""

    @property
    def status(self) -> int:
        """The status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with names in lower case."""

    def chunks(self) -> AsyncIterator[bytes]:
        """Yield the body; raises `ModelFailed` with code "network" if the connection breaks."""

    async def aclose(self) -> None:
        """Close the connection or return it to its pool."""


class Transport(Protocol):
    """Sends requests."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Send a request and return when the headers of the response have arrived; raises
        `ModelFailed` with code "network".
        """

    async def aclose(self) -> None:
        """Close all connections."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How HTTP connections are made. The environment is not used."""

    proxy: str | None = None
    ca_bundle: str | None = None


class HttpTransport:
    """HTTP through httpx2. Redirects are not followed, and the environment (proxies, netrc) is not
    read: a key reaches only the origin that the user named.
    """

    def __init__(self, options: HttpOptions | None = None) -> None:
        self._httpx = load_httpx()
        self._options = options or HttpOptions()
        _check_socks(self._options.proxy)
        self._made: httpx2.AsyncClient | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Send a request; the body of the response is not read yet."""
        return await self._send("POST", url, headers, body)

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        """Request a resource; the body of the response is not read yet."""
        return await self._send("GET", url, headers, None)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> HttpReply:
        client = self._client()
        request = client.build_request(method, url, headers=dict(headers), content=body)
        try:
            response = await client.send(request, stream=True)
        except self._httpx.HTTPError as error:
            raise _unreachable(error, request.url) from None
        return _StreamedReply(response, self._httpx)

    async def aclose(self) -> None:
        """Close all connections. Safe to call twice."""
        client, self._made = self._made, None
        if client is not None:
            await client.aclose()

    def _client(self) -> httpx2.AsyncClient:
        if self._made is None:
            limit = self._httpx.Timeout(
                connect=_CONNECT_S, write=_WRITE_S, pool=_CONNECT_S, read=None
            )
            self._made = self._httpx.AsyncClient(
                trust_env=False,
                follow_redirects=False,
                timeout=limit,
                proxy=self._options.proxy,
                verify=self._verify(),
            )
        return self._made

    def _verify(self) -> Any:
        if self._options.ca_bundle is None:
            return True
        import ssl

        try:
            return ssl.create_default_context(cafile=self._options.ca_bundle)
        except OSError as error:
            why = error.strerror or "it cannot be read"
            problem = messages.CA_BUNDLE.fill(path=self._options.ca_bundle, why=why)
            raise ModelFailed("network", problem.message, hint=problem.hint) from None


class _StreamedReply:
    def __init__(self, response: httpx2.Response, httpx: Any) -> None:
        self._response = response
        self._httpx = httpx
        self.status: int = response.status_code
        self.headers: Mapping[str, str] = {
            name.lower(): value for name, value in response.headers.items()
        }

    async def chunks(self) -> AsyncIterator[bytes]:
        try:
            async for chunk in self._response.aiter_bytes():
                yield chunk
        except self._httpx.HTTPError as error:
            raise _unreachable(error, self._response.url) from None

    async def aclose(self) -> None:
        await self._response.aclose()


def load_httpx() -> Any:
    """Return the module httpx2; raises `unavailable` if the extra is not installed."""
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        raise ProblemRaised(
            "unavailable",
            "models need the package httpx2, which is not installed",
            hint='pip install "handrail[models]"',
        ) from None


def _check_socks(proxy: str | None) -> None:
    """Raise `unavailable` for a SOCKS proxy if the package for it is missing."""
    needed = (proxy or "").startswith("socks")
    if needed and importlib.util.find_spec("socksio") is None:
        raise messages.SOCKS.error(field="proxy")


def _unreachable(error: Exception, url: httpx2.URL) -> ModelFailed:
    kind, origin = type(error).__name__, f"{url.scheme}://{url.netloc.decode('ascii', 'replace')}"
    hint = None
    if kind in _NOT_CONNECTED:
        start = "start it with `ollama serve`" if url.port == OLLAMA_PORT else "is it running?"
        local_hint = f"nothing answers at {origin}: {start}"
        remote_hint = "check the network connection, and base_url and proxy of the model"
        hint = local_hint if url.host in _THIS_MACHINE else remote_hint
    why = _BROKEN.get(kind, _LOST)
    # The text of this error may contain the headers of the request.
    if kind != "LocalProtocolError" and str(error):
        why = f"{why} ({error})"
    message = f"the connection to {origin} failed: {why}"
    return ModelFailed("network", message, retryable=True, hint=hint)
