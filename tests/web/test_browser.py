"""What the browser is told, and what becomes of its answers; a fake takes its place."""

import base64
import json
from types import SimpleNamespace

import pytest

from handrail.core.names.hosts import HostList
from handrail.core.names.web_urls import WebReach, parse_web_url
from handrail.core.ports.media import MediaKind
from handrail.core.ports.web import Screenshot, ScreenshotOptions
from handrail.core.problems import Problem, ProblemRaised
from handrail.web import browser
from handrail.web.browser import BrowserPage, ChromiumCamera

URL = "https://a.example/page"
PNG = b"a picture"
LOADED = ("Page.loadEventFired", {})


class FakeBrowser:
    """A channel that answers each command; `events` come after the answer to `after`."""

    def __init__(self, *events, after="Page.navigate", **answers):
        self.sent = []
        self.closed = False
        self._events, self._after = list(events), after
        self._ready = []
        self._answers = {
            "Target.createTarget": {"targetId": "frame"},
            "Target.attachToTarget": {"sessionId": "session"},
            "Page.captureScreenshot": {"data": base64.b64encode(PNG).decode()},
            "Page.getLayoutMetrics": {"cssContentSize": {"height": 1000}},
            "Page.getNavigationHistory": {
                "currentIndex": 1,
                "entries": [{"url": "x"}, {"url": URL}],
            },
            "DOM.getDocument": {"root": {"nodeId": 7}},
            "Accessibility.queryAXTree": {"nodes": []},
            **{name.replace("_", "."): answer for name, answer in answers.items()},
        }

    async def send(self, data):
        assert data.endswith(b"\0")
        message = json.loads(data[:-1])
        self.sent.append(message)
        answer = self._answers.get(message["method"], {})
        kind = "error" if "message" in answer else "result"
        self._put(id=message["id"], **{kind: answer})
        if message["method"] == self._after:
            for method, params in self._events:
                self._put(method=method, params=params)

    def _put(self, **message):
        self._ready.append(json.dumps(message).encode() + b"\0")

    async def receive_until(self, separator, limit):
        return self._ready.pop(0) if self._ready else b""

    async def close(self):
        self.closed = True

    def told(self, method):
        return [one.get("params") for one in self.sent if one["method"] == method]


async def captured(fake, *, url=URL, hosts=("a.example",), reach=None, **options):
    page = BrowserPage(fake, parse_web_url(url), HostList(hosts), reach or WebReach())
    return await page.capture(ScreenshotOptions(800, 600, **options))


def paused(url, request="r", **more):
    return "Fetch.requestPaused", {"request": {"url": url}, "requestId": request, **more}


async def test_a_page_is_loaded_and_its_picture_taken():
    fake = FakeBrowser(LOADED)

    shot, png = await captured(fake)

    assert (shot, png) == (Screenshot(URL), PNG)
    assert fake.told("Page.navigate") == [{"url": URL}]
    assert fake.told("Fetch.enable") == [{"patterns": [{"urlPattern": "*"}]}]
    assert fake.told("Network.setBypassServiceWorker") == [{"bypass": True}]
    assert fake.told("Browser.setDownloadBehavior") == [{"behavior": "deny"}]
    assert fake.told("Emulation.setDeviceMetricsOverride") == [
        {"width": 800, "height": 600, "deviceScaleFactor": 1, "mobile": False}
    ]
    assert fake.told("Page.captureScreenshot") == [{"format": "png"}]
    assert [one["id"] for one in fake.sent] == list(range(1, len(fake.sent) + 1))
    assert fake.told("Target.attachToTarget") == [{"targetId": "frame", "flatten": True}]
    without = [one["method"] for one in fake.sent if "sessionId" not in one]
    assert without == [
        "Target.createTarget",
        "Target.attachToTarget",
        "Browser.setDownloadBehavior",
    ]


@pytest.mark.parametrize(("height", "shown"), [(10, 600), (1000, 1000), (8000, 8000), (9000, 8000)])
async def test_a_whole_page_is_shown_up_to_a_height(height, shown):
    metrics = {"cssContentSize": {"height": height}}
    fake = FakeBrowser(LOADED, Page_getLayoutMetrics=metrics)

    await captured(fake, full_page=True)

    (asked,) = fake.told("Page.captureScreenshot")
    assert asked == {
        "format": "png",
        "captureBeyondViewport": True,
        "clip": {"x": 0, "y": 0, "width": 800, "height": shown, "scale": 1},
    }


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://a.example/x.css", None),
        ("http://a.example/x.css", None),
        ("data:text/css,a", None),
        ("blob:https://b.example/1", None),
        ("about:blank", None),
        ("https://b.example/x.js", "b.example"),
        ("https://b.example:444/x.js", "b.example:444"),
        ("https://a.example:444/x.js", "a.example:444"),
        ("file:///etc/passwd", "file:///etc/passwd"),
        ("ftp://" + "a" * 200, "ftp://" + "a" * 94),
    ],
)
async def test_requests_to_other_hosts_are_refused_and_named(url, name):
    fake = FakeBrowser(paused(url), LOADED)

    shot, _ = await captured(fake)

    refused = {"requestId": "r", "errorReason": "BlockedByClient"}
    assert fake.told("Fetch.continueRequest") == ([] if name else [{"requestId": "r"}])
    assert fake.told("Fetch.failRequest") == ([refused] if name else [])
    assert shot.refused == ((name,) if name else ())


async def test_a_denied_host_is_refused_although_it_is_the_host_of_the_page():
    fake = FakeBrowser(paused("https://a.example/x"), LOADED)

    shot, _ = await captured(fake, reach=WebReach(deny=["a.example"]))

    assert shot.refused == ("a.example",)


async def test_a_limited_number_of_refused_hosts_is_named_each_once(monkeypatch):
    monkeypatch.setattr(browser, "_MOST_REFUSED", 2)
    events = [paused(f"https://{name}.example/") for name in "bbcd"]
    sockets = [("Network.webSocketCreated", {"url": "wss://b.example/"})]

    shot, _ = await captured(FakeBrowser(*sockets, *events, LOADED))

    assert shot.refused == ("b.example", "c.example")


@pytest.mark.parametrize(
    ("more", "redirect"),
    [
        ({"resourceType": "Document", "frameId": "frame"}, "https://b.example/"),
        ({"resourceType": "Document", "frameId": "other"}, None),
        ({"resourceType": "Image", "frameId": "frame"}, None),
        ({}, None),
    ],
)
@pytest.mark.parametrize("after", ["Page.navigate", "Page.captureScreenshot", "DOM.getDocument"])
async def test_a_page_that_leads_elsewhere_has_no_picture(more, redirect, after):
    events = [paused("https://b.example/", **more)]
    fake = FakeBrowser(*([LOADED] if after == "Page.navigate" else []), *events, after=after)
    if after != "Page.navigate":
        fake._put(method="Page.loadEventFired", params={})

    shot, png = await captured(fake)

    assert shot.redirect == redirect
    assert (png is None) is (redirect is not None)


def node(name="", level=None, **more):
    properties = [] if level is None else [{"name": "level", "value": {"value": level}}]
    return {"name": {"value": name}, "properties": properties, **more}


async def test_headings_become_an_outline():
    nodes = [
        node("One", 1),
        node("", 2),
        node(" two \n words ", 3),
        node("deep", 99),
        node("plain"),
        node("hidden", 1, ignored=True),
        node("x" * 300, 1),
    ]

    shot, _ = await captured(FakeBrowser(LOADED, Accessibility_queryAXTree={"nodes": nodes}))

    lines = ("# One", "## ", "### two words", "###### deep", "# plain", "# " + "x" * 200)
    assert (shot.outline, shot.outline_cut) == (lines, False)


@pytest.mark.parametrize(("count", "cut"), [(2, False), (3, True)])
async def test_a_limited_number_of_headings_is_listed(monkeypatch, count, cut):
    monkeypatch.setattr(browser, "_MOST_HEADINGS", 2)
    nodes = [node(f"h{number}", 1) for number in range(count)]

    shot, _ = await captured(FakeBrowser(LOADED, Accessibility_queryAXTree={"nodes": nodes}))

    assert (len(shot.outline), shot.outline_cut) == (2, cut)


async def test_dialogs_are_answered():
    fake = FakeBrowser(("Page.javascriptDialogOpening", {}), LOADED)

    await captured(fake)

    assert fake.told("Page.handleJavaScriptDialog") == [{"accept": False}]


@pytest.mark.parametrize(
    ("fake", "reason"),
    [
        (FakeBrowser(Page_navigate={"errorText": "net::ERR"}), "net::ERR"),
        (FakeBrowser(("Inspector.targetCrashed", {})), "crashed"),
        (FakeBrowser(Page_enable={"message": "no such thing"}), "Page.enable: no such"),
        (FakeBrowser(), "the browser ended"),
    ],
)
async def test_a_page_that_fails_is_a_problem_with_the_reason(fake, reason):
    with pytest.raises(ProblemRaised, match=reason) as raised:
        await captured(fake)

    assert raised.value.problem.code == "unavailable"


async def resolve(host, port):
    return ["93.184.215.14"]


def camera(fake, opened, reach=None, addresses=None, view=None):
    async def open_browser(hosts):
        opened.append(hosts)
        return fake

    async def find(host, port):
        return addresses

    return ChromiumCamera(
        reach or WebReach(), resolve if addresses is None else find, open_browser, FakeMedia(view)
    )


class FakeMedia:
    """Reads every picture as `view`."""

    def __init__(self, view=None):
        self._view = view

    async def read(self, kind, data, name):
        assert (kind, data) == (MediaKind.IMAGE, PNG)
        return self._view


@pytest.mark.parametrize(
    ("url", "allow", "deny", "hosts"),
    [
        (URL, ["*"], [], ("a.example",)),
        ("http://a.example/", ["*"], [], ("a.example",)),
        (URL, ["*", "a.example:443"], [], ("a.example", "a.example:443")),
        (URL, ["a.example:443"], [], ("a.example:443",)),
        ("https://a.example:444/", ["a.example:444"], [], ("a.example:444",)),
    ],
)
async def test_the_proxy_opens_only_the_host_of_the_page(url, allow, deny, hosts):
    fake, opened = FakeBrowser(LOADED), []

    shot = await camera(fake, opened, WebReach(allow, deny)).capture(
        parse_web_url(url), ScreenshotOptions(8, 6)
    )

    assert (opened, shot.image, fake.closed) == ([hosts], None, True)


@pytest.mark.parametrize(
    ("url", "allow", "deny", "addresses"),
    [
        (URL, ["*"], ["a.example"], None),
        (URL, ["b.example"], [], None),
        (URL, ["*"], [], ["10.0.0.1"]),
        ("https://a.example:444/", ["*"], [], None),
    ],
)
async def test_a_host_that_must_not_be_reached_starts_no_browser(url, allow, deny, addresses):
    opened = []
    found = camera(FakeBrowser(), opened, WebReach(allow, deny), addresses)

    with pytest.raises(ProblemRaised) as raised:
        await found.capture(parse_web_url(url), ScreenshotOptions(8, 6))

    assert (raised.value.problem.code, opened) == ("denied", [])


async def test_the_picture_is_encoded_again():
    view = SimpleNamespace(images=["encoded again"])

    shot = await camera(FakeBrowser(LOADED), [], view=view).capture(
        parse_web_url(URL), ScreenshotOptions(8, 6)
    )

    assert shot == Screenshot(URL, "encoded again")


async def test_a_host_without_an_address_starts_no_browser():
    opened = []

    with pytest.raises(ProblemRaised, match="no address"):
        await camera(FakeBrowser(), opened, None, []).capture(
            parse_web_url(URL), ScreenshotOptions(8, 6)
        )

    assert opened == []


@pytest.mark.parametrize(
    "answer",
    [
        {"Target_createTarget": {}},
        {"Page_getNavigationHistory": {"currentIndex": 3, "entries": []}},
        {"Page_captureScreenshot": {"data": 7}},
        {"Accessibility_queryAXTree": {"nodes": [7]}},
    ],
)
async def test_an_invalid_answer_is_a_problem_and_ends_the_browser(answer):
    fake = FakeBrowser(LOADED, **answer)

    with pytest.raises(ProblemRaised, match="answer is invalid"):
        await camera(fake, []).capture(parse_web_url(URL), ScreenshotOptions(8, 6))

    assert fake.closed


async def test_an_outline_that_is_too_long_is_left_out():
    fake = FakeBrowser(LOADED)
    read = fake.receive_until

    async def receive_until(separator, limit):
        if fake.sent[-1]["method"] == "Accessibility.queryAXTree":
            raise ProblemRaised.of(Problem("too_large", "x", ""))
        return await read(separator, limit)

    fake.receive_until = receive_until

    shot, png = await captured(fake)

    assert (shot.outline, shot.outline_cut, png) == ((), True, PNG)
