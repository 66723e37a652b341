"""Takes pictures of pages with a headless Chromium whose only network is the proxy of its sandbox.

Chromium is controlled through a pipe (the DevTools protocol). The proxy is the security boundary:
it connects only to the host of the page, because a call is allowed for one host, and only to
checked addresses. Requests are also refused here, so that they can be reported.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

import anyio

from handrail.core.names.hosts import HostList
from handrail.core.names.web_urls import WebReach, WebUrl, parse_web_url
from handrail.core.ports.media import MediaKind, MediaReader
from handrail.core.ports.processes import ProcessChannel
from handrail.core.ports.web import Screenshot, ScreenshotOptions
from handrail.core.problems import ProblemRaised
from handrail.core.text.nesting import parse_json
from handrail.web import messages

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
# Starts the browser with these hosts behind its proxy.
OpenBrowser = Callable[[tuple[str, ...]], Awaitable[ProcessChannel]]

ARGUMENTS: Final = (
    "--remote-debugging-pipe",
    # Handrail's own sandbox confines the browser; Chromium's cannot be set up inside.
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-default-apps",
    "--disable-extensions",
    "--disable-quic",
    "--disable-sync",
    "--dns-prefetch-disable",
    "--no-first-run",
    "--no-pings",
    "--mute-audio",
    "--hide-scrollbars",
    "--force-webrtc-ip-handling-policy=disable_non_proxied_udp",
    "--proxy-bypass-list=<-loopback>",
)
_USUAL_PORTS: Final = (80, 443)
_START_S: Final = 20.0
_LOAD_S: Final = 20.0
_CAPTURE_S: Final = 30.0
_MAX_MESSAGE: Final = 80_000_000
_MAX_PAGE_HEIGHT: Final = 8_000
_MOST_REFUSED: Final = 50
_MOST_HEADINGS: Final = 200
_DEEPEST_HEADING: Final = 6
_END: Final = b"\0"
_OWN_SCHEMES: Final = ("data:", "blob:", "about:")
_NO_WORKERS: Final = (
    "delete Navigator.prototype.serviceWorker; delete window.RTCPeerConnection;"
    "delete window.webkitRTCPeerConnection; delete window.WebTransport;"
)


class ChromiumCamera:
    """Takes each picture with a new browser and a new profile."""

    def __init__(
        self, reach: WebReach, resolve: Resolve, open_browser: OpenBrowser, media: MediaReader
    ) -> None:
        self._reach = reach
        self._resolve = resolve
        self._open_browser = open_browser
        self._media = media

    async def capture(self, url: WebUrl, options: ScreenshotOptions) -> Screenshot:
        """Return a picture of a page, encoded again; raises `denied`, `timeout`, `unavailable`."""
        hosts = self._hosts_of(url)
        # The proxy checks each connection again; this check reports the reason before a browser is
        # started.
        addresses = await self._resolve(url.host, url.port)
        if not addresses:
            raise messages.NOT_REACHED.error(host=url.host, reason="it has no address")
        refusal = self._reach.find_address_refusal(url, addresses)
        if refusal is not None:
            raise messages.REFUSED.error(url=url.text, reason=refusal)
        channel = await self._open_browser(hosts)
        limit_s = _START_S + _LOAD_S + _CAPTURE_S + options.delay_s
        try:
            page = BrowserPage(channel, url, HostList(hosts), self._reach)
            with anyio.fail_after(limit_s):
                shot, png = await page.capture(options)
        except TimeoutError:
            raise messages.BROWSER_TOO_SLOW.error(url=url.text, seconds=limit_s) from None
        except (ValueError, TypeError, LookupError, AttributeError):
            # The page may have taken over the browser.
            reason = "its answer is invalid"
            raise messages.BROWSER_FAILED.error(url=url.text, reason=reason) from None
        finally:
            with anyio.CancelScope(shield=True):
                await channel.close()
        if png is None:
            return shot
        view = await self._media.read(MediaKind.IMAGE, png, "the screenshot")
        return shot if view is None else shot._replace(image=view.images[0])

    def _hosts_of(self, url: WebUrl) -> tuple[str, ...]:
        """Return the host of a page as entries for the proxy; raises `denied`.

        An entry with a port may be local: only the user can name one.
        """
        host = f"[{url.host}]" if ":" in url.host else url.host
        ports = _USUAL_PORTS if url.port in _USUAL_PORTS else (url.port,)
        places = [url._replace(port=port) for port in ports]
        named = tuple(f"{host}:{one.port}" for one in places if self._reach.names(one))
        refusals = [self._reach.find_refusal(one) for one in places]
        open_ports = [one.port for one, why in zip(places, refusals, strict=True) if why is None]
        if url.port not in _USUAL_PORTS and not named:
            raise messages.UNUSUAL_PORT.error(authority=f"{host}:{url.port}")
        if url.port in _USUAL_PORTS and len(open_ports) == len(ports):
            return (host, *named)
        # An entry without a port would also open the port that is refused.
        hosts = tuple(f"{host}:{port}" for port in open_ports if f"{host}:{port}" in named)
        if not hosts:
            raise messages.REFUSED.error(url=url.text, reason=next(filter(None, refusals)))
        return hosts


class BrowserPage:
    """One page of a browser that was started for it."""

    def __init__(
        self, channel: ProcessChannel, url: WebUrl, hosts: HostList, reach: WebReach
    ) -> None:
        self._channel = channel
        self._reach = reach
        self._url = url
        self._hosts = hosts
        self._number = 0
        self._session: str | None = None
        self._frame = ""
        self._loaded = False
        self._failure = ""
        self._redirect: str | None = None
        self._refused: dict[str, None] = {}

    async def capture(self, options: ScreenshotOptions) -> tuple[Screenshot, bytes | None]:
        """Return the page after it was loaded, and its picture as PNG."""
        await self._prepare(options)
        answer = await self._call("Page.navigate", url=self._url.text)
        self._failure = self._failure or answer.get("errorText", "")
        with anyio.move_on_after(_LOAD_S):
            while not (self._loaded or self._redirect or self._failure):
                await self._receive()
        if (left := self._redirect_result()) is not None:
            return left, None
        if self._failure:
            raise messages.BROWSER_FAILED.error(url=self._url.text, reason=self._failure[:200])
        with anyio.move_on_after(options.delay_s):
            while options.delay_s:
                await self._receive()
        png = await self._picture(options)
        history = await self._call("Page.getNavigationHistory")
        if (left := self._redirect_result()) is not None:
            # After the page was loaded: the picture may show nothing of it.
            return left, None
        final = history["entries"][history["currentIndex"]]["url"]
        # Last: after an answer that is too long nothing more can be read.
        outline, more = await self._outline()
        if (left := self._redirect_result()) is not None:
            return left, None
        return Screenshot(final, None, outline, tuple(self._refused), outline_cut=more), png

    def _redirect_result(self) -> Screenshot | None:
        """Return the result if the page leads to another host."""
        if self._redirect is None:
            return None
        return Screenshot(self._url.text, redirect=self._redirect)

    async def _prepare(self, options: ScreenshotOptions) -> None:
        target = await self._call("Target.createTarget", url="about:blank")
        self._frame = target["targetId"]
        found = await self._call("Target.attachToTarget", targetId=self._frame, flatten=True)
        self._session = found["sessionId"]
        await self._call("Page.enable")
        await self._call("Network.enable")
        await self._call("Network.setBypassServiceWorker", bypass=True)
        await self._call("Page.addScriptToEvaluateOnNewDocument", source=_NO_WORKERS)
        await self._call("Fetch.enable", patterns=[{"urlPattern": "*"}])
        size = {"width": options.width, "height": options.height}
        await self._call(
            "Emulation.setDeviceMetricsOverride", **size, deviceScaleFactor=1, mobile=False
        )
        session, self._session = self._session, None
        await self._call("Browser.setDownloadBehavior", behavior="deny")
        self._session = session

    async def _picture(self, options: ScreenshotOptions) -> bytes:
        more: dict[str, Any] = {}
        if options.full_page:
            metrics = await self._call("Page.getLayoutMetrics")
            height = metrics["cssContentSize"]["height"]
            height = min(max(height, options.height), _MAX_PAGE_HEIGHT)
            clip = {"x": 0, "y": 0, "width": options.width, "height": height, "scale": 1}
            more = {"captureBeyondViewport": True, "clip": clip}
        found = await self._call("Page.captureScreenshot", format="png", **more)
        return base64.b64decode(found["data"])

    async def _outline(self) -> tuple[tuple[str, ...], bool]:
        """The headings that the accessibility tree of the page has, and whether there are more."""
        document = await self._call("DOM.getDocument", depth=0)
        asked = {"nodeId": document["root"]["nodeId"], "role": "heading"}
        try:
            found = await self._call("Accessibility.queryAXTree", **asked)
        except ProblemRaised as error:
            if error.problem.code != "too_large":
                raise
            return (), True
        lines: list[str] = []
        for node in found["nodes"]:
            if node.get("ignored"):
                continue
            if len(lines) == _MOST_HEADINGS:
                return tuple(lines), True
            known = {one["name"]: one["value"] for one in node.get("properties", ())}
            # A page may claim any level.
            level = min(int(known.get("level", {}).get("value", 1)), _DEEPEST_HEADING)
            name = " ".join(str(node.get("name", {}).get("value", "")).split())
            lines.append(f"{'#' * level} {name[:200]}")
        return tuple(lines), False

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        number = await self._send(method, **params)
        while True:
            message = await self._receive()
            if message.get("id") != number:
                continue
            if "error" in message:
                reason = f"{method}: {message['error'].get('message', '')}"[:200]
                raise messages.BROWSER_FAILED.error(url=self._url.text, reason=reason)
            result: dict[str, Any] = message["result"]
            return result

    async def _send(self, method: str, **params: Any) -> int:
        self._number += 1
        message = {"id": self._number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        await self._channel.send(json.dumps(message).encode() + _END)
        return self._number

    async def _receive(self) -> dict[str, Any]:
        data = await self._channel.receive_until(_END, _MAX_MESSAGE)
        if not data:
            raise messages.BROWSER_FAILED.error(url=self._url.text, reason="the browser ended")
        message: dict[str, Any] = parse_json(data.removesuffix(_END))
        params = message.get("params", {})
        match message.get("method"):
            case "Fetch.requestPaused":
                await self._decide_request(params)
            case "Page.loadEventFired":
                self._loaded = True
            case "Page.javascriptDialogOpening":
                # The page waits for an answer to the dialog, which no user sees.
                await self._send("Page.handleJavaScriptDialog", accept=False)
            case "Network.webSocketCreated":
                self._allows(params["url"].replace("ws", "http", 1))
            case "Inspector.targetCrashed":
                self._failure = "the page crashed the browser"
        return message

    async def _decide_request(self, params: dict[str, Any]) -> None:
        url, request = params["request"]["url"], params["requestId"]
        if self._allows(url):
            await self._send("Fetch.continueRequest", requestId=request)
            return
        if params.get("resourceType") == "Document" and params.get("frameId") == self._frame:
            self._redirect = url[:2_000]
        await self._send("Fetch.failRequest", requestId=request, errorReason="BlockedByClient")

    def _allows(self, text: str) -> bool:
        """Return whether a request of the page may be sent; record the host of a refused one."""
        if text.startswith(_OWN_SCHEMES):
            return True
        try:
            url = parse_web_url(text)
        except ValueError:
            name = text[:100]
        else:
            if self._hosts.allows(url.host, url.port) and self._reach.find_refusal(url) is None:
                return True
            name = url.authority
        if len(self._refused) < _MOST_REFUSED:
            self._refused.setdefault(name)
        return False
