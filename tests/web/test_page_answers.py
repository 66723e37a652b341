"""Answers of the web as pages, without a site or a worker: types, notes, parts and what is kept."""

import json

import pytest

from handrail.core.names.web_urls import parse_web_url
from handrail.core.ports.workers import WorkerAnswer, WorkerFailure
from handrail.core.problems import ProblemRaised
from handrail.web.fetcher import HttpPage
from handrail.web.pages import WebPages, _media_type, _notes, html_task, read_answer

URL = parse_web_url("https://a.example/x")


class Site:
    """A fetcher and a worker that answer from what they are given."""

    def __init__(self, *answers, cache_s=10.0, **page):
        self.answers = list(answers)
        self.page = {"status": 200, "headers": {}, "body": b"x", **page}
        self.requests, self.tasks, self.now = [], [], 0.0
        self.pages = WebPages(self, self.convert, cache_s, lambda: self.now)

    async def get(self, url, max_bytes):
        self.requests.append((url.text, max_bytes))
        return HttpPage(url, **self.page)

    async def convert(self, task):
        self.tasks.append(task)
        return self.answers.pop(0) if self.answers else worker()

    async def read(self, url=URL, max_bytes=100):
        return await self.pages.read(url, max_bytes)


def worker(**values):
    made = {"text": "words", "declared": "utf-8", "charset": "utf-8", "cut": False, **values}
    return WorkerAnswer(json.dumps(made).encode())


@pytest.mark.parametrize(
    ("header", "body", "expected"),
    [
        ("text/html; charset=UTF-8", b"", ("text/html", "utf-8")),
        ("application/json", b"<", ("application/json", "")),
        ("text/plain; charset=" + "x" * 40, b"", ("text/plain", "x" * 40)),
        ("text/plain; charset=" + "x" * 41, b"", ("text/plain", "")),
        ("", b" \n<p>", ("text/html", "")),
        ("", b"words <p>", ("text/plain", "")),
        ("  ", b"", ("text/plain", "")),
        ("", b" " * 512 + b"<", ("text/plain", "")),
        ("", b" " * 511 + b"<", ("text/html", "")),
        ("te(xt/html; charset=utf-8", b"<", ("text/html", "")),
    ],
)
def test_the_type_of_an_answer(header, body, expected):
    assert _media_type(header, body) == expected


@pytest.mark.parametrize(
    ("result", "invisible", "count"),
    [
        ({}, 0, 0),
        ({"declared": "UTF8"}, 0, 0),
        ({"declared": "us-ascii", "charset": "windows-1252"}, 0, 0),
        ({"declared": "latin_1", "charset": "cp1252"}, 0, 0),
        ({"declared": "utf-8", "charset": "cp1252"}, 0, 1),
        ({"hidden": 1}, 0, 1),
        ({"hidden": 2}, 3, 2),
        ({"cut": True}, 0, 1),
    ],
)
def test_notes_about_a_page(result, invisible, count):
    found = json.loads(worker(**result).output)
    assert len(_notes(found, invisible)) == count


def test_what_a_note_says():
    found = json.loads(worker(declared="utf-8", charset="cp1252", hidden=1_200).output)
    charset, hidden = _notes(found, 0)
    assert "utf-8" in charset and "cp1252" in charset
    assert hidden.startswith("1,200 ")
    with pytest.raises(ValueError, match="charset"):
        _notes({**found, "declared": "a b"}, 0)


async def test_an_answer_without_a_body_is_not_converted():
    site = Site(body=b"", headers={"content-type": "image/png"}, redirect="https://b.example/")
    page = await site.read()
    assert (page.text, page.redirect, site.tasks) == ("", "https://b.example/", [])


@pytest.mark.parametrize(
    ("page", "code"),
    [
        ({"body": b"", "cut": "too slow"}, "unavailable"),
        ({"headers": {"content-type": "image/png"}}, "not_text"),
    ],
)
async def test_what_is_no_page(page, code):
    with pytest.raises(ProblemRaised) as raised:
        await Site(**page).read()
    assert raised.value.problem.code == code


@pytest.mark.parametrize(
    ("media_type", "kind"),
    [
        ("text/html", "html"),
        ("application/xhtml+xml", "html"),
        ("text/css", "text"),
        ("application/ld+json", "text"),
        ("image/svg+xml", "text"),
    ],
)
async def test_the_kind_of_a_conversion(media_type, kind):
    site = Site(worker(text="a\r\nb\fc"), headers={"content-type": media_type}, cut="half")
    page = await site.read()
    assert site.tasks == [html_task(kind, b"x", "", URL.text)]
    assert page.notes[0] == "half"
    assert (page.text == "a\nb\nc") is (kind == "text")


@pytest.mark.parametrize(
    ("size", "failures", "feeds"),
    [
        (12_000, 1, [12_000]),
        (12_001, 1, [12_001, 12_000]),
        (300_001, 1, [300_001, 300_000]),
        (300_001, 3, [300_001, 300_000, 60_000, 12_000]),
    ],
)
async def test_smaller_parts_are_tried(size, failures, feeds):
    failed = [WorkerAnswer(b"", WorkerFailure.TIMEOUT)] * failures
    site = Site(*failed, worker(), body=b"x" * size)
    if len(feeds) == 1:
        with pytest.raises(ProblemRaised):
            await site.read()
    else:
        page = await site.read()
        assert f"{feeds[-1]:,} bytes" in page.notes[0]
        assert len(page.notes) == 1
    assert [len(task.feed) for task in site.tasks] == feeds


async def test_a_missing_package_is_not_tried_again():
    site = Site(WorkerAnswer(b"", WorkerFailure.MISSING), body=b"x" * 400_000)
    with pytest.raises(ProblemRaised):
        await site.read()
    assert len(site.tasks) == 1


@pytest.mark.parametrize("output", [b"", b"{", b"[" * 100_000])
def test_an_answer_that_is_not_json_is_a_problem(output):
    with pytest.raises(ProblemRaised) as raised:
        read_answer(WorkerAnswer(output))
    assert raised.value.problem.code == "unavailable"


@pytest.mark.parametrize("wrong", [{"text": "a"}, [], {"declared": 3}, {"hidden": "x"}])
async def test_an_answer_of_another_form_is_a_problem(wrong):
    made = wrong if wrong == [] or "text" in wrong else json.loads(worker(**wrong).output)
    with pytest.raises(ProblemRaised) as raised:
        await Site(WorkerAnswer(json.dumps(made).encode())).read()
    assert raised.value.problem.code == "unavailable"


@pytest.mark.parametrize(
    ("page", "cache_s", "later", "requests"),
    [
        ({}, 10.0, 9.9, 1),
        ({}, 10.0, 10.0, 2),
        ({}, 0.0, 0.0, 2),
        ({"status": 399}, 10.0, 1.0, 1),
        ({"status": 400}, 10.0, 1.0, 2),
        ({"body": b"", "redirect": "https://b.example/"}, 10.0, 1.0, 2),
    ],
)
async def test_which_pages_are_kept(page, cache_s, later, requests):
    site = Site(cache_s=cache_s, **page)
    await site.read()
    site.now = later
    await site.read()
    assert len(site.requests) == requests
    await site.read(max_bytes=101)
    assert site.requests[-1] == (URL.text, 101)


async def test_the_oldest_of_many_pages_is_forgotten():
    site = Site()
    urls = [parse_web_url(f"https://a.example/{number}") for number in range(9)]
    for url in urls:
        await site.read(url)
    for url in urls[1:]:
        await site.read(url)
    assert len(site.requests) == 9
    await site.read(urls[0])
    assert len(site.requests) == 10
