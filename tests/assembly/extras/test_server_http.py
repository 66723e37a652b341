"""Answers of MCP servers over HTTP: limits, hidden tokens, and which hosts a login may reach."""

import httpx2
import pytest

from handrail.assembly.extras import server_http
from handrail.assembly.extras.server_http import _LoginTransport, _TokenFilter
from handrail.core.names.web_urls import WebReach, parse_web_url
from handrail.core.problems import ProblemRaised

TOKEN = b"secret"


class Chunks(httpx2.AsyncByteStream):
    def __init__(self, *chunks):
        self.chunks = chunks
        self.closed = False

    async def __aiter__(self):
        for chunk in self.chunks:
            yield chunk

    async def aclose(self):
        self.closed = True


@pytest.mark.parametrize(
    "chunks",
    [
        (b"a secret b",),
        (b"a sec", b"ret b"),
        (b"a s", b"e", b"c", b"ret", b" b"),
        (b"a ", b"secret", b" b"),
    ],
)
async def test_a_token_is_hidden_wherever_it_is_split(chunks):
    found = b"".join([chunk async for chunk in _TokenFilter(Chunks(*chunks), TOKEN)])
    assert found == b"a " + server_http._HIDDEN + b" b"


@pytest.mark.parametrize(
    "chunks", [(b"sec",), (b"se", b"se"), (b"sesec", b"x"), (b"",), (b"secre", b"secre")]
)
async def test_other_bytes_stay(chunks):
    found = [chunk async for chunk in _TokenFilter(Chunks(*chunks), TOKEN)]
    assert b"".join(found) == b"".join(chunks)
    assert b"" not in found


@pytest.mark.parametrize(
    ("seen", "end"),
    [(b"", 0), (b"abc", 3), (b"abs", 2), (b"abse", 2), (b"ses", 2), (b"secre", 0), (b"sx", 2)],
)
def test_where_a_token_may_begin(seen, end):
    assert _TokenFilter(Chunks(), TOKEN)._find_begin(seen) == end


async def test_the_inner_stream_is_closed():
    inner = Chunks()
    await _TokenFilter(inner, TOKEN).aclose()
    assert inner.closed


class Inner:
    def __init__(self):
        self.requests, self.closed = [], False

    async def handle_async_request(self, request):
        self.requests.append(str(request.url))
        return httpx2.Response(200)

    async def aclose(self):
        self.closed = True


@pytest.fixture
def transport(monkeypatch):
    """Makes transports of a login that open no connection."""
    monkeypatch.setattr(server_http, "_named_transport", lambda own: Inner())
    monkeypatch.setattr(server_http, "PinningTransport", lambda reach, resolve: Inner())
    own = parse_web_url("http://127.0.0.1:8000/mcp")
    return lambda *allow: _LoginTransport(own, WebReach(allow))


@pytest.mark.parametrize(
    ("url", "hosts", "allowed"),
    [
        ("http://127.0.0.1:8000/login", ["*"], True),
        ("http://127.0.0.1:8001/login", ["*"], False),
        ("https://login.example/x", ["*"], True),
        ("http://login.example/x", ["*"], False),
        ("http://login.example/x", ["login.example:80"], True),
        ("http://login.example/x", ["login.example"], False),
        ("https://login.example/x", ["other.example"], False),
        ("ftp://login.example/x", ["*"], False),
        ("nonsense", ["*"], False),
    ],
)
def test_which_hosts_a_login_may_use(transport, url, hosts, allowed):
    if allowed:
        assert transport(*hosts).check(url).text == url
        return
    with pytest.raises(ProblemRaised) as raised:
        transport(*hosts).check(url)
    assert raised.value.problem.code == "denied"


async def test_a_token_is_sent_only_to_its_server(transport):
    login = transport("*")
    named, others = login._named, login._others
    own, other = "http://127.0.0.1:8000/mcp", "https://login.example/token"
    bearer = {"Authorization": "Bearer x"}
    await login.handle_async_request(httpx2.Request("POST", own, headers=bearer))
    await login.handle_async_request(httpx2.Request("POST", other))
    await login.handle_async_request(
        httpx2.Request("POST", other, headers={"Authorization": "Basic x"})
    )
    with pytest.raises(ProblemRaised):
        await login.handle_async_request(httpx2.Request("POST", other, headers=bearer))
    assert (named.requests, others.requests) == ([own], [other, other])
    await login.aclose()
    assert (named.closed, others.closed) == (True, True)
