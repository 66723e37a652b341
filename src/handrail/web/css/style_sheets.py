"""The rules of a page's style sheets, and the cascade: which declarations apply to an element.

Part of `html_worker`; imports nothing of Handrail but its neighbours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from handrail.web.css.properties import PropertyValue, expand
from handrail.web.css.selectors import CssSelector, PageElement, SelectorBudget, read_selectors
from handrail.web.css.syntax import (
    CssRule,
    CssToken,
    function_arguments,
    read_css_tokens,
    read_declarations,
    read_rules,
    split_arguments,
)
from handrail.web.css.values import HEIGHT, WIDTH, read_amount
from handrail.web.html_tokens import StartTag, TokenHandler, read_tokens

_MAX_CSS: Final = 300_000
_STANDARD: Final = re.compile(r"\s*(?:<!--.*?-->\s*)*<!doctype\s+html", re.IGNORECASE | re.DOTALL)
_STYLED: Final = re.compile(r"<(?:style|link)", re.IGNORECASE)
_FOREIGN: Final = ("svg", "math")
_MOST_STEPS: Final = 2_000_000
_DEEPEST: Final = 10
_TYPES: Final = {"all": True, "screen": True}
# The features of a browser with a mouse and a screen.
_FEATURES: Final = {
    "orientation": "landscape",
    "hover": "hover",
    "any-hover": "hover",
    "pointer": "fine",
    "any-pointer": "fine",
    "prefers-color-scheme": "light",
    "prefers-contrast": "no-preference",
    "prefers-reduced-motion": "no-preference",
    "scripting": "enabled",
}
_PLAIN_FEATURES: Final = frozenset({"color", "width", "height", "hover", "pointer", "any-hover"})
_NO_LAYER: Final = 1 << 30
# Important, in the `style` attribute, layer, specificity, order.
_Rank = tuple[bool, bool, int, tuple[int, int, int], int]
Setting = tuple[str, PropertyValue, bool]


class StyleRule(NamedTuple):
    """A rule that may hide or show: its selector, its layer, and the properties that it sets."""

    selector: CssSelector
    layer: int
    order: int
    settings: tuple[Setting, ...]


class CascadedValue(NamedTuple):
    """The value that wins the cascade; `own` says that it comes from the `style` attribute."""

    value: PropertyValue
    own: bool


class StyleSheets:
    """The style sheets of one page."""

    def __init__(self, *, quirks: bool) -> None:
        self.quirks = quirks
        # Whether there are other style sheets, which are not known.
        self.imports = False
        self.count = 0
        self._buckets: dict[str, list[StyleRule]] = {}
        self._layers: dict[str, int] = {}
        self._budget = SelectorBudget(_MOST_STEPS)

    def add(self, css: str, media: str = "") -> None:
        """Add a style sheet if it applies to screens."""
        if _media_holds(read_css_tokens(media)):
            self._add_rules(read_rules(read_css_tokens(css)), _NO_LAYER, 0)

    def _add_rules(self, rules: Iterator[CssRule], layer: int, depth: int) -> None:
        for rule in rules:
            if not rule.at:
                self._add_rule(rule, layer)
            elif rule.at == "import":
                self.imports = True
            elif rule.at == "layer":
                names = ["".join(t.text for t in one) for one in split_arguments(rule.prelude, ",")]
                indexes = [
                    self._layer(one if layer == _NO_LAYER else f"{layer}.{one}") for one in names
                ]
                if rule.block is not None and depth < _DEEPEST:
                    self._add_rules(read_rules(rule.block), indexes[0], depth + 1)
            elif (
                rule.block is not None and depth < _DEEPEST and _condition_holds(rule, self.quirks)
            ):
                self._add_rules(read_rules(rule.block), layer, depth + 1)

    def _layer(self, name: str) -> int:
        key = f"{len(self._layers)}" if name.endswith(".") or not name else name
        return self._layers.setdefault(key, len(self._layers))

    def _add_rule(self, rule: CssRule, layer: int) -> None:
        settings = tuple(_settings(rule.block or [], self.quirks))
        if not settings:
            return
        prelude = rule.prelude
        if self.quirks:
            # Classes and ids are compared without regard to case.
            prelude = [one._replace(text=one.text.lower()) for one in prelude]
        for selector in read_selectors(prelude):
            self.count += 1
            made = StyleRule(selector, layer, self.count, settings)
            self._buckets.setdefault(_bucket(selector), []).append(made)

    def cascade(
        self, element: PageElement, around: Sequence[PageElement], style: str | None
    ) -> dict[str, CascadedValue]:
        """Return the declared value of each property of an element inside others."""
        best: dict[str, tuple[_Rank, CascadedValue]] = {}

        def offer(setting: Setting, rank: _Rank) -> None:
            name, value, _ = setting
            if name not in best or best[name][0] <= rank:
                best[name] = (rank, CascadedValue(value, own=rank[1]))

        for rule in self._matching(element, around):
            for setting in rule.settings:
                layer = -rule.layer if setting[2] else rule.layer
                specificity = rule.selector.specificity
                offer(setting, (setting[2], False, layer, specificity, rule.order))
        for setting in _own_settings(style, self.quirks) if style else ():
            offer(setting, (setting[2], True, 0, (0, 0, 0), 0))
        return {name: value for name, (_, value) in best.items()}

    def _matching(self, element: PageElement, around: Sequence[PageElement]) -> Iterator[StyleRule]:
        if not self._buckets:
            return
        for bucket in (*element.names, element.tag, ""):
            for rule in self._buckets.get(bucket, ()):
                if not self._budget.spend():
                    return
                if rule.selector.holds(element, around, self._budget):
                    yield rule


def _bucket(selector: CssSelector) -> str:
    """Return what an element must have at least for a selector to be tried."""
    return min(selector.last.names, default=selector.last.tag)


def _settings(block: Sequence[CssToken], quirks: bool) -> Iterator[Setting]:
    for declaration in read_declarations(block):
        for name, value in expand(declaration, quirks=quirks):
            yield name, value, declaration.important


@lru_cache(maxsize=1_024)
def _own_settings(style: str, quirks: bool) -> tuple[Setting, ...]:
    return tuple(_settings(read_css_tokens(style), quirks))


def _condition_holds(rule: CssRule, quirks: bool) -> bool:
    if rule.at == "media":
        return _media_holds(rule.prelude)
    if rule.at != "supports":
        return False
    words = [one for one in split_arguments(rule.prelude, " ") if one]
    negated = bool(words) and words[0][0].text.lower() == "not"
    words = words[negated:]
    if len(words) != 1 or not words[0][0].is_sign("("):
        return False
    inside = list(read_declarations(function_arguments(words[0])))
    known = bool(inside) and bool(expand(inside[0], quirks=quirks))
    return known is not negated


def _media_holds(prelude: Sequence[CssToken]) -> bool:
    queries = [one for one in split_arguments(prelude, ",") if one]
    return not queries or any(map(_query_holds, queries))


def _query_holds(query: Sequence[CssToken]) -> bool:
    words = [one for one in split_arguments(query, " ") if one]
    first = words[0][0].text.lower() if words[0][0].kind == "ident" else ""
    if first in ("not", "only"):
        words = words[1:]
    holds = bool(words)
    for at, word in enumerate(words):
        text = word[0].text.lower()
        if at % 2:
            # Only conditions that must all hold are supported.
            if text != "and":
                return False
        elif word[0].is_sign("("):
            answer = _feature_holds(function_arguments(word))
            if answer is None:
                return False
            holds = holds and answer
        else:
            holds = holds and at == 0 and _TYPES.get(text, False)
    return holds is not (first == "not")


def _feature_holds(tokens: Sequence[CssToken]) -> bool | None:
    """Return whether a condition of a media query holds; None if it is not supported."""
    name, *rest = split_arguments(tokens, ":")
    feature = name[0].text.lower() if len(name) == 1 else ""
    if not rest:
        return True if feature in _PLAIN_FEATURES else None
    value = rest[0]
    sizes: dict[str, tuple[float, Callable[[float, float], bool]]] = {
        "min-width": (WIDTH, float.__ge__),
        "max-width": (WIDTH, float.__le__),
        "min-height": (HEIGHT, float.__ge__),
        "max-height": (HEIGHT, float.__le__),
    }
    if feature in sizes:
        amount = read_amount(value)
        if amount is None or not amount.is_length:
            return None
        own, compare = sizes[feature]
        return compare(own, float(amount.resolve(16, 0)))
    if feature in _FEATURES and len(value) == 1:
        return value[0].text.lower() == _FEATURES[feature]
    return None


class StyleCollector:
    """Finds the style sheets of a page, which also apply to elements before them."""

    def __init__(self, page: str) -> None:
        self.sheets = StyleSheets(quirks=_STANDARD.match(page) is None)
        self._foreign: Counter[str] = Counter()
        self._css: list[str] | None = None
        self._media = ""
        self._room = _MAX_CSS
        if _STYLED.search(page):
            read_tokens(page, TokenHandler(self._start, self._end, self._text))

    def _start(self, tag: StartTag) -> bool:
        if tag.name in _FOREIGN and not tag.closed:
            self._foreign[tag.name] += 1
        if tag.name == "link" and "stylesheet" in (tag.get("rel") or "").lower():
            self.sheets.imports = True
        if tag.name == "style" and (tag.get("type") or "text/css").strip().lower() == "text/css":
            self._css, self._media = [], tag.get("media") or ""
        return not any(self._foreign.values())

    def _end(self, tag: str) -> None:
        if self._foreign[tag]:
            self._foreign[tag] -= 1
        if tag == "style" and self._css is not None:
            self.sheets.add("".join(self._css), self._media)
            self._css = None

    def _text(self, text: str) -> None:
        if self._css is not None:
            self._css.append(text[: self._room])
            self._room = max(self._room - len(text), 0)
