"""What a declaration sets: keywords, lengths, functions, and every side of a shorthand."""

import pytest

from handrail.web.css.colors import CssColor
from handrail.web.css.properties import expand
from handrail.web.css.syntax import read_css_tokens, read_declarations
from handrail.web.css.values import CssAmount


def px(number):
    return CssAmount(pixels=float(number))


RED = CssColor((255, 0, 0), 1.0)
BLUE = CssColor((0, 0, 255), 1.0)
NO_COLOR = CssColor(None, 0.0)


def sets(css, *, quirks=False):
    (declaration,) = read_declarations(read_css_tokens(css))
    return expand(declaration, quirks=quirks)


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("visibility: HIDDEN", [("visibility", "hidden")]),
        ("visibility: hidden hidden", []),
        ("visibility: 'hidden'", []),
        ("nonsense: hidden", []),
        ("color: inherit", [("color", "inherit")]),
        ("color: Unset", [("color", "unset")]),
        ("color: env(x)", [("color", "unset")]),
        ("color: VAR(--x)", [("color", "unset")]),
        ("color: rgb(var(--x), 0, 0)", [("color", "unset")]),
        ("color: environment(x)", []),
        ("color: env", []),
        ("margin-left: var", []),
        ("overflow: revert", [("overflow-x", "revert"), ("overflow-y", "revert")]),
        ("font: initial", [("font-size", "initial")]),
        ("nonsense: inherit", [("nonsense", "inherit")]),
        ("transition: none", [("motion", "none")]),
        ("transition: all 1s", [("motion", "motion")]),
        ("-webkit-animation-name: x", [("motion", "motion")]),
        ("inset-inline-start: 3px", [("left", px(3))]),
        ("padding-right: 3px", [("padding-left", px(3))]),
        ("width: auto", [("width", "auto")]),
        ("width: 50%", [("width", CssAmount(percent=50.0))]),
        ("height: 50%", [("height", "auto")]),
        ("max-height: 0%", [("max-height", "auto")]),
        ("left: none", []),
        ("left: -1px", [("left", px(-1))]),
        ("width: -1px", []),
        ("padding-top: -1px", []),
        ("padding-top: auto", []),
        ("text-indent: auto", []),
        ("width: 3", []),
        ("width: 0", [("width", CssAmount(plain=True))]),
        ("color: red", [("color", RED)]),
        ("color: reddish", []),
    ],
)
def test_single_properties(css, expected):
    assert sets(css) == expected


def test_a_number_without_a_unit_is_a_length_only_in_an_old_page():
    assert [name for name, _ in sets("width: 3", quirks=True)] == ["width"]
    assert sets("width: calc(3)", quirks=True) == []
    assert [name for name, _ in sets("font-size: 3", quirks=True)] == ["font-size"]
    assert len(sets("margin: 3 4", quirks=True)) == 4


@pytest.mark.parametrize(
    ("name", "accepted", "refused"),
    [
        ("translate", ["none", "1px", "1px 2px 3px"], ["1px 2px 3px 4px", "left", "1px left"]),
        ("scale", ["0", "1 2 3"], ["1 2 3 4"]),
        ("transform", ["none", "scale(0)", "scale(0) rotate(1deg)"], ["scale", "scale(0) 3px"]),
        ("-webkit-transform", ["scale(0)"], ["auto"]),
        ("filter", ["opacity(0)", "blur(1px) opacity(0)"], ["opacity(0) 1px"]),
        (
            "clip",
            ["auto", "rect(0 0 0 0)", "RECT(0,0,0,0)"],
            ["none", "inset(0)", "rect(0) rect(0)"],
        ),
        (
            "clip-path",
            ["none", "margin-box", "inset(1px)", "circle(0) border-box", "border-box CIRCLE(0)"],
            [
                "auto",
                "blur(1px)",
                "inset(1px) circle(0)",
                "inset(1px) border-box border-box",
                "inset(1px) 3px",
                "border-box padding-box",
            ],
        ),
    ],
)
def test_functions(name, accepted, refused):
    for text in accepted:
        ((_, value),) = sets(f"{name}: {text}")
        assert value == tuple(read_css_tokens(text)), text
    for text in refused:
        assert sets(f"{name}: {text}") == [], text


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("none", "none"),
        ("inline-block", "inline-block"),
        ("block flow", "block"),
        ("inline flow-root", "inline"),
        ("flow inline", "inline"),
        ("flow flex", "block"),
        ("block inline", None),
        ("block none", None),
        ("nonsense", None),
        ("flow nonsense", None),
    ],
)
def test_display(css, expected):
    assert sets(f"display: {css}") == ([] if expected is None else [("display", expected)])


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("0", 0.0),
        ("0.5", 0.5),
        ("50%", 0.5),
        ("calc(0.1 / 2)", 0.05),
        ("0px", None),
        ("0em", None),
        ("calc(1px)", None),
        ("calc(1em)", None),
        ("calc(1deg)", None),
        ("x", None),
    ],
)
def test_opacity(css, expected):
    found = sets(f"opacity: {css}")
    assert found == (
        [] if expected is None else [("opacity", CssAmount(number=expected, plain=True))]
    )


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("font-size: medium", px(16)),
        ("font-size: xx-small", px(9)),
        ("font-size: smaller", CssAmount(ems=0.83)),
        ("font-size: larger", CssAmount(ems=1.2)),
        ("font-size: 2em", CssAmount(ems=2.0)),
        ("font-size: -2em", None),
        ("font-size: huge", None),
        ("font: 1px serif", px(1)),
        ("font: italic bold 1px 'A B', serif", px(1)),
        ("font: small/2 serif", px(13)),
        ("font: 1px/2 serif", px(1)),
        ("font: 1px / 2 serif", None),
        ("font: 1px", None),
        ("font: bold 1px/2", None),
        ("font: 1px 2px", None),
        ("font: 700 1px serif", px(1)),
        ("font: bold serif", None),
    ],
)
def test_font_sizes(css, expected):
    assert sets(css) == ([] if expected is None else [("font-size", expected)])


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("hidden", ("hidden", "hidden")),
        ("hidden auto", ("hidden", "auto")),
        ("hidden x", None),
        ("hidden auto clip", None),
        ("3px", None),
    ],
)
def test_overflow(css, expected):
    pairs = (
        [] if expected is None else list(zip(("overflow-x", "overflow-y"), expected, strict=True))
    )
    assert sets(f"overflow: {css}") == pairs


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("red", (RED, "none")),
        ("none", (NO_COLOR, "none")),
        ("nonsense", None),
        ("red blue", None),
        ("no-repeat center", (NO_COLOR, "none")),
        ("url(a.png)", (NO_COLOR, "image")),
        ("url('a.png') red", (RED, "image")),
        ("Linear-Gradient(red, blue)", (NO_COLOR, "image")),
        ("image-set('a')", (NO_COLOR, "image")),
        ("url(a.png), blue", (BLUE, "image")),
        ("red, blue", (BLUE, "none")),
        ("rgb(0, 0, 255)", (BLUE, "none")),
    ],
)
def test_backgrounds(css, expected):
    names = ("background-color", "background-image")
    pairs = [] if expected is None else list(zip(names, expected, strict=True))
    assert sets(f"background: {css}") == pairs


def test_the_image_of_a_background():
    assert sets("background-image: none") == [("background-image", "none")]
    assert sets("background-image: url(a)") == [("background-image", "image")]


@pytest.mark.parametrize(
    ("css", "expected"),
    [
        ("1px", (1, 1, 1, 1)),
        ("1px 2px", (1, 2, 1, 2)),
        ("1px 2px 3px", (1, 2, 3, 2)),
        ("1px 2px 3px 4px", (1, 2, 3, 4)),
        ("1px 2px 3px 4px 5px", None),
        ("1px red", None),
    ],
)
def test_four_sides(css, expected):
    for shorthand, names in [
        ("inset", ("top", "right", "bottom", "left")),
        ("margin", ("margin-top", "margin-right", "margin-bottom", "margin-left")),
        ("padding", ("padding-top", "padding-left", "padding-top", "padding-left")),
    ]:
        pairs = [] if expected is None else list(zip(names, map(px, expected), strict=True))
        assert sets(f"{shorthand}: {css}") == pairs


def test_two_sides_of_an_axis():
    assert sets("inset-inline: 1px") == [("left", px(1)), ("right", px(1))]
    assert sets("inset-block: 1px 2px") == [("top", px(1)), ("bottom", px(2))]
    assert sets("inset-block: 1px 2px 3px") == []
    assert sets("inset: auto 1px")[0] == ("top", "auto")
