"""The frame of a page and its pieces: what is escaped, coloured, shortened and left out."""

import pytest

from handrail.ui.html import element, hidden_field, join, rendered_size
from handrail.ui.pages.layout import (
    PageFrame,
    button,
    code_block,
    facts,
    form,
    render_page,
    shorten,
    table,
    time,
)

FRAME = PageFrame("/srv/project", 0, "token")


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        (element("p", "a<b>&\"'"), "<p>a&lt;b&gt;&amp;&quot;&#x27;</p>"),
        (element("p", element("b", "x"), None, "y"), "<p><b>x</b>y</p>"),
        (element("br"), "<br>"),
        (element("input", name="a"), '<input name="a">'),
        (element("a", "x", class_="b", data_live="c"), '<a class="b" data-live="c">x</a>'),
        (element("a", hidden=True, required=False, id=None), "<a hidden></a>"),
        (element("a", width=3), '<a width="3"></a>'),
        (element("a", title='"\n\u202e'), '<a title="&quot;\\n\\u{202e}"></a>'),
        (element("pre", "a\n\x1b"), "<pre>a\n\\x1b</pre>"),
        (hidden_field("a", '"\n'), '<input type="hidden" name="a" value="&quot;\n">'),
        (join("a", None, element("hr")), "a<hr>"),
        (button("Go"), '<button type="submit">Go</button>'),
        (
            button("Go", "n", "v", "k"),
            '<button type="submit" name="n" value="v" class="k">Go</button>',
        ),
        (facts(("a", "1"), ("b", ""), ("c", None)), "<dl><dt>a</dt><dd>1</dd></dl>"),
        (
            table(("a",), [("1",), ("2",)]),
            "<table><thead><tr><th>a</th></tr></thead>"
            "<tbody><tr><td>1</td></tr><tr><td>2</td></tr></tbody></table>",
        ),
        (code_block("a < b"), "<pre>a &lt; b</pre>"),
        (code_block("a", "k"), '<pre class="k">a</pre>'),
    ],
)
def test_markup_is_made_of_values(made, expected):
    assert made == expected


def test_a_form_carries_the_token():
    made = form("/do", "secret", "x", class_="k")

    assert 'action="/do" method="post" class="k"' in made
    assert 'value="secret"' in made
    assert made.endswith("x</form>")


def looks(text):
    """The class of each line of a diff."""
    parts = code_block(text, "diff").split("<span")[1:]
    return [one.split('"')[1] if one.startswith(" class") else "" for one in parts]


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (["--- a", "+++ b", "@@ -1 +1 @@", "-x", "+y"], "file file place removed added"),
        (["@@ -1,2 +1,2 @@", " x", "-y", "+z", "--- a"], "place  removed added file"),
        (["@@ -1 +1,2 @@", " x", "+++ y"], "place  added"),
        (["@@ -1,2 +1 @@", " x", "--- y"], "place  removed"),
        (["@@ -1 +1 @@", "-x", "\\ No newline at end of file", "+y", "z"], "place removed  added "),
        (["@@ -0,0 +1 @@", "+x", "+y"], "place added "),
        (["diff", "+x", "-x"], "  "),
        (["@@ -1 +1 @@", "-@@ -1 +1 @@", "+x"], "place removed added"),
    ],
)
def test_the_lines_of_a_diff_have_looks(lines, expected):
    assert looks("\n".join(lines)) == expected.split(" ")
    assert looks("\n".join(lines) + "\n") == expected.split(" ")


@pytest.mark.parametrize(
    ("text", "limit", "expected"),
    [
        ("abc", 3, "abc"),
        ("abcd", 3, "abc…"),
        ("", 3, ""),
        ("\u00e9\u00e9\u00e9", 6, "\u00e9\u00e9\u00e9"),
        ("\u00e9\u00e9\u00e9", 5, "\u00e9\u00e9…"),
        ("<<<<", 9, "<<…"),
        ("<<", 8, "<<"),
    ],
)
def test_text_is_shortened_by_its_bytes_on_the_page(text, limit, expected):
    assert shorten(text, limit) == expected
    assert rendered_size(expected.removesuffix("…")) <= limit


def test_a_moment_has_a_date_for_people_and_one_for_programs():
    made = time(1_700_000_000_000_000_000)

    assert made.startswith('<time datetime="2023-11-1')
    assert ":20</time>" in made


def test_the_frame_of_a_page():
    page = render_page("Jobs", FRAME, element("p", "body"))

    assert page.startswith("<!doctype html>\n<html lang=")
    assert "<title>Jobs · Handrail</title>" in page
    assert '<main id="content"><p>body</p></main>' in page
    assert '<div id="notice"></div>' in page
    assert 'title="/srv/project">project</span>' in page
    assert "open-questions" not in page
    assert "data-live" not in page
    assert "data-polls" not in page
    for path in ("/", "/questions", "/jobs", "/doctor", "/settings"):
        assert f'<a href="{path}">' in page or f'href="{path}"' in page


def test_what_a_frame_says():
    page = render_page("x", FRAME._replace(questions=2, notice="<done>", live="a b", polls=True))

    assert '<span class="count" id="open-questions">2</span>' in page
    assert page.count("open-questions") == 1
    assert '<p class="notice">&lt;done&gt;</p>' in page
    assert 'data-live="a%20b" data-polls' in page
    assert 'data-live=""' in render_page("x", FRAME._replace(live=""))
    assert ">/</span>" in render_page("x", FRAME._replace(workspace="/"))
