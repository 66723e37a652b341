"""Pages as text, from answers of a fetcher and a worker: types, limits, notes and the cache."""

import json

import pytest

from handrail.core.names.web_urls import parse_web_url
from handrail.core.ports.workers import WorkerAnswer, WorkerFailure
from handrail.core.problems import ProblemRaised
from handrail.web.fetcher import HttpPage
from handrail.web.pages import WebPages

URL = parse_web_url("https://a.example/x")
FINE = {"text": "hello", "declared": "utf-8", "charset": "utf-8", "cut": False}


class Web:
    """A fetcher with one answer, and a worker that fails for bodies above a size."""

    def __init__(self, body=b"<p>hello", content_type="text/html", answer=FINE, **page):
        self.page = {"status": 200, "body": body, **page}
        self.headers = {"content-type": content_type}
        self.answer, self.fails_above, self.failure = answer, 10**9, WorkerFailure.CRASHED
        self.requests, self.tasks, self.now = 0, [], 100.0
        self.pages = WebPages(self, self.run, 60.0, lambda: self.now)

    async def get(self, url, max_bytes):
        self.requests += 1
        return HttpPage(url, headers=self.headers, **self.page)

    async def run(self, task):
        self.tasks.append(task)
        if len(task.feed) > self.fails_above:
            return WorkerAnswer(b"", self.failure)
        return WorkerAnswer(json.dumps(self.answer).encode())

    async def read(self, url=URL, most=1000):
        return await self.pages.read(url, most)


async def problem(web):
    with pytest.raises(ProblemRaised) as raised:
        await web.read()
    return raised.value.problem.code


@pytest.mark.parametrize(
    ("content_type", "body", "kind", "charset"),
    [
        ("text/html; charset=latin-1", b"x", "html", "latin-1"),
        ("application/xhtml+xml", b"x", "html", ""),
        ("text/plain", b"<p>", "text", ""),
        ("application/json", b"{}", "text", ""),
        ("application/ld+json", b"{}", "text", ""),
        ("image/svg+xml", b"<svg>", "text", ""),
        ("", b" \n<P>", "html", ""),
        ("", b"plain", "text", ""),
        ("text/html; charset=a b", b"x", "html", ""),
        (f"text/{'x' * 81}", b"plain", "text", ""),
    ],
)
async def test_a_page_is_converted_by_its_type(content_type, body, kind, charset):
    web = Web(body, content_type)
    await web.read()

    assert web.tasks[0].arguments == (kind, charset, URL.text)
    assert bool(web.tasks[0].modules) is (kind == "html")


@pytest.mark.parametrize(
    "content_type", ["image/png", "application/pdf", "application/octet-stream"]
)
async def test_what_is_no_text_is_a_problem(content_type):
    assert await problem(Web(b"x", content_type)) == "not_text"


async def test_an_empty_answer_has_no_text():
    moved = await Web(b"", redirect="https://b.example/").read()
    empty = await Web(b"", "image/png").read()

    assert (moved.redirect, moved.text) == ("https://b.example/", "")
    assert (empty.text, empty.media_type) == ("", "image/png")
    assert await problem(Web(b"", cut="the connection ended")) == "unavailable"


@pytest.mark.parametrize(
    ("answer", "notes"),
    [
        ({}, 0),
        ({"declared": "UTF8"}, 0),
        ({"declared": "us_ascii"}, 0),
        ({"declared": "ISO-8859-1", "charset": "cp1252"}, 0),
        ({"declared": "latin1", "charset": "windows-1252"}, 0),
        ({"declared": "koi8-r"}, 1),
        ({"hidden": 1}, 1),
        ({"hidden": 0}, 0),
        ({"cut": True}, 1),
        ({"text": "a\u200bb"}, 1),
        ({"hidden": 1200, "cut": True, "declared": "koi8-r"}, 3),
    ],
)
async def test_what_was_left_out_or_read_differently_is_noted(answer, notes):
    page = await Web(answer={**FINE, **answer}).read()

    assert len(page.notes) == notes
    assert page.hidden_elements == answer.get("hidden", 0)


async def test_notes_count_hidden_elements():
    one = await Web(answer={**FINE, "hidden": 1}).read()
    many = await Web(answer={**FINE, "hidden": 1200}).read()

    assert one.notes[0].startswith("1 hidden element was")
    assert many.notes[0].startswith("1,200 hidden elements were")


async def test_text_has_plain_lines_and_no_control_characters():
    page = await Web(content_type="text/plain", answer={**FINE, "text": "a\r\nb\rc\fd\x1b"}).read()
    html = await Web(answer={**FINE, "text": "a\x1b"}).read()

    assert page.text == "a\nb\nc\nd\\x1b"
    assert html.text == "a\x1b"


@pytest.mark.parametrize(
    ("size", "fails_above", "tried", "notes"),
    [
        (400_000, 10**9, [400_000], 0),
        (400_000, 300_000, [400_000, 300_000], 1),
        (400_000, 100_000, [400_000, 300_000, 60_000], 1),
        (400_000, 20_000, [400_000, 300_000, 60_000, 12_000], 1),
        (60_000, 20_000, [60_000, 12_000], 1),
    ],
)
async def test_a_page_that_cannot_be_converted_is_converted_in_part(
    size, fails_above, tried, notes
):
    web = Web(b"x" * size)
    web.fails_above = fails_above
    page = await web.read()

    assert [len(task.feed) for task in web.tasks] == tried
    assert len(page.notes) == notes
    assert page.text == "hello"


@pytest.mark.parametrize("failure", list(WorkerFailure))
async def test_a_page_that_is_not_converted_is_a_problem(failure):
    web = Web(b"x" * 20_000)
    web.fails_above, web.failure = 0, failure

    assert await problem(web) == "unavailable"
    again = failure in (WorkerFailure.TIMEOUT, WorkerFailure.CRASHED, WorkerFailure.TOO_LARGE)
    assert len(web.tasks) == (2 if again else 1)


@pytest.mark.parametrize(
    "answer",
    [
        [],
        {},
        {"text": "a"},
        {**FINE, "declared": "a b"},
        {**FINE, "hidden": "x"},
        {**FINE, "charset": 5},
    ],
)
async def test_a_worker_that_answers_nonsense_is_a_problem(answer):
    assert await problem(Web(answer=answer)) == "unavailable"


async def test_a_page_is_requested_again_after_a_while():
    web = Web()
    await web.read()
    web.now += 59.9
    await web.read()
    assert web.requests == 1
    await web.read(most=2000)
    assert web.requests == 2
    web.now += 0.2
    await web.read()
    assert web.requests == 3


@pytest.mark.parametrize(
    "page", [{"status": 400}, {"status": 500}, {"body": b"", "redirect": "https://b/"}]
)
async def test_errors_and_redirects_are_not_kept(page):
    web = Web(**page)
    await web.read()
    await web.read()

    assert web.requests == 2


async def test_the_oldest_pages_are_forgotten():
    web = Web(status=399)
    urls = [parse_web_url(f"https://a.example/{at}") for at in range(9)]
    for url in urls:
        await web.read(url)
    for url in urls[1:]:
        await web.read(url)
    assert web.requests == 9
    await web.read(urls[0])
    assert web.requests == 10
