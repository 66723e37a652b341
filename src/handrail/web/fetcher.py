"""Makes GET requests within limits: bytes, time, redirects, decompression."""

from __future__ import annotations

import zlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import urljoin
from urllib.robotparser import RobotFileParser

import anyio
import httpx2

from handrail.core.names.web_urls import WebReach, WebUrl, parse_web_url
from handrail.web import messages
from handrail.web.transport import HostPacer, PinningTransport, Resolve

AGENT_NAME: Final = "handrail"
_MAX_REDIRECTS: Final = 5
_REDIRECTS: Final = frozenset({301, 302, 303, 307, 308})
_HEADERS: Final = {
    "User-Agent": f"{AGENT_NAME} (tool runtime for coding agents)",
    "Accept": "text/html, text/markdown, text/plain, application/json, */*;q=0.5",
    "Accept-Encoding": "gzip",
}
_MAX_ROBOTS: Final = 500_000


@dataclass(frozen=True, slots=True)
class FetchLimits:
    """The limits of a request: seconds to the first byte and for the body, and the pace per
    host.
    """

    first_byte_s: float = 10.0
    body_s: float = 30.0
    per_host_s: float = 0.0
    # Whether the host's robots.txt decides which pages are requested.
    robots: bool = False


@dataclass(frozen=True, slots=True)
class HttpPage:
    """The answer to a request. `cut` says why the body is incomplete, "" if it is complete.

    `redirect` is the target of a redirect to another host; the body is empty then.
    """

    url: WebUrl
    status: int
    headers: Mapping[str, str]
    body: bytes = b""
    cut: str = ""
    redirect: str | None = None


class HttpFetcher:
    """Requests pages through the safe transport."""

    def __init__(
        self,
        reach: WebReach,
        resolve: Resolve,
        limits: FetchLimits | None = None,
        inner: httpx2.AsyncBaseTransport | None = None,
    ) -> None:
        self._limits = limits or FetchLimits()
        self._pacer = HostPacer(self._limits.per_host_s)
        self._robots: dict[tuple[str, str, int], RobotFileParser] = {}
        self._client = httpx2.AsyncClient(
            transport=PinningTransport(reach, resolve, inner),
            trust_env=False,
            follow_redirects=False,
            timeout=httpx2.Timeout(max(self._limits.first_byte_s, self._limits.body_s)),
            headers=_HEADERS,
            event_hooks={"response": [_extract_location]},
        )

    async def get(self, url: WebUrl, max_bytes: int) -> HttpPage:
        """Request a page; follow redirects at its host. Raises `denied`, `timeout`,
        `unavailable`.
        """
        for _ in range(_MAX_REDIRECTS + 1):
            if self._limits.robots:
                await self._check_robots(url)
            page = await self._get_once(url, max_bytes)
            if page.redirect is None:
                return page
            target = _same_host_target(url, page.redirect)
            if target is None:
                return page
            url = target
        raise messages.TOO_MANY_REDIRECTS.error(url=url.text, count=_MAX_REDIRECTS)

    async def aclose(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def _get_once(self, url: WebUrl, max_bytes: int) -> HttpPage:
        await self._pacer.wait(url.host)
        response: httpx2.Response | None = None
        try:
            with anyio.move_on_after(self._limits.first_byte_s):
                request = self._client.build_request("GET", url.text)
                response = await self._client.send(request, stream=True)
        except (httpx2.HTTPError, httpx2.InvalidURL) as error:
            raise messages.NOT_REACHED.error(host=url.host, reason=_reason(error)) from None
        if response is None:
            raise messages.TOO_SLOW.error(host=url.host, seconds=self._limits.first_byte_s)
        try:
            return await self._read(url, response, max_bytes)
        finally:
            with anyio.CancelScope(shield=True), anyio.move_on_after(1):
                await response.aclose()

    async def _read(self, url: WebUrl, response: httpx2.Response, max_bytes: int) -> HttpPage:
        headers = {name.lower(): value for name, value in response.headers.items()}
        location = response.extensions.get("location")
        if response.status_code in _REDIRECTS and location:
            target = _join(url.text, location)
            return HttpPage(url, response.status_code, headers, redirect=target)
        encoding = headers.get("content-encoding", "").strip().lower()
        if encoding not in _DECODERS:
            raise messages.UNKNOWN_ENCODING.error(host=url.host, encoding=encoding[:100])
        body = BodyReader(encoding, max_bytes)
        cut = f"the first {self._limits.body_s:g} s of the answer"
        with anyio.move_on_after(self._limits.body_s):
            cut = await body.read(response.aiter_raw())
        return HttpPage(url, response.status_code, headers, bytes(body.data), cut)

    async def _check_robots(self, url: WebUrl) -> None:
        rules = self._robots.get(url.origin)
        if rules is None:
            rules = RobotFileParser()
            page = await self._get_once(url._replace(target="/robots.txt"), _MAX_ROBOTS)
            found = page.status == 200 and page.redirect is None
            rules.parse(page.body.decode("utf-8", "replace").splitlines() if found else [])
            self._robots[url.origin] = rules
        if not rules.can_fetch(AGENT_NAME, url.text):
            reason = "robots.txt of the host does not allow it (setting web.robots)"
            raise messages.REFUSED.error(url=url.text, reason=reason)


# Window sizes of zlib; 0 means that the body is not compressed.
_GZIP_WINDOW: Final = 31
_DECODERS: Final = {
    **dict.fromkeys(("", "identity"), 0),
    **dict.fromkeys(("gzip", "x-gzip"), _GZIP_WINDOW),
    "deflate": 15,
}
_GZIP_MAGIC: Final = b"\x1f\x8b"
# The number of compressed files in one body; more would only keep the reader busy.
_MOST_MEMBERS: Final = 1_000
_MAX_REASON: Final = 300


class BodyReader:
    """Reads a body of which neither the compressed nor the plain form exceeds a limit."""

    def __init__(self, encoding: str, max_bytes: int) -> None:
        self.data = bytearray()
        self._max_bytes = max_bytes
        self._window = _DECODERS[encoding]
        self._decoder = zlib.decompressobj(self._window) if self._window else None
        self._members = 1

    async def read(self, chunks: AsyncIterator[bytes]) -> str:
        """Read to the end; return why the body is incomplete, "" if it is complete."""
        limit, received = f"the first {self._max_bytes:,} bytes of the answer", 0
        try:
            async for chunk in chunks:
                received += len(chunk)
                if not self._add(chunk) or received > self._max_bytes:
                    return limit
        except zlib.error:
            return "the answer up to a compression error"
        except httpx2.HTTPError:
            return "the answer up to where the connection broke"
        whole = self._decoder is None or self._decoder.eof or not received
        return "" if whole else "the answer up to where its compression breaks off"

    def _add(self, chunk: bytes) -> bool:
        """Add a piece; return whether all of it fits."""
        while True:
            room = self._max_bytes - len(self.data)
            if self._decoder is None:
                self.data += chunk[:room]
                return len(chunk) <= room
            # One byte more than fits distinguishes a full body from a longer one.
            plain = self._decoder.decompress(chunk, room + 1)
            self.data += plain[:room]
            if len(plain) > room:
                return False
            chunk = self._decoder.unused_data
            # Bytes after the end are ignored, unless another compressed file begins there.
            if self._window != _GZIP_WINDOW or not chunk.startswith(_GZIP_MAGIC):
                return True
            self._members += 1
            if self._members > _MOST_MEMBERS:
                raise zlib.error("too many files in one body")
            self._decoder = zlib.decompressobj(self._window)


async def _extract_location(response: httpx2.Response) -> None:
    """Remove the target of a redirect: the client would refuse an answer with an invalid one."""
    response.extensions["location"] = response.headers.pop("location", None)


def _join(base: str, location: str) -> str:
    try:
        return urljoin(base, location)
    except ValueError:
        return location


def _reason(error: Exception) -> str:
    if isinstance(error, httpx2.RemoteProtocolError):
        # The error quotes the server, whose text must not be mistaken for Handrail's.
        return "its answer is not valid HTTP"
    return f"{type(error).__name__}: {error}"[:_MAX_REASON]


def _same_host_target(url: WebUrl, target: str) -> WebUrl | None:
    """The URL of a redirect that stays at its host; None if it leads elsewhere or is invalid."""
    try:
        found = parse_web_url(target)
    except ValueError:
        return None
    upgrade = (url.scheme, url.port, found.scheme, found.port) == ("http", 80, "https", 443)
    same = found.host == url.host and (found.port == url.port or upgrade)
    return found if same and not (url.scheme == "https" and found.scheme == "http") else None
