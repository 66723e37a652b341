"""The web_fetch tool on its own; the stories are in tests/spec/test_web.py."""

import pytest

from handrail.core.lazy import Lazy
from handrail.core.names.web_urls import WebReach
from handrail.core.ports.web import WebPage, WebServices
from handrail.core.problems import ProblemRaised
from handrail.core.verdicts import Effect, Risk
from handrail.tools.web.web_fetch import WebFetch, WebFetchParams


class Pages:
    """Every page has the same text."""

    async def read(self, url, max_bytes):
        return WebPage(url.text, 200, "text/plain", "text")


def tool(*, secrets=False, **reach):
    async def answer(prompt, text):
        return None

    services = WebServices(
        WebReach(**reach),
        1_000,
        Lazy(Pages),
        Lazy(lambda: None),
        "net:search",
        answer,
        Lazy(lambda: None),
        lambda: secrets,
    )
    return WebFetch(Lazy(lambda: services))


def test_the_footprint_is_the_host():
    fetch = tool()

    for url, key in [
        ("https://Example.org/a?b", "net:example.org"),
        ("http://example.org/", "net:example.org"),
        ("https://example.org:8443/", "net:example.org:8443"),
        ("https://[2606:4700::1111]/", "net:[2606:4700::1111]"),
    ]:
        found = fetch.footprint(WebFetchParams(url=url))
        assert [touch.key for touch in found.touches] == [key]
        assert found.reads_only
    assert fetch.risk(WebFetchParams(url="https://a.example/")) is Risk.DANGEROUS


@pytest.mark.parametrize(
    ("url", "code"),
    [("ftp://example.org/", "invalid_arguments"), ("http://127.0.0.1/", "denied")],
)
def test_what_cannot_be_fetched_is_known_without_a_request(url, code):
    with pytest.raises(ProblemRaised) as raised:
        tool().footprint(WebFetchParams(url=url))

    assert raised.value.problem.code == code


def test_the_user_is_asked_again_after_secrets_were_read():
    args = WebFetchParams(url="https://example.org/")

    assert tool().opinion(args) is None
    assert tool(secrets=True).opinion(args).effect is Effect.ASK


async def test_a_runtime_without_web_says_so():
    with pytest.raises(ProblemRaised, match="not available"):
        WebFetch(None).footprint(WebFetchParams(url="https://example.org/"))


async def test_a_page_is_its_text_and_where_it_came_from():
    output = await tool().run(WebFetchParams(url="https://example.org/a"), None)

    assert output.text == "text\n\n[https://example.org/a, status 200, text/plain]"
