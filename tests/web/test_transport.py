"""What requests reach: checked addresses and nothing else."""

import asyncio
import gzip
import ssl

import httpx2
import pytest
from tests.support.web import Connections, Names, http, rows, serve

from handrail.core.names.web_urls import WebReach, is_public_address, parse_web_url
from handrail.core.problems import ProblemRaised
from handrail.host.resolver import resolve_addresses
from handrail.web.fetcher import FetchLimits, HttpFetcher
from handrail.web.transport import HostPacer, PinningTransport

# A question at the approval, not a refusal by the transport: tests/spec/test_web.py.
ASKED = "exfil"
PUBLIC = "93.184.216.34"


async def fetch(url, names, connections, reach=None, **limits):
    """What came of a request, "refused" for a URL or an address that was not accepted."""
    fetcher = HttpFetcher(reach or WebReach(), names, FetchLimits(**limits), connections)
    try:
        return await fetcher.get(parse_web_url(url), 5_000_000)
    except ValueError:
        return "refused"
    except ProblemRaised as raised:
        assert raised.problem.code == "denied"
        return "refused"
    finally:
        await fetcher.aclose()


@pytest.mark.threat("A50")
@pytest.mark.feature("E37")
@pytest.mark.parametrize(
    "row",
    [row for row in rows("ssrf_urls.jsonl") if row["category"] != ASKED or "@" in row["url"]],
    ids=lambda row: row["id"],
)
async def test_no_connection_is_made_to_what_must_not_be_reached(row):
    names, connections = Names.of_row(row), Connections(row.get("redirects"))

    page = await fetch(row["url"], names, connections)

    reached = [address for address, _, _ in connections.made]
    assert all(map(is_public_address, reached))
    if row["category"] == "rebinding":
        # The address that was checked is the one that is used.
        assert (page.status, reached) == (200, [PUBLIC])
    elif "redirects" in row:
        assert (page.redirect, len(reached)) == (row["redirects"][0], 1)
    else:
        assert (page, reached) == ("refused", [])


@pytest.mark.parametrize("row", rows("ssrf_ok.jsonl"), ids=lambda row: row["id"])
async def test_public_hosts_are_reached_at_their_checked_address(row):
    names, connections = Names.of_row(row), Connections()

    page = await fetch(row["url"], names, connections)

    assert page.body == b"hello"
    assert len(connections.made) == 1


MORE_DENIED = [
    "http://[::127.0.0.1]/",
    "http://[64:ff9b:1::7f00:1]/",
    "http://[2001:0:7f00:1::1]/",
    "http://[fe80::1%25eth0]/",
    "http://[::ffff:169.254.169.254]:8080/",
    "http://0177.0.0.1/",
    "http://0x7f.0x0.0x0.0x1/",
    "http://127.0.0.1./",
    "http://1.2.3.4.5/",
    "http://256.1.1.1/",
    "http://4294967296/",
    "http://1.2.3.0x/",
    "http://\uff11\uff12\uff17.0.0.1/",
    "http://127\u30020\u30020\u30021/",
    "http://exa mple.org/",
    "http://example.org\u202e/",
    "http://-bad.example/",
    "http://" + "a" * 64 + ".example/",
    "http://example.org:+80/",
    "http://example.org:80:80/",
    "http://[::1]extra/",
    "http://example.org/" + "a" * 2_000,
    "https://@example.org/",
    "//example.org/",
    "example.org",
    "ftp://example.org/",
    "data:text/plain,hello",
    "wss://example.org/",
    "http://example.org:3306/",
    "http://192.0.2.1/",
    "http://[2001:db8::1]/",
    "http://[::ffff:0:0:7f00:1]/",
    "http://[4000::1]/",
    "http://LOCALHOST./",
    "http://example.localhost/",
]


@pytest.mark.parametrize("url", MORE_DENIED)
async def test_further_spellings_ask_no_name_and_reach_nothing(url):
    names, connections = Names({"example.org": [[PUBLIC]]}), Connections()

    assert await fetch(url, names, connections) == "refused"
    assert (names.asked, connections.made) == ([], [])


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://xn--bcher-kva.example/", "xn--bcher-kva.example"),
        ("https://bücher.example/ü?q=ä", "xn--bcher-kva.example"),
        ("http://0x8.8.8.8/", "8.8.8.8"),
        ("https://[2606:4700::1111]/", "2606:4700::1111"),
    ],
)
async def test_other_spellings_of_public_hosts_are_normalized(url, host):
    found = parse_web_url(url)

    assert found.host == host
    assert found.text.isascii()
    assert parse_web_url(found.text) == found


async def test_a_host_with_a_private_address_among_others_is_refused():
    names = Names({"example.org": [[PUBLIC, PUBLIC, PUBLIC, PUBLIC, PUBLIC, "10.0.0.1"]]})
    connections = Connections()

    assert await fetch("http://example.org/", names, connections) == "refused"
    assert connections.made == []


async def test_the_second_address_is_used_if_the_first_does_not_answer():
    class FirstDown(Connections):
        async def handle_async_request(self, request):
            if request.url.host == PUBLIC:
                raise httpx2.ConnectError("down")
            return await super().handle_async_request(request)

    connections = FirstDown()
    names = Names({"example.org": [[PUBLIC, "8.8.8.8"]]})

    page = await fetch("http://example.org/a", names, connections)

    assert page.status == 200
    assert connections.made == [("8.8.8.8", "example.org", "/a")]
    assert names.asked == ["example.org"]


class TestReach:
    @pytest.mark.parametrize(
        ("allow", "deny", "url", "allowed"),
        [
            (["*"], [], "https://a.example/", True),
            (["*"], ["a.example"], "https://a.example/", False),
            (["*"], ["a.example"], "https://b.a.example/", False),
            (["*"], ["a.example"], "https://xa.example/", True),
            (["*"], ["a.example:8443"], "https://a.example/", True),
            (["*"], ["a.example:8443"], "https://a.example:8443/", False),
            (["a.example"], [], "https://a.example/", True),
            (["a.example"], [], "https://b.example/", False),
            (["*.a.example"], [], "https://b.a.example/", True),
            ([], [], "https://a.example/", False),
            (["*", "db.example:5432"], [], "http://db.example:5432/", True),
            (["*", "127.0.0.1:9"], [], "http://127.0.0.1:9/", True),
            (["*", "127.0.0.1:9"], [], "http://127.0.0.1:80/", False),
            (["*", "127.0.0.1:9"], ["127.0.0.1"], "http://127.0.0.1:9/", False),
        ],
    )
    def test_lists_decide_before_any_name_is_resolved(self, allow, deny, url, allowed):
        reach = WebReach(allow, deny)

        assert (reach.find_refusal(parse_web_url(url)) is None) is allowed

    @pytest.mark.threat("A42")
    async def test_only_the_exact_host_and_port_may_be_local(self):
        reach = WebReach(["*", "app.example:8080"])
        names = Names({"app.example": [["127.0.0.1"]]})

        connections = Connections()
        assert (await fetch("http://app.example:8080/", names, connections, reach)).status == 200
        assert await fetch("http://app.example/", names, connections, reach) == "refused"
        assert [one[0] for one in connections.made] == ["127.0.0.1"]


async def get(site, path="/", max_bytes=100_000, **limits):
    fetcher = HttpFetcher(WebReach([site.host]), resolve_addresses, FetchLimits(**limits))
    try:
        return await fetcher.get(parse_web_url(site.url(path)), max_bytes)
    finally:
        await fetcher.aclose()


class TestLimits:
    async def test_a_page_is_fetched_over_a_real_connection(self):
        async with serve({"/": b"<p>hello"}) as site:
            page = await get(site)

        assert (page.status, page.body, page.cut) == (200, b"<p>hello", "")

    async def test_a_page_that_never_ends_is_cut_at_its_size(self):
        async def endless(path, writer):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n")
            while not writer.is_closing():
                writer.write(b"x" * 65_536)
                await writer.drain()

        async with serve({"/": endless}) as site:
            page = await get(site)

        assert len(page.body) == 100_000
        assert "100,000 bytes" in page.cut

    async def test_a_page_that_stalls_is_cut_in_time(self):
        stalled = asyncio.Event()

        async def stall(path, writer):
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\nbegin")
            await writer.drain()
            await asyncio.wait_for(stalled.wait(), 10)

        async with serve({"/": stall}) as site:
            page = await get(site, body_s=0.2)
            stalled.set()

        assert page.body == b"begin"
        assert "0.2 s" in page.cut

    async def test_a_host_that_says_nothing_is_given_up(self):
        silent = asyncio.Event()

        async def say_nothing(path, writer):
            await asyncio.wait_for(silent.wait(), 10)

        async with serve({"/": say_nothing}) as site:
            with pytest.raises(ProblemRaised) as raised:
                await get(site, first_byte_s=0.2)
            silent.set()

        assert raised.value.problem.code == "timeout"

    async def test_a_compressed_page_is_read(self):
        async with serve({"/": http(gzip.compress(b"plain"), Content_Encoding="gzip")}) as site:
            assert (await get(site)).body == b"plain"

    async def test_a_gzip_bomb_is_cut_at_its_plain_size(self):
        bomb = gzip.compress(bytes(50_000_000), 9)
        async with serve({"/": http(bomb, Content_Encoding="gzip")}) as site:
            page = await get(site)

        assert len(bomb) < 60_000
        assert len(page.body) == 100_000
        assert page.cut

    async def test_compression_without_content_is_cut_too(self):
        empty = gzip.compress(b"")[:10] + b"\x00\x00\x00\xff\xff" * 100_000
        async with serve({"/": http(empty, Content_Encoding="gzip")}) as site:
            page = await get(site)

        assert page.body == b""
        assert page.cut

    @pytest.mark.parametrize(
        ("body", "encoding"),
        [(b"not gzip", "gzip"), (gzip.compress(b"a" * 999, mtime=0)[:-9], "gzip")],
        ids=["not compressed", "cut short"],
    )
    async def test_broken_compression_ends_the_page(self, body, encoding):
        async with serve({"/": http(body, Content_Encoding=encoding)}) as site:
            page = await get(site)

        assert page.status == 200

    async def test_an_encoding_that_was_not_asked_for_is_a_problem(self):
        async with serve({"/": http(b"x", Content_Encoding="br")}) as site:
            with pytest.raises(ProblemRaised, match="br"):
                await get(site)


def redirect(location):
    return f"HTTP/1.1 302 Found\r\nLocation: {location}\r\n\r\n".encode()


class TestRedirects:
    async def test_redirects_within_the_host_are_followed(self):
        async with serve({"/": redirect("/two"), "/two": b"here"}) as site:
            page = await get(site)

        assert (page.body, page.url.target) == (b"here", "/two")

    @pytest.mark.threat("A50")
    @pytest.mark.parametrize("target", ["http://example.org/", "http://localhost:1/", "file:///a"])
    async def test_redirects_to_anything_else_are_answers(self, target):
        async with serve({"/": redirect(target)}) as site:
            page = await get(site)

        assert (page.redirect, page.body, site.requests) == (target, b"", ["/"])

    async def test_endless_redirects_are_a_problem(self):
        async with serve({"/": redirect("/")}) as site:
            with pytest.raises(ProblemRaised, match="redirected"):
                await get(site)

        assert len(site.requests) == 6

    async def test_a_secure_page_is_not_continued_in_the_clear(self):
        names = Names({"example.org": [[PUBLIC]]})
        page = await fetch("https://example.org/", names, Connections(["http://example.org/"]))

        assert page.redirect == "http://example.org/"


async def test_robots_txt_decides_where_the_setting_says_so():
    pages = {"/robots.txt": http(b"User-agent: *\nDisallow: /private", "text/plain"), "/": b"a"}
    async with serve(pages) as site:
        assert (await get(site, robots=True)).body == b"a"
        with pytest.raises(ProblemRaised, match=r"robots\.txt"):
            await get(site, "/private/a", robots=True)
        assert (await get(site, "/private/a")).status == 404

    assert site.requests.count("/private/a") == 1


async def test_requests_to_one_host_keep_their_distance():
    loop = asyncio.get_running_loop()
    pacer, start = HostPacer(0.05), loop.time()

    for host in ("a", "a", "b", "a"):
        await pacer.wait(host)

    assert loop.time() - start >= 0.1


async def test_the_environment_sets_no_proxy(monkeypatch):
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with serve({"/": b"direct"}) as site:
        assert (await get(site)).body == b"direct"


async def test_a_certificate_must_be_the_one_of_the_name():
    sent = []

    class Recorded(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request):
            sent.append((request.url.host, request.extensions.get("sni_hostname")))
            raise httpx2.ConnectError("no")

    transport = PinningTransport(WebReach(), Names({"example.org": [[PUBLIC]]}), Recorded())
    async with httpx2.AsyncClient(transport=transport) as client:
        for url in ("https://example.org/", f"https://{PUBLIC}/"):
            with pytest.raises(httpx2.ConnectError):
                await client.get(url)

    assert sent == [(PUBLIC, "example.org"), (PUBLIC, None)]
    assert ssl.create_default_context().check_hostname


@pytest.mark.parametrize(
    "address",
    ["168.63.129.16", "3fff::1", "5f00::1", "0:0:0:ffff::7f00:1", "fec0::1", "::ffff:0:7f00:1"],
)
def test_addresses_that_only_look_public_are_not(address):
    assert not is_public_address(address)
