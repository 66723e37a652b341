"""The documentation site: built without network, complete, and loading nothing from elsewhere."""

import functools
import json
import subprocess
import sys
import threading
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from tests.support.browser import open_browser

import handrail

# Building the site in the first test takes some seconds.
pytestmark = pytest.mark.timeout(300)
ROOT = Path(__file__).resolve().parents[2]
# What a browser loads by itself; links of `a` are followed by a reader only.
LOADED = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "embed": "src",
    "object": "data",
    "link": "href",
}
# The dialog of the search has a tree of its own.
_SEARCH = "[...document.querySelectorAll('div')].find((one) => one.shadowRoot)?.shadowRoot"


class SitePage(HTMLParser):
    """The addresses that a page loads and links to, and the ids that it has."""

    def __init__(self, path):
        super().__init__()
        self.loads, self.links, self.ids, self.policy = [], [], set(), ""
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.ids.add(given.get("id"))
        if tag in LOADED and given.get(LOADED[tag]):
            self.loads.append(given[LOADED[tag]])
        if tag == "a" and given.get("href"):
            self.links.append(given["href"])
        if given.get("http-equiv") == "Content-Security-Policy":
            self.policy = given["content"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    output = tmp_path_factory.mktemp("site") / "out"
    command = [sys.executable, ROOT / "scripts" / "build_site.py", "--output", output]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return output


@pytest.fixture(scope="module")
def pages(site):
    return {path: SitePage(path) for path in sorted(site.rglob("*.html"))}


def test_pages_load_nothing_from_elsewhere(pages):
    foreign = [
        (path.name, address)
        for path, page in pages.items()
        for address in page.loads
        if urlsplit(address).scheme not in ("", "data") or urlsplit(address).netloc
    ]
    missing = [path.name for path, page in pages.items() if "default-src 'self'" not in page.policy]

    assert foreign == []
    # What the scripts of the theme could load on demand is refused by the policy.
    assert missing == []


def test_style_sheets_load_nothing_from_elsewhere(site):
    sheets = [path.read_text(encoding="utf-8") for path in site.rglob("*.css")]

    assert sheets
    assert [text for text in sheets if "url(http" in text or "url(//" in text] == []


def test_links_and_their_anchors_lead_somewhere(site, pages):
    dead = [
        (path.relative_to(site).as_posix(), link)
        for path, page in pages.items()
        for link in [*page.links, *page.loads]
        if not _leads_somewhere(link, path, site, pages)
    ]

    assert dead == []


def _leads_somewhere(link, path, site, pages):
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return True
    # The page for missing addresses is shown at any depth: its links begin at the top.
    base = site if parts.path.startswith("/") else path.parent
    target = (base / unquote(parts.path).lstrip("/")).resolve() if parts.path else path
    target = target / "index.html" if target.is_dir() else target
    if not target.is_file():
        return False
    return not parts.fragment or target.suffix != ".html" or _has_anchor(pages[target], parts)


def _has_anchor(page, parts):
    return unquote(parts.fragment) in page.ids


def test_every_page_of_the_repository_and_every_public_name_is_there(site, pages):
    wanted = [path.relative_to(ROOT / "docs") for path in (ROOT / "docs").rglob("*.md")]
    made = [
        site
        / (path.with_name("index.html") if path.stem == "README" else path.with_suffix(".html"))
        for path in wanted
    ]
    names = {name for name in handrail.__all__ if not name.startswith("_")}

    assert [path for path in made if path not in pages] == []
    assert names - pages[site / "api" / "index.html"].ids == set()
    reference = (site / "api" / "index.html").read_text(encoding="utf-8")
    assert str(handrail.Agent.steer.__doc__) in reference
    assert str(ROOT) not in "".join(path.read_text(encoding="utf-8") for path in pages)


def test_the_search_index_knows_pages_and_public_names(site):
    index = json.loads((site / "search.json").read_text(encoding="utf-8"))
    found = {item["location"] for item in index["items"]}

    assert {"undo.html", "api/index.html#Runtime.undo"} <= {one.rstrip("#") for one in found}


@pytest.mark.needs_browser
def test_a_reader_searches_and_no_other_host_is_asked(site, tmp_path):
    with _serve(site) as address, open_browser(tmp_path / "profile") as browser:
        browser.call("Network.enable")
        browser.resize()
        browser.open(f"{address}/index.html")
        browser.wait_for(f"{_SEARCH} !== undefined")
        browser.click_at(".md-search__button")
        browser.wait_for(f"{_SEARCH}.activeElement !== null")
        browser.call("Input.insertText", text="rewind conversation")
        browser.wait_for(f"{_SEARCH}.textContent.includes('Agent.rewind')")
        browser.press_enter()
        browser.wait_for("location.pathname === '/api/index.html'")
        browser.wait_for_text("Restore the conversation and the files")
        sent = [
            one["params"]["request"]["url"]
            for one in browser.messages
            if one.get("method") == "Network.requestWillBeSent"
        ]

    assert sent
    assert [url for url in sent if not url.startswith((address, "data:", "blob:"))] == []


@contextmanager
def _serve(site):
    handler = functools.partial(_QuietHandler, directory=site)
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join(30)
        server.server_close()


class _QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass
