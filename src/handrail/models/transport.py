"""How a request reaches a model service: the port, and HTTP through httpx2."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from handrail.core.ports.models import ModelFailed
from handrail.core.problems import ProblemRaised

if TYPE_CHECKING:
    import httpx2

_CONNECT_S: Final = 30.0
_WRITE_S: Final = 60.0


class HttpReply(Protocol):
    """The answer to a request, whose body is read piece by piece."""

    @property
    def status(self) -> int:
        """The status code."""

    @property
    def headers(self) -> Mapping[str, str]:
        """The headers, with names in lower case."""

    def chunks(self) -> AsyncIterator[bytes]:
        """The body; raises `ModelFailed` with code "network" if the connection breaks."""

    async def aclose(self) -> None:
        """Close the connection or return it to its pool."""


class Transport(Protocol):
    """Sends requests."""

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Send a request and return once the headers of its answer are there; raises `ModelFailed`
        with code "network".
        """

    async def aclose(self) -> None:
        """Close all connections."""


@dataclass(frozen=True, slots=True)
class HttpOptions:
    """How HTTP connections are made. Neither is taken from the environment."""

    proxy: str | None = None
    ca_bundle: str | None = None


class HttpTransport:
    """HTTP through httpx2. Redirects are not followed, and the environment (proxies, netrc) is not
    read: a key reaches the origin that the user named and no other.
    """

    def __init__(self, options: HttpOptions | None = None) -> None:
        self._httpx = load_httpx()
        self._options = options or HttpOptions()
        self._made: httpx2.AsyncClient | None = None

    async def post(self, url: str, headers: Mapping[str, str], body: bytes) -> HttpReply:
        """Send a request; the body of its answer is not read yet."""
        return await self._send("POST", url, headers, body)

    async def get(self, url: str, headers: Mapping[str, str]) -> HttpReply:
        """Ask for a resource; the body of its answer is not read yet."""
        return await self._send("GET", url, headers, None)

    async def _send(
        self, method: str, url: str, headers: Mapping[str, str], body: bytes | None
    ) -> HttpReply:
        client = self._client()
        request = client.build_request(method, url, headers=dict(headers), content=body)
        try:
            response = await client.send(request, stream=True)
        except self._httpx.HTTPError as error:
            raise _unreachable(error) from None
        return _HttpReply(response, self._httpx)

    async def aclose(self) -> None:
        """Close all connections. Safe to repeat."""
        made, self._made = self._made, None
        if made is not None:
            await made.aclose()

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

        return ssl.create_default_context(cafile=self._options.ca_bundle)


class _HttpReply:
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
            raise _unreachable(error) from None

    async def aclose(self) -> None:
        await self._response.aclose()


def load_httpx() -> Any:
    """The module httpx2; raises `unavailable` if the extra is not installed."""
    try:
        return importlib.import_module("httpx2")
    except ImportError:
        raise ProblemRaised(
            "unavailable",
            "models need the package httpx2, which is not installed",
            hint="install handrail[models]",
        ) from None


def _unreachable(error: Exception) -> ModelFailed:
    kind = type(error).__name__
    return ModelFailed("network", f"the connection failed: {kind}: {error}", retryable=True)
