"""The safe transport: a request is sent only if its URL and every address of its host may be
reached.

A host is resolved once for each connection, and the connection goes to an address that was checked,
so a name whose address changes meanwhile has no effect.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Final

import httpx2

from handrail.core.names.hosts import is_address
from handrail.core.names.web_urls import WebReach, WebUrl, parse_web_url
from handrail.web import messages

# Returns every address of a host at a port; empty if it has none.
Resolve = Callable[[str, int], Awaitable[Sequence[str]]]

# The number of further addresses that are tried if a host does not answer at the first.
_MOST_ADDRESSES: Final = 4


class PinningTransport(httpx2.AsyncBaseTransport):
    """A transport for any `httpx2.AsyncClient`. It ignores the environment.

    Raises `denied` for what must not be reached, before it is resolved or connected to.
    """

    def __init__(
        self, reach: WebReach, resolve: Resolve, inner: httpx2.AsyncBaseTransport | None = None
    ) -> None:
        self._reach = reach
        self._resolve = resolve
        # Connections are not reused: a pool identifies them by address, and a certificate that was
        # checked for one name must not be used for another.
        self._inner = inner or httpx2.AsyncHTTPTransport(
            trust_env=False, limits=httpx2.Limits(max_keepalive_connections=0)
        )

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        """Send a request to a checked address of its host."""
        url = self._check(str(request.url))
        addresses = await self.find_addresses(url)
        for address in addresses[:-1]:
            try:
                return await self._send(request, url, address)
            except httpx2.ConnectError:
                continue
        return await self._send(request, url, addresses[-1])

    async def find_addresses(self, url: WebUrl) -> list[str]:
        """The first addresses of the host, after all of them were checked; raises `denied`."""
        if is_address(url.host):
            found: Sequence[str] = [url.host]
        else:
            found = await self._resolve(url.host, url.port)
        if not found:
            raise messages.NOT_REACHED.error(host=url.host, reason="it has no address")
        refusal = self._reach.find_address_refusal(url, found)
        if refusal is not None:
            raise messages.REFUSED.error(url=url.text, reason=refusal)
        return list(found)[:_MOST_ADDRESSES]

    async def aclose(self) -> None:
        """Close all connections."""
        await self._inner.aclose()

    def _check(self, text: str) -> WebUrl:
        try:
            url = parse_web_url(text)
        except ValueError as error:
            raise messages.REFUSED.error(url=text[:200], reason=error) from None
        refusal = self._reach.find_refusal(url)
        if refusal is not None:
            raise messages.REFUSED.error(url=url.text, reason=refusal)
        return url

    async def _send(self, request: httpx2.Request, url: WebUrl, address: str) -> httpx2.Response:
        extensions = dict(request.extensions)
        if not is_address(url.host):
            # The certificate must match the host name.
            extensions["sni_hostname"] = url.host
        pinned = httpx2.Request(
            request.method,
            request.url.copy_with(host=address),
            headers=request.headers,
            stream=request.stream,
            extensions=extensions,
        )
        return await self._inner.handle_async_request(pinned)


class HostPacer:
    """Spaces the requests to one host in time."""

    def __init__(self, interval_s: float) -> None:
        self._interval_s = interval_s
        self._next: dict[str, float] = {}

    async def wait(self, host: str) -> None:
        """Wait until the next request to a host may be sent."""
        if not self._interval_s:
            return
        loop = asyncio.get_running_loop()
        start = max(loop.time(), self._next.get(host, 0.0))
        self._next[host] = start + self._interval_s
        await asyncio.sleep(start - loop.time())
