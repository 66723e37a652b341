"""The web_fetch tool on its own; the stories are in tests/spec/test_web.py."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from handrail.core.lazy import Lazy
from handrail.core.names.web_urls import WebReach
from handrail.core.ports.models import UsageReported
from handrail.core.ports.web import PromptAnswer, WebPage, WebServices
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


def fetching(page, answer=None, asked=None):
    """A tool that gets this page, and this answer about it."""
    fetch = tool()

    async def read(url, max_bytes):
        if asked is not None:
            asked.append(max_bytes)
        return page._replace(final_url=url.text) if not page.final_url else page

    async def reply(prompt, text):
        return answer

    services = replace(fetch.web, pages=Lazy(lambda: SimpleNamespace(read=read)), answer=reply)
    return WebFetch(Lazy(lambda: services))


async def fetched(page, answer=None, **arguments):
    args = WebFetchParams(url="https://example.org/a", **arguments)
    return await fetching(page, answer).run(args, None)


@pytest.mark.parametrize(
    ("status", "code", "retryable"),
    [
        (200, None, None),
        (399, None, None),
        (400, "unavailable", False),
        (404, "not_found", False),
        (410, "not_found", False),
        (429, "unavailable", True),
        (500, "unavailable", False),
        (503, "unavailable", True),
    ],
)
async def test_the_status_of_a_page(status, code, retryable):
    output = await fetched(WebPage("", status, "text/html", "text"))

    found = output.problem
    assert (found and (found.code, found.retryable)) == (code and (code, retryable))
    assert output.data == {
        "url": "https://example.org/a",
        "final_url": "https://example.org/a",
        "status": status,
        "media_type": "text/html",
        "cursor": None,
        "hidden_elements": 0,
        "answered_by": None,
    }


async def test_a_long_page_is_read_in_parts_that_end_at_lines():
    text = "".join(f"line {number:05d}\n" for number in range(6_000))
    page, parts, cursor = WebPage("", 200, "text/plain", text), [], None

    for _ in range(10):
        output = await fetched(page, cursor=cursor)
        parts.append(output.text.split("\n\n[")[0])
        cursor = output.data["cursor"]
        if cursor is None:
            break

    assert cursor is None
    assert len(parts) == 3
    assert "\n".join(part.rstrip("\n") for part in parts) + "\n" == text


@pytest.mark.parametrize(
    ("cursor", "code"),
    [("x", "invalid_arguments"), ("", "invalid_arguments"), ("0-00000000", "stale")],
)
async def test_a_cursor_belongs_to_one_text(cursor, code):
    with pytest.raises(ProblemRaised) as raised:
        await fetched(WebPage("", 200, "text/plain", "text"), cursor=cursor)

    assert (raised.value.problem.code, raised.value.problem.field) == (code, "cursor")


async def test_a_redirect_to_another_host_is_shown_not_followed():
    page = WebPage("", 302, "text/html", redirect="https://other.example/b")

    output = await fetched(page, prompt="what?")

    assert output.data["final_url"] == "https://other.example/b"
    assert (output.data["status"], output.problem) == (302, None)


@pytest.mark.parametrize(
    ("usage", "meta"),
    [(None, {}), (UsageReported(3, 4), {"model_usage": {"input": 3, "output": 4}})],
)
async def test_a_question_about_a_page_is_answered_by_a_model(usage, meta):
    answer = PromptAnswer("forty-two", "small", usage)

    output = await fetched(WebPage("", 404, "text/plain", "text"), answer, prompt="what?")

    assert output.text.startswith("forty-two\n")
    assert (output.data["answered_by"], output.meta) == ("small", meta)
    assert output.problem.code == "not_found"


async def test_without_a_small_model_the_text_is_shown():
    output = await fetched(WebPage("", 200, "text/plain", "text"), prompt="what?")

    assert output.text.startswith("text\n")
    assert output.data["answered_by"] is None


async def test_a_page_without_text_is_not_asked_about():
    answer = PromptAnswer("made up", "small", None)

    output = await fetched(WebPage("", 200, "text/plain", " \n"), answer, prompt="what?")

    assert "made up" not in output.text
    assert "the page has no text" in output.text


@pytest.mark.parametrize(
    ("given", "read"), [(None, 1_000_000), (5_000, 5_000), (2_000_000, 1_000_000)]
)
async def test_no_more_is_read_than_the_settings_allow(given, read):
    asked = []
    fetch = fetching(WebPage("", 200, "text/plain", "text"), None, asked)
    services = replace(fetch.web, max_bytes=1_000_000)

    await WebFetch(Lazy(lambda: services)).run(
        WebFetchParams(url="https://example.org/a", max_bytes=given), None
    )

    assert asked == [read]
