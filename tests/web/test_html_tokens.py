"""A page in tags and text, split where browsers split it."""

import pytest

from handrail.web.html_tokens import StartTag, TokenHandler, read_tokens


def tokens(page, foreign=()):
    """Start tags as `<a`, end tags as `/a`, text as it is."""
    found = []

    def start(tag):
        found.append(f"<{tag.name}" + ("/" if tag.closed else ""))
        found.extend(f"{name}={value}" for name, value in tag.attributes.items())
        return tag.name not in foreign

    read_tokens(page, TokenHandler(start, lambda name: found.append(f"/{name}"), found.append))
    return [one for one in found if one]


@pytest.mark.parametrize(
    ("page", "expected"),
    [
        ("", []),
        ("text", ["text"]),
        ("a<b>c</b>d", ["a", "<b", "c", "/b", "d"]),
        ("<B>x</B >", ["<b", "x", "/b"]),
        ("1 < 2 <3", ["1 < 2 <3"]),
        ("a<", ["a<"]),
        ("<br/>x", ["<br/", "x"]),
        ("<br />x", ["<br/", "x"]),
        ("<a href=x>y", ["<a", "href=x", "y"]),
        ("<a href='x>y' B=\"c d\" e>z", ["<a", "href=x>y", "b=c d", "e=", "z"]),
        ("<a x = y z= 1>t", ["<a", "x=y", "z=1", "t"]),
        ("<a x=1 x=2>t", ["<a", "x=1", "t"]),
        ("<a/x/y>t", ["<a", "x=", "y=", "t"]),
        ("<a =x>t", ["<a", "=x=", "t"]),
        ("<a x=>t", ["<a", "x=", "t"]),
        ("<a x=/>t", ["<a/", "x=/", "t"]),
        ("<a\n\tx\f=\r1>t", ["<a", "x=1", "t"]),
        ("x<a href", ["x"]),
        ("x<a href='", ["x"]),
        ("x<a", ["x"]),
        ("a<!--b-->c", ["a", "c"]),
        ("a<!-->b-->c", ["a", "b-->c"]),
        ("a<!--->b-->c", ["a", "b-->c"]),
        ("a<!--b--!>c", ["a", "c"]),
        ("a<!--b--c-->d", ["a", "d"]),
        ("a<!--b", ["a"]),
        ("a<!doctype x>b", ["a", "b"]),
        ("a<?php x>b", ["a", "b"]),
        ("a</ x>b", ["a", "b"]),
        ("a</>b", ["a", "b"]),
        ("a<!x", ["a"]),
        ("<title>a<b>c</TITLE >d", ["<title", "a<b>c", "/title", "d"]),
        ("<title>a</titles>b", ["<title", "a</titles>b"]),
        ("<textarea><b></textarea>", ["<textarea", "<b>", "/textarea"]),
        ("<plaintext>a</plaintext><b>", ["<plaintext", "a</plaintext><b>"]),
        ("<script>a<b>c</script>d", ["<script", "a<b>c", "/script", "d"]),
        ("<script>a</scripts>b</script>", ["<script", "a</scripts>b", "/script"]),
        ("<script><!--a</script>b", ["<script", "<!--a", "/script", "b"]),
        (
            "<script><!--<script>a</script>b</script>c",
            ["<script", "<!--<script>a</script>b", "/script", "c"],
        ),
        (
            "<script><!--<script>a--></script>b",
            ["<script", "<!--<script>a-->", "/script", "b"],
        ),
        ("<script><!--><script></script>b", ["<script", "<!--><script>", "/script", "b"]),
        ("<script><script></script>b", ["<script", "<script>", "/script", "b"]),
        ("<script>a", ["<script", "a"]),
    ],
)
def test_a_page_is_split_as_browsers_split_it(page, expected):
    assert tokens(page) == expected


def test_an_element_of_svg_has_no_raw_text():
    assert tokens("<title>a<b>c</title>", foreign={"title"}) == ["<title", "a", "<b", "c", "/title"]


@pytest.mark.parametrize(
    ("tag", "text"),
    [
        (StartTag("a", {}, False), "<a>"),
        (StartTag("a", {"b": 'x"<y>', "c": ""}, True), '<a b="x&quot;&lt;y&gt;" c="">'),
        (StartTag("a", {"b'": "x", "1": "y", "x:y": "z"}, False), '<a x:y="z">'),
        (StartTag("a'b", {"c": "d"}, False), ""),
    ],
)
def test_a_tag_is_written_so_that_every_parser_reads_it_alike(tag, text):
    assert tag.write() == text


def test_values_of_attributes_have_no_references():
    tag = StartTag("a", {"b": "&lt;x&amp;"}, False)

    assert tag.get("b") == "<x&"
    assert tag.get("c") is None
