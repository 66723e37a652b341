"""Screenshots through the front door, with a real browser in the sandbox."""

import asyncio
import io
import socket
import threading
import time

import pytest
from PIL import Image
from tests.support.web import http, serve

import handrail
from handrail.core.names.web_urls import parse_web_url
from handrail.host import resolver

QUARTERS = b"""<!doctype html><style>
body { margin: 0; display: grid; grid-template: 50vh 50vh / 50vw 50vw } h1, h2 { margin: 0 }
</style><div style="background:#f00"><h1>Red <b>quarter</b></h1></div>
<div style="background:#0f0"><h2>Green</h2></div><div style="background:#00f"><h2>Blue</h2></div>
<div style="background:#ff0"><h3>Yellow</h3><h2 hidden>Not seen</h2></div>"""


@pytest.fixture
def capture(open_runtime):
    """Take pictures of pages of one site, which a rule allows."""

    async def captured(pages, path="/", allow=(), web_deny=(), deny=(), **arguments):
        async with serve(pages) as site:
            config = {
                "web": {"allow": ["*", site.host, *allow], "deny": list(web_deny)},
                "permissions": {"allow": [f"screenshot(domain:{site.host})"], "deny": list(deny)},
            }
            async with open_runtime(config=config) as rt:
                return site, await rt.call("screenshot", {"url": site.url(path), **arguments})

    return captured


def picture(result):
    [image] = result.images
    return Image.open(io.BytesIO(image.data)).convert("RGB")


@pytest.mark.needs_browser
@pytest.mark.needs_bubblewrap
@pytest.mark.threat("A52")
class TestBrowser:
    @pytest.mark.feature("E35")
    async def test_four_quarters_have_their_colours_and_headings(self, capture):
        site, result = await capture({"/": QUARTERS}, width=800, height=600)

        assert result.ok, result.text
        image = picture(result)
        assert image.size == (800, 600)
        colours = [image.getpixel(at) for at in ((300, 200), (700, 200), (300, 500), (700, 500))]
        assert colours == [(255, 0, 0), (0, 255, 0), (0, 0, 255), (255, 255, 0)]
        outline = ["# Red quarter", "## Green", "## Blue", "### Yellow"]
        assert result.data == {
            "final_url": site.url(),
            "outline": outline,
            "outline_cut": False,
            "refused_requests": [],
        }
        assert result.text.startswith("\n".join(outline))

    async def test_of_many_headings_the_first_are_listed_and_the_result_says_so(self, capture):
        script = b"<script>part.attachShadow({mode: 'open'}).innerHTML = '<h2>Shadow</h2>'</script>"
        many = b"".join(b"<h3>%d</h3>" % number for number in range(400))
        page = b"<h1>One</h1><h2 hidden>No</h2><div id=part></div>" + many + script
        _, result = await capture({"/": page})

        listed = result.data["outline"]
        assert (listed[:3], len(listed)) == (["# One", "## Shadow", "### 0"], 200)
        assert result.data["outline_cut"]
        assert "the first 200" in result.text

    async def test_a_long_page_is_shown_whole_and_scripts_get_their_time(self, capture):
        page = (
            b"<body style='margin:0'><div style='height:3000px;background:#0f0'></div><script>"
            b"setTimeout(() => document.body.firstChild.style.background = '#f00', 300)</script>"
        )
        _, result = await capture({"/": page}, width=200, height=100, full_page=True, delay_s=2)

        image = picture(result)
        assert image.size[1] == 1568
        assert image.getpixel((20, 1500)) == (255, 0, 0)

    async def test_other_hosts_and_schemes_are_reached_by_no_kind_of_request(self, capture):
        """A page that tries everything; a listener on this machine counts who comes."""
        with listening() as (port, came):
            targets = f"localhost:{port}", f"127.0.0.1:{port}", "169.254.169.254", "example.org"
            page = "<h1>here</h1><iframe src='file:///etc/passwd'></iframe><script>"
            page += "navigator.serviceWorker && navigator.serviceWorker.register('/worker.js');"
            stun = f"{{iceServers: [{{urls: 'stun:127.0.0.1:{port}'}}]}}"
            page += f"try {{ new RTCPeerConnection({stun}) }} catch (e) {{}}"
            for host in targets:
                page += f"new Image().src = 'http://{host}/image'; fetch('http://{host}/fetch', {{mode: 'no-cors'}});"
                page += f"try {{ new WebSocket('ws://{host}/socket') }} catch (e) {{}}"
                page += f"navigator.sendBeacon('http://{host}/beacon', 'x'); window.open('http://{host}/');"
                page += (
                    f"new Worker(URL.createObjectURL(new Blob([`fetch('http://{host}/worker')`])));"
                )
            page += "</script>"
            worker = http(b"fetch('http://169.254.169.254/')", "text/javascript")
            site, result = await capture({"/": page.encode(), "/worker.js": worker}, delay_s=1.5)

        assert result.ok, result.text
        assert result.data["outline"] == ["# here"]
        assert came == []
        refused = set(result.data["refused_requests"])
        assert {"169.254.169.254", "example.org", f"127.0.0.1:{port}"} <= refused
        assert set(site.requests) <= {"/", "/favicon.ico"}

    @pytest.mark.threat("A50")
    async def test_a_page_that_leads_to_another_host_is_an_answer(self, capture):
        moved = b"HTTP/1.1 302 Found\r\nLocation: http://169.254.169.254/latest/\r\n\r\n"
        _, result = await capture({"/": moved})

        assert result.data["final_url"] == "http://169.254.169.254/latest/"
        assert result.images == ()

    @pytest.mark.threat("A50")
    @pytest.mark.parametrize("how", ["status", "script", "refresh", "later"])
    async def test_a_page_leads_to_no_host_that_the_call_was_not_allowed_for(self, capture, how):
        """The other host is named in `web.allow`, and a rule denies it."""
        with listening() as (port, came):
            target = f"http://localhost:{port}/there"
            go = f"location = '{target}'"
            answers = {
                "status": f"HTTP/1.1 302 Found\r\nLocation: {target}\r\n\r\n",
                "script": f"<h1>here</h1><script>{go}</script>",
                "refresh": f"<h1>here</h1><meta http-equiv=refresh content='0;url={target}'>",
                "later": f"<h1>here</h1><script>onload = () => setTimeout(() => {go}, 200)</script>",
            }
            other = f"localhost:{port}"
            deny = [f"screenshot(domain:{other})", f"web_fetch(domain:{other})"]
            _, result = await capture(
                {"/": answers[how].encode()}, allow=[other], deny=deny, delay_s=1.5
            )

        assert result.data["final_url"] == target
        assert result.images == ()
        assert came == []

    @pytest.mark.parametrize("setting", ["web_deny", "deny"])
    async def test_a_denied_host_gets_no_kind_of_connection(self, capture, setting):
        with listening() as (port, came):
            host = f"localhost:{port}"
            inner = (
                f"fetch('http://{host}/inner').catch(() => 0); new WebSocket('ws://{host}/inner')"
            )
            blob = f'URL.createObjectURL(new Blob(["{inner}"]))'
            rules = f'{{"prerender": [{{"source": "list", "urls": ["http://{host}/rule"]}}]}}'
            page = f"""<h1>here</h1><iframe src="http://{host}/frame"></iframe>
                <link rel=preconnect href="http://{host}"><link rel=prefetch href="http://{host}/p">
                <script type=speculationrules>{rules}</script>
                <a target=_blank href="http://{host}/blank" ping="http://{host}/ping">a</a><script>
                fetch("http://{host}/fetch").catch(() => 0); navigator.sendBeacon("http://{host}/b");
                new WebSocket("ws://{host}/socket"); new Worker({blob}); new SharedWorker({blob});
                window.open("http://{host}/open"); document.querySelector("a").click();</script>"""
            entry = host if setting == "web_deny" else f"screenshot(domain:{host})"
            _, result = await capture(
                {"/": page.encode()}, allow=[host], delay_s=1.5, **{setting: [entry]}
            )

        assert result.data["outline"] == ["# here"]
        assert host in result.data["refused_requests"]
        assert came == []

    @pytest.mark.needs_root
    async def test_a_name_that_turns_local_reaches_nothing(self, open_runtime, monkeypatch):
        """It has a public address when it is checked, and a local one when it is connected to: the name of
        this machine usually has.
        """

        async def public(host, port):
            return ["93.184.216.34"]

        monkeypatch.setattr(resolver, "resolve_addresses", public)
        config = {"permissions": {"allow": ["screenshot"]}}
        with listening(port=80) as (_, came):
            async with open_runtime(config=config) as rt:
                url = f"http://{socket.gethostname()}/"
                result = await rt.call("screenshot", {"url": url})

        assert result.data["outline"] == [], result.text
        assert came == []

    async def test_a_page_cannot_stop_or_flood_us(self, capture):
        """Dialogs wait for nobody, and a heading of any level is one line."""
        page = (
            b"<h1>here</h1><div role=heading aria-level=9>deep</div>"
            b"<script>alert(1); confirm(2); prompt(3); print(); window.onbeforeunload = () => 'x';"
            b"document.body.append(confirm(4) + 'n')</script><h2>after</h2>"
        )
        start = time.monotonic()
        _, result = await capture({"/": page})

        assert result.ok, result.text
        assert time.monotonic() - start < 50
        assert result.data["outline"] == ["# here", "###### deep", "## after"]

    async def test_a_page_that_computes_for_ever_ends_in_time(self, capture, monkeypatch):
        from handrail.web import browser

        for name in ("_START_S", "_LOAD_S", "_CAPTURE_S"):
            monkeypatch.setattr(browser, name, 3.0)
        _, result = await capture({"/": b"<h1>here</h1><script>for (;;) {}</script>"})

        assert result.problem.code == "timeout"
        assert "within 9 s" in result.problem.message
        assert result.images == ()

    async def test_a_page_that_never_ends_is_shown_as_far_as_it_came(self, capture, monkeypatch):
        from handrail.web import browser

        monkeypatch.setattr(browser, "_LOAD_S", 2.0)
        ended = asyncio.Event()

        async def endless(path, writer):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n<h1>begin</h1>")
            await writer.drain()
            await asyncio.wait_for(ended.wait(), 60)

        _, result = await capture({"/": endless})
        ended.set()

        assert result.data["outline"] == ["# begin"]


class listening:
    """Counts connections to a port of this machine."""

    def __init__(self, port=0):
        self.server = socket.create_server(("127.0.0.1", port))
        self.came = []

    def __enter__(self):
        self.thread = threading.Thread(target=self._accept, daemon=True)
        self.thread.start()
        return self.server.getsockname()[1], self.came

    def _accept(self):
        while True:
            try:
                client, _ = self.server.accept()
            except OSError:
                return
            self.came.append(client.recv(100))
            client.close()

    def __exit__(self, *_):
        self.server.shutdown(socket.SHUT_RDWR)
        self.server.close()
        self.thread.join(5)


class TestRefusals:
    async def test_a_host_with_a_local_address_starts_no_browser(self, open_runtime):
        config = {"web": {"browser": "/bin/true"}, "permissions": {"allow": ["screenshot"]}}
        async with open_runtime(config=config) as rt:
            result = await rt.call("screenshot", {"url": "http://localhost/"})

        assert result.problem.code in ("denied", "unavailable")

    @pytest.mark.parametrize(
        ("url", "code"),
        [
            ("file:///etc/passwd", "invalid_arguments"),
            ("http://127.0.0.1/", "denied"),
            ("http://169.254.169.254/latest/", "denied"),
            ("http://user@example.org/", "invalid_arguments"),
            ("http://example.org:22/", "denied"),
        ],
    )
    async def test_some_urls_start_no_browser(self, open_runtime, url, code):
        async with open_runtime(mode="bypass") as rt:
            result = await rt.call("screenshot", {"url": url})

        assert result.problem.code == code

    @pytest.mark.threat("A49")
    async def test_rules_about_pages_bind_pictures_of_them(self, open_runtime):
        permissions = {"allow": ["screenshot"], "deny": ["web_fetch(domain:example.org)"]}
        async with open_runtime(config={"permissions": permissions}) as rt:
            result = await rt.call("screenshot", {"url": "https://www.example.org/"})

        assert result.problem.code == "denied"

    @pytest.mark.threat("A49")
    @pytest.mark.parametrize("host", ["8.8.4.4", "[::ffff:8.8.4.4]", "[64:ff9b::808:404]"])
    @pytest.mark.parametrize("tool", ["screenshot", "web_fetch"])
    async def test_a_denied_address_is_denied_in_every_spelling(self, open_runtime, tool, host):
        assert parse_web_url(f"http://{host}/").host == "8.8.4.4"
        for entry in ("8.8.4.4", "[::FFFF:808:404]"):
            rule = {"permissions": {"deny": [f"web_fetch(domain:{entry})"]}}
            for config in ({"web": {"deny": [entry]}}, rule):
                async with open_runtime(mode="bypass", config=config) as rt:
                    result = await rt.call(tool, {"url": f"http://{host}/"})

                assert result.problem.code == "denied"

    async def test_without_a_browser_the_result_says_what_to_install(
        self, open_runtime, monkeypatch, tmp_path
    ):
        monkeypatch.setenv("PATH", str(tmp_path))
        async with open_runtime(mode="bypass") as rt:
            result = await rt.call("screenshot", {"url": "https://example.org/"})

        assert result.problem.code == "unavailable"
        assert "chromium-headless-shell" in result.problem.hint

    @pytest.mark.threat("A46")
    @pytest.mark.needs_bubblewrap
    @pytest.mark.parametrize("where", ["workspace", "path", "cache"])
    async def test_a_planted_browser_is_not_started(
        self, open_runtime, workspace, monkeypatch, tmp_path, where
    ):
        """In the workspace, or in a directory that everybody may write, on PATH or in the cache."""
        proof = tmp_path / "proof"
        cached = "ms-playwright/chromium_headless_shell-9/chrome-linux/headless_shell"
        program = {
            "workspace": workspace.root / "chromium-headless-shell",
            "path": tmp_path / "programs" / "chromium-headless-shell",
            "cache": tmp_path / "cache" / cached,
        }[where]
        program.parent.mkdir(parents=True, exist_ok=True)
        program.write_text(f"#!/bin/sh\ntouch {proof}\n")
        program.chmod(0o755)
        if where != "workspace":
            program.parent.chmod(0o1777)
        monkeypatch.setenv("PATH", str(program.parent))
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
        async with open_runtime(mode="bypass") as rt:
            result = await rt.call("screenshot", {"url": "https://example.org/"})

        assert result.problem.code == "unavailable"
        assert "chromium-headless-shell" in result.problem.message
        assert not proof.exists()

    async def test_without_a_sandbox_no_browser_is_started(self, open_runtime):
        async with open_runtime(
            mode="bypass", sandbox="none", config={"web": {"browser": "/bin/true"}}
        ) as rt:
            result = await rt.call("screenshot", {"url": "https://example.org/"})

        assert (result.problem.code, "doctor" in result.problem.hint) == ("unavailable", True)

    async def test_without_pillow_the_result_names_the_extra(self, open_runtime, monkeypatch):
        from handrail.assembly.extras import browser

        monkeypatch.setattr(browser, "package_directories", lambda modules: None)
        async with open_runtime(mode="bypass") as rt:
            result = await rt.call("screenshot", {"url": "https://example.org/"})

        assert result.problem.hint == 'pip install "handrail[browser]"'

    @pytest.mark.needs_bubblewrap
    async def test_a_program_that_is_no_browser_is_a_problem(self, open_runtime):
        async with open_runtime(mode="bypass", config={"web": {"browser": "/bin/true"}}) as rt:
            result = await rt.call("screenshot", {"url": "https://example.org/"})

        assert result.problem.code == "unavailable"

    @pytest.mark.needs_bubblewrap
    @pytest.mark.parametrize(
        "answer",
        ["no JSON", "[]", "null", '{"id": 1}', '{"id": 1, "result": 3}', "[" * 100_000],
        ids=["text", "list", "null", "no result", "number", "nested"],
    )
    async def test_a_browser_that_answers_nonsense_is_a_problem(
        self, open_runtime, tmp_path, answer
    ):
        program = tmp_path / "browser"
        program.write_text(f"#!/bin/sh\nprintf '%s\\0' '{answer}' >&4\nexec sleep 60\n")
        program.chmod(0o755)
        async with (
            serve({"/": b"a"}) as site,
            open_runtime(
                mode="bypass",
                config={"web": {"allow": [site.host], "browser": str(program)}},
            ) as rt,
        ):
            result = await rt.call("screenshot", {"url": site.url()})

        assert result.problem.code == "unavailable"
        assert "invalid" in result.problem.message

    @pytest.mark.needs_bubblewrap
    async def test_a_host_with_a_denied_port_starts_no_browser(self, open_runtime, monkeypatch):
        """The page could connect to that port."""

        async def public(host, port):
            return ["93.184.216.34"]

        monkeypatch.setattr(resolver, "resolve_addresses", public)
        web = {"deny": ["example.org:80"], "browser": "/bin/true"}
        async with open_runtime(mode="bypass", config={"web": web}) as rt:
            result = await rt.call("screenshot", {"url": "https://example.org/"})

        assert result.problem.code == "denied"
        assert "web.deny" in result.problem.message

    async def test_an_unusual_port_must_be_named(self, open_runtime):
        approver = handrail.Answer("yes")
        async with open_runtime(
            approver=lambda request: approver, config={"web": {"browser": "/bin/true"}}
        ) as rt:
            result = await rt.call("screenshot", {"url": "https://example.org:8443/"})

        assert result.problem.code in ("denied", "unavailable")


@pytest.mark.feature("E35")
async def test_linggen_names_it_capture_screenshot(open_runtime):
    async with open_runtime(dialect="linggen") as rt:
        shown = rt.declare("anthropic", groups=["web"])
        result = await rt.call("capture_screenshot", {"url": "file:///a", "delay_ms": 500})

    assert "capture_screenshot" in [tool["name"] for tool in shown]
    assert result.problem.code == "invalid_arguments"
