"""Which styles hide text: every limit from both sides, without a page around it."""

import pytest

from handrail.web.css.hiding_styles import ElementStyle, InheritedStyle
from handrail.web.css.selectors import PageElement
from handrail.web.css.style_sheets import StyleSheets


def is_hidden(style, tag="div", parent=None, *, quirks=False, sheet="", **options):
    """Whether the text of an element with this style is hidden."""
    sheets = StyleSheets(quirks=quirks)
    sheets.add(sheet)
    found = sheets.cascade(PageElement(tag, frozenset(), {}.get), [], style)
    element = ElementStyle(tag, found, parent or InheritedStyle(), **options)
    return element.hides_all() or element.hand_down().hides_text


HIDDEN_AND_SHOWN = [
    ("display: none", "display: block"),
    ("display:none", "display:nonsense"),
    ("display: none", "display: none; display: block"),
    ("display: block; display: none", "display: none; display: inline flow-root"),
    ("visibility: hidden", "visibility: visible"),
    ("visibility: collapse", "visibility: nonsense"),
    ("content-visibility: hidden", "content-visibility: auto"),
    ("opacity: 0", "opacity: 1"),
    ("opacity: 0.05", "opacity: 0.06"),
    ("opacity: 5%", "opacity: 6%"),
    ("opacity: calc(0.1 / 2)", "opacity: 0px"),
    ("-webkit-opacity: 0", "opacity: 0deg"),
    ("filter: opacity(0)", "filter: opacity(0.06)"),
    ("filter: blur(1px) opacity(5%)", "filter: blur(1px)"),
    ("font-size: 0", "font-size: small"),
    ("font-size: 2px", "font-size: 2.1px"),
    ("font-size: 0.125em", "font-size: 0.13em"),
    ("font-size: 10%", "font-size: -1px"),
    ("font: 1px serif", "font: 1px"),
    ("font: bold 1px/2 serif", "font: bold 12px/2 serif"),
    ("color: transparent", "color: black"),
    ("color: rgba(0, 0, 0, 0.04)", "color: rgba(0, 0, 0, 0.05)"),
    ("-webkit-text-fill-color: transparent", "color: transparent; -webkit-text-fill-color: red"),
    ("color: red; background: red", "color: red; background: blue"),
    ("color: #070707; background: black", "color: #080808; background: black"),
    ("color: #000008; background: #000007", "color: #000008; background: #000000"),
    ("color: red; background-color: red", "color: red; background: red url(a.png)"),
    ("color: red; background: red", "color: red; background: linear-gradient(red, red) red"),
    ("color: red; background: red", "color: red; background: rgba(255, 0, 0, 0.5)"),
    ("text-indent: -300px", "text-indent: -299px"),
    ("text-indent: -30%", "text-indent: 30%"),
    ("margin-left: -1000px", "margin-left: -999px"),
    ("margin-top: -1000px", "margin-top: -999px"),
    ("margin: -1000px", "margin: 0 -1000px 0 0"),
    ("margin: 0 0 0 -1000px", "margin: 1000px"),
    ("margin: 0 -1000px", "margin: 0 0 -1000px"),
    ("margin-inline-start: -1000px", "margin-inline-end: -1000px"),
    ("position: absolute; left: -300px", "position: absolute; left: -299px"),
    ("position: fixed; top: -300px", "position: static; top: -300px"),
    ("position: relative; left: -300px", "position: sticky; left: -300px"),
    ("position: absolute; right: -300px", "position: relative; right: -300px; left: 0"),
    ("position: absolute; right: -300px; left: 0", "position: relative; left: 0"),
    ("position: absolute; bottom: -300px", "position: relative; bottom: -300px; top: 0"),
    ("position: absolute; left: 3000px", "position: absolute; left: 2999px"),
    ("position: absolute; left: -100%", "position: absolute; left: -20%"),
    ("position: absolute; top: -100%", "position: absolute; top: -37%"),
    ("position: absolute; inset: -300px 0 0 0", "position: absolute; inset: 0"),
    ("position: absolute; inset: 0 0 0 -300px", "position: absolute; inset: 0 0 0 0 -300px"),
    ("position: absolute; inset-inline: -300px", "position: absolute; inset-inline: 0 0"),
    ("position: absolute; inset-inline-start: -20em", "position: absolute; left: -18em"),
    ("transform: translateX(-1000px)", "transform: translateX(-999px)"),
    ("transform: translate(0, 3000px)", "transform: translate(0, 2999px)"),
    ("transform: translate3d(0, -1000px, 0)", "transform: translate3d(0, 0, -1000px)"),
    ("transform: translate(-400%)", "transform: translate(-100%)"),
    ("-webkit-transform: scale(0)", "transform: scale(0.1)"),
    ("transform: scale(1, 0)", "transform: scale3d(1, 1, 0)"),
    ("transform: scaleY(0%)", "transform: rotate(90deg)"),
    ("transform: matrix(0, 0, 0, 0, 1, 1)", "transform: matrix(1, 0, 0, 1, 0, 0)"),
    ("transform: matrix(1, 2, 2, 4, 0, 0)", "transform: matrix(1, 2, 3, 4, 0, 0)"),
    ("transform: rotateX(90deg)", "transform: rotateX(45deg)"),
    ("transform: rotateY(-0.25turn)", "transform: rotateY(180deg)"),
    ("translate: -1000px", "translate: -999px"),
    ("translate: 0 3000px", "translate: 0 2999px"),
    ("scale: 0", "scale: 0.5"),
    ("scale: 1 0%", "scale: 1 1 0"),
    ("overflow: hidden; height: 0", "height: 0"),
    ("overflow: hidden; height: 1px", "overflow: hidden; height: 2px"),
    ("overflow: hidden; width: 1px", "overflow: hidden; width: 2px"),
    ("overflow: clip; max-height: 0", "overflow: visible; max-height: 0"),
    ("overflow-x: auto; width: 0", "overflow: hidden; width: 0; min-width: 9px"),
    ("overflow-y: scroll; height: 0", "overflow: hidden; height: 0; min-height: 2px"),
    ("overflow: visible clip; height: 0", "overflow: hidden; height: 0; padding: 9px"),
    (
        "overflow: hidden; height: 0; padding: 1px",
        "overflow: hidden; height: 0; padding-bottom: 2px",
    ),
    ("overflow: hidden; width: 0%", "overflow: hidden; height: 0%"),
    ("overflow: hidden; inline-size: 0", "overflow: hidden; width: auto"),
    ("clip: rect(0, 0, 0, 0); position: absolute", "clip: rect(0, 0, 0, 0)"),
    ("clip: rect(1px 1px 1px 1px); position: fixed", "clip: rect(0, 9px, 9px, 0); position: fixed"),
    ("clip: rect(0, 1px, 9px, 0); position: fixed", "clip: rect(0, 2px, 2px, 0); position: fixed"),
    ("clip: rect(0, 9px, 1px, 0); position: fixed", "clip: auto; position: fixed"),
    ("clip-path: inset(50%)", "clip-path: inset(49%)"),
    ("clip-path: inset(0 50%)", "clip-path: inset(0 49%)"),
    ("clip-path: inset(100% 0 0 0)", "clip-path: inset(99% 0 0 0)"),
    ("clip-path: inset(0 60% 0)", "clip-path: inset(0 0 60%)"),
    ("clip-path: inset(0 0 0 100%)", "clip-path: none"),
    ("clip-path: circle(0)", "clip-path: circle(1px)"),
    ("clip-path: ellipse(0 0)", "clip-path: ellipse(1px 1px)"),
    ("clip-path: polygon(0 0, 0 0, 0 0)", "clip-path: polygon(0 0, 1px 0, 0 1px)"),
    ("clip-path: polygon(0 0, 1px 1px)", "clip-path: nonsense(0)"),
    ("clip-path: circle(0) border-box", "clip-path: border-box"),
    ("opacity: 0 !important; opacity: 1", "opacity: 1 !important; opacity: 0"),
]


@pytest.mark.parametrize(("hidden", "shown"), HIDDEN_AND_SHOWN)
def test_a_style_hides_up_to_its_limit(hidden, shown):
    assert is_hidden(hidden)
    assert not is_hidden(shown)


@pytest.mark.parametrize(
    "style",
    [
        "margin-top: -1000px",
        "transform: scale(0)",
        "translate: -1000px",
        "scale: 0",
        "overflow: hidden; height: 0",
        "content-visibility: hidden",
        "clip-path: circle(0)",
    ],
)
def test_what_only_boxes_have_does_not_hide_a_word_in_a_line(style):
    assert not is_hidden(style, "span")
    assert not is_hidden(f"display: inline; {style}", "div")
    assert is_hidden(f"display: block; {style}", "span")
    assert is_hidden(f"float: left; {style}", "span")
    assert is_hidden(f"position: absolute; {style}", "span")
    assert not is_hidden(f"float: none; {style}", "span")


def test_a_number_is_a_length_only_in_old_pages():
    assert is_hidden("text-indent: -400", quirks=True)
    assert not is_hidden("text-indent: -400", quirks=False)
    assert not is_hidden("text-indent: calc(-400)", quirks=True)


@pytest.mark.parametrize(
    ("parent", "style", "hidden"),
    [
        (InheritedStyle(hidden=True), "", True),
        (InheritedStyle(hidden=True), "visibility: visible", False),
        (InheritedStyle(hidden=True), "visibility: initial", False),
        (InheritedStyle(hidden=True), "visibility: inherit", True),
        (InheritedStyle(font=0), "", True),
        (InheritedStyle(font=0), "font-size: 12px", False),
        (InheritedStyle(font=0), "font-size: 12em", True),
        (InheritedStyle(font=0), "font-size: initial", False),
        (InheritedStyle(font=40), "font-size: 5%", True),
        (InheritedStyle(font=50), "font-size: 5%", False),
        (InheritedStyle(alpha=0), "", True),
        (InheritedStyle(alpha=0), "color: initial", False),
        (InheritedStyle(alpha=0), "color: inherit", True),
        (InheritedStyle(fill=0), "", True),
        (InheritedStyle(fill=0), "color: red", True),
        (InheritedStyle(alpha=0, fill=1), "", False),
        (InheritedStyle(indent=-300), "", True),
        (InheritedStyle(indent=-300), "text-indent: 0", False),
        (InheritedStyle(indent=-300), "text-indent: initial", False),
        (InheritedStyle(color=(9, 9, 9)), "background: #090909", True),
        (InheritedStyle(color=None), "background: #090909", False),
    ],
)
def test_what_is_handed_down_holds_until_a_style_changes_it(parent, style, hidden):
    assert is_hidden(style, parent=parent) is hidden


def test_the_background_of_another_element_counts_if_every_style_is_known():
    parent = InheritedStyle(background=(255, 255, 255))

    assert is_hidden("color: white", parent=parent, complete=True)
    assert not is_hidden("color: white", parent=parent, complete=False)
    assert not is_hidden("color: white; position: absolute", parent=parent, complete=True)
    assert not is_hidden("color: white; background: rgba(0,0,0,.5)", parent=parent, complete=True)


def test_what_moves_is_not_hidden_where_it_begins():
    sheet = "div { opacity: 0; transition: opacity 1s }"

    assert not is_hidden("", sheet=sheet)
    assert is_hidden("", sheet="div { opacity: 0; transition: none }")
    assert is_hidden("opacity: 0", sheet=sheet)
    assert is_hidden("", sheet="div { display: none; animation: x 1s }")


def test_a_page_as_a_whole_is_hidden_by_its_own_style_only():
    assert not is_hidden("", "body", sheet="body { display: none }")
    assert is_hidden("display: none", "body")
    assert is_hidden("", "div", sheet="div { display: none }")


def test_an_element_that_browsers_hide_is_shown_by_a_display():
    assert is_hidden("", hidden=True)
    assert is_hidden("display: revert", hidden=True)
    assert not is_hidden("display: block", hidden=True)
    assert not is_hidden("display: unset", hidden=True)
