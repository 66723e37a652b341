"""What the worker copies of a page, counts as hidden, and answers."""

import io
import json
import sys
from types import SimpleNamespace

import pytest

from handrail.web.css.style_sheets import StyleCollector
from handrail.web.html_worker import HiddenElementFilter, SearchResultReader, main


def read(page):
    found = HiddenElementFilter(StyleCollector(page).sheets)
    found.read(page)
    return "".join(found.kept), found.hidden


@pytest.mark.parametrize(
    ("page", "kept", "hidden"),
    [
        ("<b>a</b>", "<b>a</b>", 0),
        ("<p>a<p>b", "<p>a</p><p>b", 0),
        ("<p>a<div>b</div>", "<p>a</p><div>b</div>", 0),
        ("<p>a<b>b", "<p>a<b>b", 0),
        ("<ul><li>a<li>b</ul>", "<ul><li>a</li><li>b</ul>", 0),
        ("<dl><dt>a<dd>b<dt>c", "<dl><dt>a</dt><dd>b</dd><dt>c", 0),
        ("<tr><td>a<td>b<tr><th>c", "<tr><td>a</td><td>b</td></tr><tr><th>c", 0),
        ("a</b>c", "ac", 0),
        ("a < b", "a &lt; b", 0),
        ("a<br>b", "a<br>b", 0),
        ("<script>x</script>a", "a", 0),
        ("<style>x</style>a", "a", 0),
        ("<svg><text>x</text></svg>a", "a", 0),
        ("<template>x</template>a", "a", 1),
        ("<datalist>x</datalist>a", "a", 1),
        ("<noframes>x</noframes>a", "a", 1),
        ("<p hidden>x</p>a", "a", 1),
        ("<p hidden>x<b>y</b></p>a", "a", 1),
        ("<p popover>x</p>a", "a", 1),
        ("<dialog>x</dialog>a", "a", 1),
        ("<dialog open>x</dialog>a", '<dialog open="">x</dialog>a', 0),
        ('<input type="hidden" value="x">a', "a", 1),
        ('<p style="display:none">x</p>a', "a", 1),
        ('<p style="visibility:hidden">x</p>a', "<p></p>a", 1),
        ('<p style="visibility:hidden">x<b>y</b></p>a', "<p><b></b></p>a", 1),
        ('<p style="visibility:hidden">x</p><p style="visibility:hidden">y</p>', "<p></p><p></p>", 2),
        ('<p style="visibility:hidden"> </p>a', "<p> </p>a", 0),
        ('<div style="visibility:hidden"><img alt="x"></div>a', "<div></div>a", 1),
        ('<div style="visibility:hidden"><img></div>a', "<div></div>a", 0),
        ("<style>.x{display:none}</style><p class='x y'>b</p>a", "a", 1),
        ("<style>.X{display:none}</style><p class='x'>b</p>a", "a", 1),
        ("<!doctype html><style>.X{display:none}</style><p class='x'>b</p>", '<p class="x">b</p>', 0),
        ("<style>#i{display:none}</style><p id='i'>b</p>a", "a", 1),
        ("<style>p b{display:none}</style><p><b>x</b></p><b>a</b>", "<p></p><b>a</b>", 1),
        ("<style>body{display:none}</style><p>a</p>", "<p>a</p>", 0),
        ("<canvas>x</canvas>a", "<canvas></canvas>a", 1),
        ("<canvas> </canvas>a", "<canvas></canvas>a", 0),
        ("<video>x<b>y</b></video>a", "<video></video>a", 1),
        ("<p>a</p></p>b", "<p>a</p>b", 0),
    ],
)  # fmt: skip
def test_what_is_kept_and_what_is_hidden(page, kept, hidden):
    assert read(page) == (kept, hidden)


def test_deep_elements_keep_their_text_and_not_their_tags():
    kept, hidden = read("<div>" * 205 + "deep" + "</div>" * 205)

    assert (kept.count("<div>"), kept.count("</div>"), hidden) == (200, 200, 0)
    assert "deep" in kept


def test_lists_are_indented_up_to_a_limit():
    kept, _ = read("<ul>" * 25 + "deep" + "</ul>" * 25)

    assert (kept.count("<ul>"), kept.count("</ul>")) == (20, 20)
    assert "<b>x</b>" in read("<ul>" * 25 + "<b>x</b>")[0]


RESULT = (
    '<div><a class="big result__a" href="{0}">{1}</a><td class="result__snippet">{2}</td></div>'
)


def test_results_of_a_search_are_read():
    reader = SearchResultReader()
    reader.feed('<p class="result__snippet">early</p><a href="/x">other</a>')
    reader.feed(RESULT.format("https://a", "A <b>one</b>", "first") + "between")
    reader.feed(RESULT.format("https://b", "y" * 1_200, "z" * 1_200))
    reader.feed('<a class="result__a">bare</a>')

    first, second, third = reader.hits
    assert first == {"title": "A one", "url": "https://a", "snippet": "first"}
    assert (len(second["title"]), len(second["snippet"])) == (1_000, 1_000)
    assert third == {"title": "bare", "url": "", "snippet": ""}


def answer(monkeypatch, kind, data, charset=""):
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(data)))
    monkeypatch.setattr(sys, "stdout", SimpleNamespace(buffer=written))
    monkeypatch.setattr(sys, "path", [*sys.path])
    main("", kind, charset, "https://example.org/")
    return json.loads(written.getvalue())


@pytest.mark.parametrize(("size", "cut"), [(2_000_000, False), (2_000_001, True)])
def test_text_is_cut_at_its_limit(monkeypatch, size, cut):
    found = answer(monkeypatch, "text", b"x" * size)

    assert (len(found["text"]), found["cut"]) == (2_000_000, cut)
    assert (found["charset"], found["declared"]) == ("utf-8", "utf-8")


def test_pages_and_results_are_answered_by_their_kind(monkeypatch):
    page = answer(monkeypatch, "html", b"<p hidden>x</p><b>caf\xe9</b>", "latin-1")
    results = answer(monkeypatch, "search", RESULT.format("https://a", "A", "b").encode())

    assert (page["text"], page["hidden"], page["cut"]) == ("**café**", 1, False)
    assert (page["charset"], page["declared"]) == ("cp1252", "latin-1")
    assert results["hits"] == [{"title": "A", "url": "https://a", "snippet": "b"}]
    assert "text" not in results
    assert answer(monkeypatch, "text", b"<b>x</b>")["text"] == "<b>x</b>"
