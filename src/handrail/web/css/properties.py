"""The properties that can hide text: which values are valid, and what shorthands expand to.

Part of `html_worker`; imports nothing of Handrail but its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from handrail.web.css.colors import CssColor, read_color
from handrail.web.css.syntax import CssDeclaration, CssToken, split_arguments
from handrail.web.css.values import CssAmount, read_amount

# A keyword, an amount, a colour, or the tokens of a value that is interpreted later.
PropertyValue = str | CssAmount | CssColor | tuple[CssToken, ...]
WIDE: Final = frozenset({"inherit", "initial", "unset", "revert", "revert-layer"})
_DISPLAYS: Final = frozenset(
    """none block inline inline-block flex inline-flex grid inline-grid table inline-table contents
    flow flow-root list-item table-row table-cell table-row-group table-header-group
    table-footer-group table-column table-column-group table-caption ruby ruby-base ruby-text math
    -webkit-box -webkit-inline-box -webkit-flex""".split()  # noqa: SIM905 - a list of words
)
_INSIDE: Final = frozenset({"flow", "flow-root", "table", "flex", "grid", "ruby", "list-item"})
FONT_SIZES: Final = {
    "xx-small": 9.0,
    "x-small": 10.0,
    "small": 13.0,
    "medium": 16.0,
    "large": 18.0,
    "x-large": 24.0,
    "xx-large": 32.0,
    "xxx-large": 48.0,
}
_RELATIVE_SIZES: Final = {"smaller": CssAmount(ems=0.83), "larger": CssAmount(ems=1.2)}
_KEYWORDS: Final = {
    "visibility": frozenset({"visible", "hidden", "collapse"}),
    "content-visibility": frozenset({"visible", "auto", "hidden"}),
    "position": frozenset({"static", "relative", "absolute", "fixed", "sticky", "-webkit-sticky"}),
    "float": frozenset({"none", "left", "right", "inline-start", "inline-end"}),
    **dict.fromkeys(
        ("overflow-x", "overflow-y"), frozenset({"visible", "hidden", "clip", "scroll", "auto"})
    ),
}
_AUTO: Final = frozenset({"auto"})
_SIZES: Final = frozenset({"auto", "none", "min-content", "max-content", "fit-content", "stretch"})
# Lengths: which keywords they also accept, and whether they may be negative.
_LENGTHS: Final[dict[str, tuple[frozenset[str], bool]]] = {
    **dict.fromkeys(("left", "top", "right", "bottom", "margin-left", "margin-top"), (_AUTO, True)),
    "text-indent": (frozenset(), True),
    **dict.fromkeys(
        ("width", "height", "max-width", "max-height", "min-width", "min-height"), (_SIZES, False)
    ),
    **dict.fromkeys(("padding-top", "padding-left"), (frozenset(), False)),
}
_SAME: Final = {
    "inset-inline-start": "left",
    "inset-inline-end": "right",
    "inset-block-start": "top",
    "inset-block-end": "bottom",
    "margin-inline-start": "margin-left",
    "margin-block-start": "margin-top",
    "inline-size": "width",
    "block-size": "height",
    "max-inline-size": "max-width",
    "max-block-size": "max-height",
    "padding-bottom": "padding-top",
    "padding-right": "padding-left",
    "-webkit-transform": "transform",
    "-webkit-clip-path": "clip-path",
    "-webkit-filter": "filter",
    "-webkit-opacity": "opacity",
}
_NONE: Final = frozenset({"none"})
# Properties whose values are functions, with the keywords that they accept.
_FUNCTIONS: Final = {
    **dict.fromkeys(("transform", "translate", "scale", "filter"), _NONE),
    "clip": _AUTO,
    "clip-path": frozenset({"none", "border-box", "padding-box", "content-box", "margin-box"}),
}
_SHAPES: Final = frozenset(
    {"inset", "circle", "ellipse", "polygon", "path", "rect", "xywh", "shape"}
)
_MOTION: Final = ("transition", "animation", "-webkit-transition", "-webkit-animation")


def expand(declaration: CssDeclaration, *, quirks: bool) -> list[tuple[str, PropertyValue]]:
    """Return the properties that a declaration sets; none if it is invalid or not relevant here."""
    value = list(declaration.value)
    name = _SAME.get(declaration.name, declaration.name)
    names = _SHORTHANDS.get(name, (name,))
    wide = _read_wide(value)
    if wide or not value:
        return [(one, wide) for one in names if wide]
    if name.startswith(_MOTION):
        return [("motion", "none" if _keyword(value) == "none" else "motion")]
    if name in _BOXES:
        return _expand_box(names, value, quirks=quirks)
    if name in _READERS:
        return _READERS[name](value, quirks)
    single = _read_single(name, value, quirks)
    return [] if single is None else [(name, single)]


def _read_wide(value: Sequence[CssToken]) -> str:
    """Return the keyword if a value is one that every property accepts."""
    if any(one.kind == "function" and one.text.lower() in ("var", "env") for one in value):
        # Valid for any value, which is not known here.
        return "unset"
    keyword = _keyword(value)
    return keyword if keyword in WIDE else ""


def _read_single(name: str, value: list[CssToken], quirks: bool) -> PropertyValue | None:
    keyword = _keyword(value)
    if name in _KEYWORDS:
        return keyword if keyword in _KEYWORDS[name] else None
    if name in _LENGTHS:
        keywords, negative = _LENGTHS[name]
        if name.endswith("height") and value[0].text == "%":
            # Relative to the containing element, whose height mostly depends on its content.
            return "auto"
        return keyword if keyword in keywords else _length(value, negative, quirks)
    if name in ("color", "-webkit-text-fill-color", "background-color"):
        return read_color(value)
    if name in _FUNCTIONS and (keyword in _FUNCTIONS[name] or _calls(name, value)):
        return tuple(value)
    return None


def _calls(name: str, value: list[CssToken]) -> bool:
    """Return whether a value consists of functions that its property accepts, or of amounts."""
    words = [one for one in split_arguments(value, " ") if one]
    if name in ("translate", "scale"):
        return len(words) <= 3 and all(read_amount(one) is not None for one in words)
    functions = [one for one in words if one[0].kind == "function" and one[0].end == len(one)]
    boxes = [one for one in words if _keyword(one).endswith("-box")]
    if name == "clip-path" and len(functions) == 1:
        return (
            len(boxes) <= 1
            and len(boxes) + 1 == len(words)
            and functions[0][0].text.lower() in _SHAPES
        )
    if name == "clip":
        return len(words) == len(functions) == 1 and functions[0][0].text.lower() == "rect"
    return len(words) == len(functions) and name != "clip-path"


def _keyword(value: Sequence[CssToken]) -> str:
    is_word = len(value) == 1 and value[0].kind == "ident"
    return value[0].text.lower() if is_word else ""


def _length(value: Sequence[CssToken], negative: bool, quirks: bool) -> CssAmount | None:
    amount = read_amount(value)
    if amount is None:
        return None
    simple = value[0].kind == "number"
    if amount.plain and amount.number:
        if not quirks or not simple:
            return None
        amount = CssAmount(pixels=amount.number)
    if amount.degrees or (not simple and amount.plain):
        return None
    if not negative and simple and amount.nominal < 0:
        return None
    return amount


def _expand_display(value: list[CssToken], quirks: bool) -> list[tuple[str, PropertyValue]]:
    del quirks
    words = [_keyword(one) for one in split_arguments(value, " ") if one]
    if len(words) == 1 and words[0] in _DISPLAYS:
        return [("display", words[0])]
    outer = [one for one in words if one in ("block", "inline")]
    known = len(outer) <= 1 and all(one in _INSIDE or one in outer for one in words)
    if len(words) < 2 or not known:
        return []
    return [("display", "inline" if outer == ["inline"] else "block")]


def _expand_opacity(value: list[CssToken], quirks: bool) -> list[tuple[str, PropertyValue]]:
    del quirks
    amount = read_amount(value)
    has_unit = value[0].kind == "number" and value[0].text not in ("", "%")
    if amount is None or has_unit or amount.pixels or amount.ems or amount.degrees:
        return []
    return [("opacity", CssAmount(number=amount.number + amount.percent / 100, plain=True))]


def _expand_font_size(value: list[CssToken], quirks: bool) -> list[tuple[str, PropertyValue]]:
    keyword = _keyword(value)
    if keyword in FONT_SIZES:
        return [("font-size", CssAmount(pixels=FONT_SIZES[keyword]))]
    if keyword in _RELATIVE_SIZES:
        return [("font-size", _RELATIVE_SIZES[keyword])]
    amount = _length(value, negative=False, quirks=quirks)
    return [] if amount is None else [("font-size", amount)]


def _expand_font(value: list[CssToken], quirks: bool) -> list[tuple[str, PropertyValue]]:
    del quirks
    words = [one for one in split_arguments(value, " ") if one]
    for at, word in enumerate(words):
        size, *line_height = split_arguments(word, "/")
        found = _expand_font_size(size, quirks=False)
        if found and (
            len(size) != 1 or size[0].kind != "number" or size[0].text or not size[0].number
        ):
            family = words[at + 1 + (line_height == [[]]) :]
            if family and all(one[0].kind in ("ident", "string", "sign") for one in family):
                return found
            return []
    return []


def _expand_overflow(value: list[CssToken], quirks: bool) -> list[tuple[str, PropertyValue]]:
    del quirks
    words = [_keyword(one) for one in split_arguments(value, " ") if one]
    if not 1 <= len(words) <= 2 or any(one not in _KEYWORDS["overflow-x"] for one in words):
        return []
    return [("overflow-x", words[0]), ("overflow-y", words[-1])]


def _expand_background(value: list[CssToken], quirks: bool) -> list[tuple[str, PropertyValue]]:
    """Return the colour and whether there is an image, the only parts that matter here."""
    del quirks
    has_image = any(
        one.kind == "url" or (one.kind == "function" and one.text.lower().endswith(("gradient", "url", "image", "image-set")))
        for one in value
    )  # fmt: skip
    words = [one for one in split_arguments(split_arguments(value, ",")[-1], " ") if one]
    colors = [found for one in words if (found := read_color(one)) is not None]
    known = has_image or len(words) > 1 or colors or _keyword(value) == "none"
    if len(colors) > 1 or not known:
        return []
    color = colors[0] if colors else CssColor(None, 0.0)
    return [("background-color", color), ("background-image", "image" if has_image else "none")]


def _expand_background_image(
    value: list[CssToken], quirks: bool
) -> list[tuple[str, PropertyValue]]:
    del quirks
    return [("background-image", "none" if _keyword(value) == "none" else "image")]


def _expand_box(
    names: Sequence[str], value: list[CssToken], *, quirks: bool
) -> list[tuple[str, PropertyValue]]:
    """Expand one to four lengths for the sides; two for a logical axis."""
    words = [one for one in split_arguments(value, " ") if one]
    found = [_read_single(names[0], one, quirks) for one in words]
    if not 1 <= len(words) <= len(names) or any(one is None for one in found):
        return []
    known = [one for one in found if one is not None]
    if len(names) == 2:
        return [(names[0], known[0]), (names[1], known[-1])]
    top, right = known[0], known[1 % len(known)]
    bottom = known[2] if len(known) > 2 else top
    left = known[3] if len(known) > 3 else right
    return list(zip(names, (top, right, bottom, left), strict=True))


_BOXES: Final = {
    "inset": ("top", "right", "bottom", "left"),
    "inset-inline": ("left", "right"),
    "inset-block": ("top", "bottom"),
    "margin": ("margin-top", "margin-right", "margin-bottom", "margin-left"),
    "padding": ("padding-top", "padding-left", "padding-top", "padding-left"),
}
_SHORTHANDS: Final[dict[str, tuple[str, ...]]] = {
    **_BOXES,
    "font": ("font-size",),
    "overflow": ("overflow-x", "overflow-y"),
    "background": ("background-color", "background-image"),
}
_READERS: Final[dict[str, Callable[[list[CssToken], bool], list[tuple[str, PropertyValue]]]]] = {
    "display": _expand_display,
    "opacity": _expand_opacity,
    "font-size": _expand_font_size,
    "font": _expand_font,
    "overflow": _expand_overflow,
    "background": _expand_background,
    "background-image": _expand_background_image,
}
