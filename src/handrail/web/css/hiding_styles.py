"""Decides from the styles of an element whether a browser shows its text. Part of `html_worker`.

Imports nothing of Handrail but its neighbours.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from handrail.web.css.colors import CssColor, Rgb
from handrail.web.css.properties import WIDE, PropertyValue
from handrail.web.css.style_sheets import CascadedValue
from handrail.web.css.syntax import CssToken, function_arguments, split_arguments
from handrail.web.css.values import HEIGHT, WIDTH, CssAmount, read_amount

# Beyond the edge of any page; and too small, too faint or with too little contrast (of 255) to be
# read.
_FAR_PX, _FAR_MARGIN_PX = -300.0, -1000.0
_BEHIND_PX: Final = 3000.0
_TINY_PX, _FAINT, _FAINT_COLOR, _LITTLE_CONTRAST = 2.0, 0.05, 0.04, 8
_ABSOLUTE: Final = frozenset({"absolute", "fixed"})
# Style sheets often use these for content that moves or opens: they count only if nothing moves.
_IN_PLACE: Final = frozenset(
    """opacity transform translate scale filter clip-path overflow-x overflow-y left right top bottom
    margin-left margin-top""".split()  # noqa: SIM905 - a list of words
)
# Values that scripts often undo as soon as the page is loaded.
_OF_PAGE: Final = _IN_PLACE | {"display", "visibility", "content-visibility"}
_INLINE_DISPLAYS: Final = frozenset({"inline", "contents"})
_INLINE_TAGS: Final = frozenset(
    """a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label map mark nobr
    output q rp rt ruby s samp small span strike strong sub sup time tt u var""".split()  # noqa: SIM905 - a list of words
)


class InheritedStyle(NamedTuple):
    """What an element passes on to those inside it; unknown `color` and `background` are None."""

    hidden: bool = False
    font: float = 16.0
    alpha: float = 1.0
    fill: float | None = None
    color: Rgb | None = (0, 0, 0)
    background: Rgb | None = None
    indent: float = 0.0

    @property
    def hides_text(self) -> bool:
        """Whether text cannot be seen, although pictures can."""
        alpha = self.alpha if self.fill is None else self.fill
        return (
            self.hidden
            or self.font <= _TINY_PX
            or alpha <= _FAINT_COLOR
            or self.indent <= _FAR_PX
            or self._is_camouflaged
        )

    @property
    def _is_camouflaged(self) -> bool:
        if self.color is None or self.background is None or self.fill is not None:
            return False
        pairs = zip(self.color, self.background, strict=True)
        return all(abs(one - other) < _LITTLE_CONTRAST for one, other in pairs)


class ElementStyle:
    """The style of one element: `styles` is the result of the cascade, `parent` what it inherits.
    `hidden`: a browser hides it unless a style shows it. `complete`: no style is unknown.
    """

    def __init__(
        self,
        tag: str,
        styles: Mapping[str, CascadedValue],
        parent: InheritedStyle,
        *,
        hidden: bool = False,
        complete: bool = False,
    ) -> None:
        moves = "motion" in styles and styles["motion"].value != "none"
        ignored = _OF_PAGE if tag in ("html", "body") else _IN_PLACE if moves else frozenset[str]()
        self._values = {
            name: one.value for name, one in styles.items() if one.own or name not in ignored
        }
        self._tag = tag
        self._parent = parent
        self._is_hidden_by_itself = hidden
        self._complete = complete

    def hides_all(self) -> bool:
        """Return whether nothing inside the element is shown, whatever its styles are."""
        return (
            self._display == "none"
            or self._amount("opacity").number <= _FAINT
            or _fades(self._tokens("filter"))
            or self._is_off_page()
            or self._is_cut_out()
            or (
                self._is_box
                and (self._word("content-visibility") == "hidden" or self._has_no_room())
            )
        )

    def hand_down(self) -> InheritedStyle:
        """Return what the elements inside inherit."""
        parent = self._parent
        visibility = self._word("visibility")
        hidden = parent.hidden
        if visibility in ("visible", "initial", "hidden", "collapse"):
            hidden = visibility in ("hidden", "collapse")
        color = self._color("color", CssColor(parent.color, parent.alpha))
        fill = self._values.get("-webkit-text-fill-color")
        return InheritedStyle(
            hidden,
            self._font(),
            color.alpha,
            fill.alpha if isinstance(fill, CssColor) else parent.fill,
            color.rgb,
            self._background(),
            self._indent(),
        )

    @property
    def _display(self) -> str:
        display = self._values.get("display")
        if display is None or display in ("revert", "revert-layer", "inherit"):
            return "none" if self._is_hidden_by_itself else ""
        return "inline" if display in WIDE else str(display)

    @property
    def _position(self) -> str:
        return self._word("position")

    @property
    def _is_box(self) -> bool:
        if self._position in _ABSOLUTE or self._word("float") not in ("", "none", *WIDE):
            return True
        display = self._display
        return display not in _INLINE_DISPLAYS if display else self._tag not in _INLINE_TAGS

    def _word(self, name: str) -> str:
        found = self._values.get(name)
        return found if isinstance(found, str) else ""

    def _tokens(self, name: str) -> tuple[CssToken, ...]:
        found = self._values.get(name)
        # Amounts and colours are tuples too.
        return () if isinstance(found, str | CssAmount | CssColor) or found is None else found

    def _amount(self, name: str) -> CssAmount:
        found = self._values.get(name)
        return found if isinstance(found, CssAmount) else CssAmount(number=1.0)

    def _length(self, name: str, base: float, otherwise: float) -> float:
        found = self._values.get(name)
        return found.resolve(self._font(), base) if isinstance(found, CssAmount) else otherwise

    def _font(self) -> float:
        found: PropertyValue | None = self._values.get("font-size")
        if isinstance(found, CssAmount):
            return max(found.resolve(self._parent.font, self._parent.font), 0.0)
        return 16.0 if found == "initial" else self._parent.font

    def _indent(self) -> float:
        found = self._values.get("text-indent")
        if isinstance(found, CssAmount):
            return found.resolve(self._font(), WIDTH)
        return 0.0 if found == "initial" else self._parent.indent

    def _color(self, name: str, inherited: CssColor) -> CssColor:
        found = self._values.get(name)
        if isinstance(found, CssColor):
            return found
        return CssColor((0, 0, 0), 1.0) if found == "initial" else inherited

    def _background(self) -> Rgb | None:
        """Return the background behind the text, as far as it is known."""
        if self._word("background-image") == "image":
            return None
        color = self._color("background-color", CssColor(None, 0.0))
        if self._values.get("background-color") in ("inherit", "initial", "unset"):
            color = CssColor(None, 0.0)
        if color.alpha >= 1.0:
            return color.rgb
        if color.alpha > 0 or not self._complete or self._position in _ABSOLUTE:
            return None
        return self._parent.background

    def _is_off_page(self) -> bool:
        left, top = self._length("margin-left", WIDTH, 0), self._length("margin-top", WIDTH, 0)
        if left <= _FAR_MARGIN_PX or (self._is_box and top <= _FAR_MARGIN_PX):
            return True
        if self._is_box and _moves_away(self._tokens("transform"), self._font()):
            return True
        moved = [read_amount(one) for one in split_arguments(self._tokens("translate"), " ") if one]
        if self._is_box and any(_is_outside(one, self._font()) for one in moved):
            return True
        if self._is_box and _is_nothing(self._tokens("scale")):
            return True
        if self._position not in (*_ABSOLUTE, "relative"):
            return False
        return any(
            not _FAR_PX < self._length(side, base, 0) < _BEHIND_PX
            for side, base in (
                ("left", WIDTH),
                ("right", WIDTH),
                ("top", HEIGHT),
                ("bottom", HEIGHT),
            )
            if not (side in ("right", "bottom") and self._has_opposite(side))
        )

    def _has_opposite(self, side: str) -> bool:
        """Return whether the opposite side decides where the element is."""
        other = {"right": "left", "bottom": "top"}[side]
        return isinstance(self._values.get(other), CssAmount) and self._position == "relative"

    def _has_no_room(self) -> bool:
        """Return whether the element clips its content and has no room for it."""
        if not any(
            self._word(f"overflow-{one}") in ("hidden", "clip", "scroll", "auto") for one in "xy"
        ):
            return False
        for size, base, padding in (
            ("height", 0.0, "padding-top"),
            ("width", WIDTH, "padding-left"),
        ):
            least = self._length(f"min-{size}", base, 0)
            room = min(self._length(size, base, 99), self._length(f"max-{size}", base, 99))
            if isinstance(self._values.get(size), CssAmount) and size == "height":
                percent = self._amount(size).percent
                room = 99 if percent else room
            if max(room, least) <= 1 and self._length(padding, WIDTH, 0) <= 1:
                return True
        return False

    def _is_cut_out(self) -> bool:
        clip = self._tokens("clip")
        if clip and self._position in _ABSOLUTE and clip[0].kind == "function":
            inside = function_arguments(clip)
            parts = split_arguments(inside, ",")
            parts = (
                parts if len(parts) == 4 else [one for one in split_arguments(inside, " ") if one]
            )
            sides = [read_amount(one) for one in parts]
            if len(sides) == 4:
                top, right, bottom, left = (
                    None if one is None else one.resolve(16, 0) for one in sides
                )
                if right is not None and right - (left or 0) <= 1:
                    return True
                if bottom is not None and bottom - (top or 0) <= 1:
                    return True
        return self._is_box and _shows_nothing(self._tokens("clip-path"))


def _functions(value: tuple[CssToken, ...]) -> list[tuple[str, list[list[CssToken]]]]:
    """Yield the functions of a value with their arguments."""
    found = []
    for one in split_arguments(value, " "):
        if one and one[0].kind == "function":
            inside = function_arguments(one)
            parts = split_arguments(inside, ",")
            if len(parts) == 1:
                parts = [part for part in split_arguments(inside, " ") if part]
            found.append((one[0].text.lower(), parts))
    return found


def _fades(value: tuple[CssToken, ...]) -> bool:
    for name, parts in _functions(value):
        amount = read_amount(parts[0]) if name == "opacity" and parts else None
        if amount is not None and amount.number + amount.percent / 100 <= _FAINT:
            return True
    return False


def _moves_away(value: tuple[CssToken, ...], font: float) -> bool:
    """Whether a transformation moves the element out of the page or leaves nothing visible."""
    for name, parts in _functions(value):
        amounts = [read_amount(one) for one in parts]
        if name.startswith("translate") and any(_is_outside(one, font) for one in amounts[:2]):
            return True
        numbers = [1.0 if one is None else one.number + one.percent / 100 for one in amounts]
        if name in ("scale", "scale3d", "scalex", "scaley") and 0.0 in numbers[:2]:
            return True
        if (
            name == "matrix"
            and len(numbers) == 6
            and numbers[0] * numbers[3] == numbers[1] * numbers[2]
        ):
            return True
        turned = {one.degrees % 180 for one in amounts if one is not None}
        if name in ("rotatex", "rotatey") and turned == {90.0}:
            return True
    return False


def _is_outside(amount: CssAmount | None, font: float) -> bool:
    # A percentage is relative to the element itself.
    moved = 0.0 if amount is None else amount.resolve(font, 300)
    return not -1000 < moved < _BEHIND_PX


def _is_nothing(value: tuple[CssToken, ...]) -> bool:
    amounts = [read_amount(one) for one in split_arguments(value, " ") if one]
    return any(one is not None and one.number + one.percent == 0 for one in amounts[:2])


def _shows_nothing(value: tuple[CssToken, ...]) -> bool:
    """Return whether a shape has no area."""
    for name, parts in _functions(value):
        words = [
            [read_amount(word) for word in split_arguments(part, " ") if word] for part in parts
        ]
        sizes = [
            0.0 if one is None else one.resolve(16, 1000) for part in words for one in part[:1]
        ]
        if name == "inset" and sizes:
            sides = [sizes[0], sizes[1 % len(sizes)], sizes[2 % len(sizes)], sizes[3 % len(sizes)]]
            if len(sizes) == 3:
                sides[3] = sizes[1]
            if sides[0] + sides[2] >= 1000 or sides[1] + sides[3] >= 1000:
                return True
        first = words[0][0] if words and words[0] else None
        if name in ("circle", "ellipse") and first is not None and first.resolve(16, 100) <= 0:
            return True
        if name == "polygon" and len({tuple(one) for one in words if len(one) == 2}) <= 2:
            return True
        if name == "xywh" and len(sizes) >= 4 and min(sizes[2:4]) <= 0:
            return True
    return False
