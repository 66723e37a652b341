"""Amounts and colours of CSS, by the values that its specification gives them."""

import pytest

from handrail.web.css.colors import CssColor, read_color
from handrail.web.css.syntax import read_css_tokens
from handrail.web.css.values import CssAmount, read_amount


def amount(text):
    return read_amount(read_css_tokens(text))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0", CssAmount(plain=True)),
        ("1.5", CssAmount(number=1.5, plain=True)),
        ("-2e1", CssAmount(number=-20, plain=True)),
        ("3px", CssAmount(pixels=3)),
        ("3PX", CssAmount(pixels=3)),
        ("1in", CssAmount(pixels=96)),
        ("72pt", CssAmount(pixels=96)),
        ("6pc", CssAmount(pixels=96)),
        ("2.54cm", CssAmount(pixels=96)),
        ("25.4mm", CssAmount(pixels=96)),
        ("101.6q", CssAmount(pixels=96)),
        ("2rem", CssAmount(pixels=32)),
        ("100vw", CssAmount(pixels=1280)),
        ("100dvh", CssAmount(pixels=800)),
        ("50vmin", CssAmount(pixels=400)),
        ("50vmax", CssAmount(pixels=640)),
        ("2em", CssAmount(ems=2)),
        ("2ch", CssAmount(ems=1)),
        ("50%", CssAmount(percent=50)),
        ("90deg", CssAmount(degrees=90)),
        ("100grad", CssAmount(degrees=90)),
        ("0.5turn", CssAmount(degrees=180)),
        ("calc(1px + 2px)", CssAmount(pixels=3)),
        ("calc(5px - 2px)", CssAmount(pixels=3)),
        ("calc(5px - 2px - 1px)", CssAmount(pixels=2)),
        ("calc(100% - 2em)", CssAmount(percent=100, ems=-2)),
        ("calc(2 * 3px)", CssAmount(pixels=6)),
        ("calc(3px * 2)", CssAmount(pixels=6)),
        ("calc(2 * 3)", CssAmount(number=6, plain=True)),
        ("calc(6px / 2)", CssAmount(pixels=3)),
        ("calc(12px / 2 / 3)", CssAmount(pixels=2)),
        ("calc(1px + 2 * 3px)", CssAmount(pixels=7)),
        ("calc((1px + 2px) * 3)", CssAmount(pixels=9)),
        ("calc(1 + 2)", CssAmount(number=3, plain=True)),
        ("calc(1px + calc(2px))", CssAmount(pixels=3)),
        ("-webkit-calc(3px)", CssAmount(pixels=3)),
        ("min(3px, 2px, 4px)", CssAmount(pixels=2)),
        ("max(3px, 2px, 4px)", CssAmount(pixels=4)),
        ("min(1em, 10px)", CssAmount(pixels=10)),
        ("clamp(1px, 5px, 3px)", CssAmount(pixels=3)),
        ("clamp(1px, 0px, 3px)", CssAmount(pixels=1)),
        ("clamp(1px, 2px, 3px)", CssAmount(pixels=2)),
        ("clamp(5px, 2px, 3px)", CssAmount(pixels=5)),
        ("1e20px", CssAmount(pixels=1e9)),
        ("-1e20px", CssAmount(pixels=-1e9)),
        ("calc(1e9px * 1000)", CssAmount(pixels=1e9)),
        ("calc(1e9px * -1000)", CssAmount(pixels=-1e9)),
    ],
)
def test_an_amount(text, expected):
    found = amount(text)

    assert found[:5] == pytest.approx(expected[:5])
    assert found.plain is expected.plain


@pytest.mark.parametrize(
    "text",
    [
        *("", "auto", "3 px", "3foo", "(3px)", "calc(1px+2px)", "calc(1px + 2)", "calc(2px * 3px)"),
        *("calc(3px / 2px)", "calc(3px / 0)", "calc(1px, 2px)", "clamp(1px, 2px)", "sin(1)"),
        *("calc(1px) 2px", "calc()", "calc(auto)", "min(1px, auto)"),
    ],
)
def test_what_is_no_amount(text):
    assert amount(text) is None


def test_amounts_are_nested_and_long_only_up_to_a_limit():
    assert amount("calc(" * 20 + "1px" + ")" * 20) == CssAmount(pixels=1)
    assert amount("calc(" * 21 + "1px" + ")" * 21) is None
    assert amount(f"max({','.join(['1px'] * 99)})") == CssAmount(pixels=1)
    assert amount(f"max({','.join(['1px'] * 100)})") is None


def test_an_amount_depends_on_the_font_and_on_what_is_around_it():
    both = CssAmount(pixels=1, ems=2, percent=50)

    assert both.resolve(10, 200) == 121
    assert both.nominal == 1 + 32 + 640
    assert CssAmount(degrees=3, number=4).nominal == 7


def test_a_length_has_a_unit_or_is_zero():
    assert CssAmount(pixels=1).is_length
    assert CssAmount(percent=1).is_length
    assert CssAmount(plain=True).is_length
    assert not CssAmount(number=1, plain=True).is_length
    assert not CssAmount(degrees=1).is_length


@pytest.mark.parametrize(
    ("text", "rgb", "alpha"),
    [
        ("red", (255, 0, 0), 1),
        ("RebeccaPurple", (102, 51, 153), 1),
        ("#f00", (255, 0, 0), 1),
        ("#F00", (255, 0, 0), 1),
        ("#f008", (255, 0, 0), 136 / 255),
        ("#102030", (16, 32, 48), 1),
        ("#10203040", (16, 32, 48), 64 / 255),
        ("transparent", None, 0),
        ("currentColor", None, 1),
        ("canvastext", None, 1),
        ("rgb(1, 2, 3)", (1, 2, 3), 1),
        ("rgb(1 2 3)", (1, 2, 3), 1),
        ("rgb(1, 2, 3, 0.5)", (1, 2, 3), 0.5),
        ("rgba(1 2 3 / 50%)", (1, 2, 3), 0.5),
        ("rgb(100%, 0%, 50%)", (255, 0, 128), 1),
        ("rgb(300, -5, 0)", (255, 0, 0), 1),
        ("rgb(1 none 3)", (1, 0, 3), 1),
        ("rgba(0, 0, 0, 7)", (0, 0, 0), 1),
        ("rgba(0, 0, 0, -7)", (0, 0, 0), 0),
        ("hsl(120, 100%, 50%)", (0, 255, 0), 1),
        ("hsl(480deg 100% 50%)", (0, 255, 0), 1),
        ("hsla(240, 100%, 25%, 0)", (0, 0, 128), 0),
        ("hsl(0 0% 100% / 0.5)", (255, 255, 255), 0.5),
        ("hsl(0 100% 50%)", (255, 0, 0), 1),
        ("hwb(0 0% 0%)", None, 1),
        ("oklch(0 0 0 / 0)", None, 0),
        ("color(srgb 1 0 0)", None, 1),
        ("color-mix(in srgb, red, blue)", None, 1),
    ],
)
def test_a_colour(text, rgb, alpha):
    assert read_color(read_css_tokens(text)) == CssColor(rgb, pytest.approx(alpha))


@pytest.mark.parametrize(
    "text",
    [
        *("", "redd", "#ff", "#fffff", "#ggg", "#fffffffff", "3", "red blue", "rgb(1, 2)", "rgb()"),
        *("rgb(1, 2, 3, 4, 5)", "rgb(1 2 3 4)", "rgb(1 2 3 / )", "rgb(1 2 3 / 1 / 1)"),
        *("rgb(1px, 2, 3)", "rgb(1em 2 3)", "rgb(a b c)", "hwb(0, 0%, 0%)", "sum(1, 2, 3)"),
        *("rgb(1, 2, 3) x", "rgb(1, 2, 3, auto)"),
    ],
)
def test_what_is_no_colour(text):
    assert read_color(read_css_tokens(text)) is None
