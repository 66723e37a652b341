"""Which rules hold for a page on a screen, and which of several declarations wins."""

import pytest

from handrail.web.css.selectors import PageElement
from handrail.web.css.style_sheets import StyleCollector, StyleSheets


def winner(css, style=None, *, quirks=False, media="", names=(".a", "#b")):
    """The value of `display` of a paragraph with the class `a` and the id `b`; None if not set."""
    sheets = StyleSheets(quirks=quirks)
    sheets.add(css, media)
    element = PageElement("p", frozenset(names), {}.get)
    found = sheets.cascade(element, [PageElement("body", frozenset(), {}.get)], style)
    return found["display"].value if "display" in found else None


@pytest.mark.parametrize(
    ("css", "style", "value"),
    [
        ("p { display: block }", None, "block"),
        ("p { display: block } p { display: flex }", None, "flex"),
        (".a { display: block } p { display: flex }", None, "block"),
        ("#b { display: block } .a { display: flex }", None, "block"),
        ("p { display: block !important } #b { display: flex }", None, "block"),
        ("#b { display: block }", "display: flex", "flex"),
        ("p { display: block !important }", "display: flex", "block"),
        ("p { display: block !important }", "display: flex !important", "flex"),
        ("p { display: block; display: flex }", None, "flex"),
        ("", "display: block; display: flex", "flex"),
        ("", "display: block !important; display: flex", "block"),
        ("p { display: block !important }", "color: red", "block"),
        ("@layer x { p { display: block } }", "display: flex", "flex"),
        ("p { display: flex; display: nonsense }", None, "flex"),
        ("p { display: flex; { x } display: grid }", None, "grid"),
        ("p { DISPLAY: FLEX }", None, "flex"),
        ("p { display: flex", None, "flex"),
        ("div { display: block }", None, None),
        ("p { color: red }", None, None),
        ("@layer x { #b { display: block } } p { display: flex }", None, "flex"),
        (
            "@layer x, y; @layer y { p { display: block } } @layer x { #b { display: flex } }",
            None,
            "block",
        ),
        (
            "@layer x { p { display: block !important } } #b { display: flex !important }",
            None,
            "block",
        ),
        ("@layer { p { display: block } }", None, "block"),
        ("@font-face { p { display: block } }", None, None),
        ("@import url(x); p { display: block }", None, "block"),
        ("<!-- p { display: block } -->", None, "block"),
        ("/* p { display: none } */ p { display: block }", None, "block"),
    ],
)
def test_the_declaration_that_wins(css, style, value):
    assert winner(css, style) == value


@pytest.mark.parametrize(
    ("query", "holds"),
    [
        ("", True),
        ("all", True),
        ("screen", True),
        ("SCREEN", True),
        ("print", False),
        ("not print", True),
        ("not screen", False),
        ("only screen", True),
        ("print, screen", True),
        ("print, speech", False),
        ("(min-width: 1280px)", True),
        ("(min-width: 1281px)", False),
        ("(max-width: 1280px)", True),
        ("(max-width: 1279px)", False),
        ("(min-height: 800px)", True),
        ("(min-height: 801px)", False),
        ("(max-height: 800px)", True),
        ("(max-height: 799px)", False),
        ("(min-width: 80em)", True),
        ("(min-width: 80.1em)", False),
        ("(min-width: 5)", False),
        ("(min-width: 0)", True),
        ("screen and (min-width: 1px)", True),
        ("screen and (min-width: 1px) and (max-width: 9px)", False),
        ("screen or (min-width: 1px)", False),
        ("print and (min-width: 1px)", False),
        ("(hover)", True),
        ("(hover: hover)", True),
        ("(hover: none)", False),
        ("(orientation: landscape)", True),
        ("(orientation: portrait)", False),
        ("(prefers-color-scheme: dark)", False),
        ("(prefers-reduced-motion: no-preference)", True),
        ("(unknown)", False),
        ("(unknown: 1)", False),
        ("not (unknown)", False),
        ("not screen and (min-width: 9999px)", True),
    ],
)
def test_a_media_query_on_a_screen(query, holds):
    expected = "block" if holds else None

    assert winner(f"@media {query} {{ p {{ display: block }} }}") == expected
    assert winner("p { display: block }", media=query) == expected


@pytest.mark.parametrize(
    ("condition", "holds"),
    [
        ("(display: flex)", True),
        ("(display: nonsense)", False),
        ("not (display: nonsense)", True),
        ("not (display: flex)", False),
        ("(display: flex) and (display: grid)", False),
        ("selector(p)", False),
        ("", False),
    ],
)
def test_a_condition_on_what_is_supported(condition, holds):
    css = f"@supports {condition} {{ p {{ display: block }} }}"

    assert winner(css) == ("block" if holds else None)


def test_rules_are_nested_up_to_a_depth():
    inner = "p { display: block }"

    assert winner("@media all {" * 10 + inner + "}" * 10) == "block"
    assert winner("@media all {" * 11 + inner + "}" * 11) is None


def test_old_pages_compare_names_without_case():
    assert winner(".A { display: block }", quirks=True) == "block"
    assert winner(".A { display: block }", quirks=False) is None


@pytest.mark.parametrize(
    ("page", "count", "imports", "quirks"),
    [
        ("<!doctype html><style>p{display:none}</style>", 1, False, False),
        ("<style>p{display:none}</style>", 1, False, True),
        ("<!-- x --> <!DOCTYPE HTML><p>", 0, False, False),
        ("<style type='text/css'>p{display:none}</style>", 1, False, True),
        ("<style type='text/less'>p{display:none}</style>", 0, False, True),
        ("<style media=print>p{display:none}</style>", 0, False, True),
        ("<style>p{display:none}</style><style>b{display:none}</style>", 2, False, True),
        ("<svg><style>p{display:none}</style></svg><style>b{display:none}</style>", 2, False, True),
        ("<link rel=stylesheet href=x>", 0, True, True),
        ("<link rel='alternate StyleSheet' href=x>", 0, True, True),
        ("<link rel=icon href=x>", 0, False, True),
        ("<style>@import 'x';</style>", 0, True, True),
        ("<p>text</p>", 0, False, True),
    ],
)
def test_the_style_sheets_of_a_page(page, count, imports, quirks):
    sheets = StyleCollector(page).sheets

    assert (sheets.count, sheets.imports, sheets.quirks) == (count, imports, quirks)


@pytest.mark.parametrize(
    ("css", "style", "own"),
    [
        ("p { display: block }", None, False),
        ("p { display: block }", "display: flex", True),
        ("p { display: block !important }", "display: flex", False),
    ],
)
def test_it_is_known_whether_the_value_is_that_of_the_element(css, style, own):
    sheets = StyleSheets(quirks=False)
    sheets.add(css)
    element = PageElement("p", frozenset(), {}.get)

    assert sheets.cascade(element, [], style)["display"].own is own
