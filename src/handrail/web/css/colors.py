"""Colours of CSS: names, hexadecimal numbers and functions. Part of `html_worker`; imports nothing
of Handrail but its neighbours.
"""

from __future__ import annotations

import colorsys
from typing import Final, NamedTuple

from handrail.web.css.syntax import CssToken, function_arguments, split_arguments
from handrail.web.css.values import read_amount

_NAMES: Final = dict(
    one.split(":")
    for one in """
aliceblue:f0f8ff antiquewhite:faebd7 aqua:00ffff aquamarine:7fffd4 azure:f0ffff beige:f5f5dc
bisque:ffe4c4 black:000000 blanchedalmond:ffebcd blue:0000ff blueviolet:8a2be2 brown:a52a2a
burlywood:deb887 cadetblue:5f9ea0 chartreuse:7fff00 chocolate:d2691e coral:ff7f50
cornflowerblue:6495ed cornsilk:fff8dc crimson:dc143c cyan:00ffff darkblue:00008b
darkcyan:008b8b darkgoldenrod:b8860b darkgray:a9a9a9 darkgreen:006400 darkgrey:a9a9a9
darkkhaki:bdb76b darkmagenta:8b008b darkolivegreen:556b2f darkorange:ff8c00
darkorchid:9932cc darkred:8b0000 darksalmon:e9967a darkseagreen:8fbc8f darkslateblue:483d8b
darkslategray:2f4f4f darkslategrey:2f4f4f darkturquoise:00ced1 darkviolet:9400d3
deeppink:ff1493 deepskyblue:00bfff dimgray:696969 dimgrey:696969 dodgerblue:1e90ff
firebrick:b22222 floralwhite:fffaf0 forestgreen:228b22 fuchsia:ff00ff gainsboro:dcdcdc
ghostwhite:f8f8ff gold:ffd700 goldenrod:daa520 gray:808080 green:008000 greenyellow:adff2f
grey:808080 honeydew:f0fff0 hotpink:ff69b4 indianred:cd5c5c indigo:4b0082 ivory:fffff0
khaki:f0e68c lavender:e6e6fa lavenderblush:fff0f5 lawngreen:7cfc00 lemonchiffon:fffacd
lightblue:add8e6 lightcoral:f08080 lightcyan:e0ffff lightgoldenrodyellow:fafad2
lightgray:d3d3d3 lightgreen:90ee90 lightgrey:d3d3d3 lightpink:ffb6c1 lightsalmon:ffa07a
lightseagreen:20b2aa lightskyblue:87cefa lightslategray:778899 lightslategrey:778899
lightsteelblue:b0c4de lightyellow:ffffe0 lime:00ff00 limegreen:32cd32 linen:faf0e6
magenta:ff00ff maroon:800000 mediumaquamarine:66cdaa mediumblue:0000cd mediumorchid:ba55d3
mediumpurple:9370db mediumseagreen:3cb371 mediumslateblue:7b68ee mediumspringgreen:00fa9a
mediumturquoise:48d1cc mediumvioletred:c71585 midnightblue:191970 mintcream:f5fffa
mistyrose:ffe4e1 moccasin:ffe4b5 navajowhite:ffdead navy:000080 oldlace:fdf5e6 olive:808000
olivedrab:6b8e23 orange:ffa500 orangered:ff4500 orchid:da70d6 palegoldenrod:eee8aa
palegreen:98fb98 paleturquoise:afeeee palevioletred:db7093 papayawhip:ffefd5
peachpuff:ffdab9 peru:cd853f pink:ffc0cb plum:dda0dd powderblue:b0e0e6 purple:800080
rebeccapurple:663399 red:ff0000 rosybrown:bc8f8f royalblue:4169e1 saddlebrown:8b4513
salmon:fa8072 sandybrown:f4a460 seagreen:2e8b57 seashell:fff5ee sienna:a0522d silver:c0c0c0
skyblue:87ceeb slateblue:6a5acd slategray:708090 slategrey:708090 snow:fffafa
springgreen:00ff7f steelblue:4682b4 tan:d2b48c teal:008080 thistle:d8bfd8 tomato:ff6347
turquoise:40e0d0 violet:ee82ee wheat:f5deb3 white:ffffff whitesmoke:f5f5f5 yellow:ffff00
yellowgreen:9acd32
""".split()  # noqa: SIM905 - a list of words
)
_FUNCTIONS: Final = frozenset(
    {"rgb", "rgba", "hsl", "hsla", "hwb", "lab", "lch", "oklab", "oklch", "color", "color-mix"}
)
# Values that are not colours themselves, and colours of the system.
_SYSTEM: Final = frozenset(
    """currentcolor canvas canvastext linktext visitedtext activetext buttonface buttontext field
    fieldtext highlight highlighttext mark marktext graytext""".split()  # noqa: SIM905 - a list of words
)
Rgb = tuple[int, int, int]


class CssColor(NamedTuple):
    """A colour; `rgb` is None if it is not known."""

    rgb: Rgb | None
    alpha: float


def read_color(value: list[CssToken]) -> CssColor | None:
    """Return the colour of a value; None if it is not a colour."""
    if not value:
        return None
    token, name = value[0], value[0].text.lower()
    if token.kind == "function" and name in _FUNCTIONS and token.end == len(value):
        return _function(name, function_arguments(value))
    if len(value) > 1 or token.kind not in ("hash", "ident"):
        return None
    if token.kind == "hash" or name in _NAMES:
        return _hexadecimal(_NAMES.get(name, name[1:]))
    if name == "transparent":
        return CssColor(None, 0.0)
    return CssColor(None, 1.0) if name in _SYSTEM else None


def _hexadecimal(digits: str) -> CssColor | None:
    if len(digits) in (3, 4):
        digits = "".join(one * 2 for one in digits)
    try:
        numbers = bytes.fromhex(digits) if len(digits) in (6, 8) and digits.isalnum() else b""
    except ValueError:
        numbers = b""
    if not numbers:
        return None
    red, green, blue, *rest = numbers
    return CssColor((red, green, blue), rest[0] / 255 if rest else 1.0)


def _function(name: str, inside: list[CssToken]) -> CssColor | None:
    if name in ("color", "color-mix"):
        return CssColor(None, 1.0)
    parts = split_arguments(inside, ",")
    alpha: list[CssToken] = []
    if len(parts) > 1:
        if name[:3] not in ("rgb", "hsl") or len(parts) not in (3, 4):
            return None
        parts, alpha = parts[:3], parts[3] if len(parts) == 4 else []
    else:
        channels, *rest = split_arguments(inside, "/")
        if len(rest) > 1:
            return None
        alpha = rest[0] if rest else []
        parts = [one for one in split_arguments(channels, " ") if one]
        if len(parts) != 3 or (rest and not alpha):
            return None
    amounts = [_channel(one) for one in parts]
    strength = 1.0 if not alpha else _channel(alpha, 1.0)
    known = [one for one in amounts if one is not None]
    if strength is None or len(known) < 3:
        return None
    return CssColor(_to_rgb(name, parts, known), min(max(strength, 0.0), 1.0))


def _channel(value: list[CssToken], whole: float = 255.0) -> float | None:
    """Return a channel; 100% is `whole`."""
    if len(value) == 1 and value[0].kind == "ident" and value[0].text.lower() == "none":
        return 0.0
    amount = read_amount(value)
    if amount is None or amount.pixels or amount.ems:
        return None
    return amount.percent / 100 * whole + amount.number + amount.degrees


def _to_rgb(name: str, parts: list[list[CssToken]], channels: list[float]) -> Rgb | None:
    if name.startswith("rgb"):
        red, green, blue = (round(min(max(one, 0), 255)) for one in channels)
        return red, green, blue
    if name.startswith("hsl"):
        hue, saturation, light = channels[0], _channel(parts[1], 100), _channel(parts[2], 100)
        if saturation is None or light is None:
            return None
        found = colorsys.hls_to_rgb(hue / 360 % 1, light / 100, saturation / 100)
        red, green, blue = (round(min(max(one, 0), 1) * 255) for one in found)
        return red, green, blue
    return None
