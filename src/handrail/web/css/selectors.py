"""Selectors of CSS: tags, classes, ids, attributes, `:not()`, `:is()`, `:where()`, descendants and
children. Part of `html_worker`; imports nothing of Handrail but its neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from handrail.web.css.syntax import CssToken, function_arguments, slice_tokens, split_arguments

# Pseudo-classes and elements that match no element of a page at rest, or are not evaluated here.
_NOT_FOLLOWED: Final = frozenset(
    """active after any-link autofill backdrop before blank checked cue current default defined dir
    disabled empty enabled file-selector-button first first-child first-letter first-line
    first-of-type focus focus-visible focus-within fullscreen future has host host-context hover
    in-range indeterminate invalid lang last-child last-of-type left link local-link marker modal
    nth-child nth-last-child nth-last-of-type nth-of-type only-child only-of-type open optional
    out-of-range part past picture-in-picture placeholder placeholder-shown popover-open read-only
    read-write required right scope selection slotted target target-text user-invalid user-valid
    valid visited""".split()  # noqa: SIM905 - a list of words
)
_DEEPEST: Final = 4
_ATTRIBUTE_SIGNS: Final = ("~", "|", "^", "$", "*")
Specificity = tuple[int, int, int]


class PageElement(NamedTuple):
    """An element as selectors see it. `names` are its classes with a dot and its id with a hash."""

    tag: str
    names: frozenset[str]
    attribute: Callable[[str], str | None]
    is_root: bool = False


class AttributeTest(NamedTuple):
    """A condition in brackets; `sign` is "" if the attribute only has to exist."""

    name: str
    sign: str
    value: str

    def holds(self, element: PageElement) -> bool:
        """Return whether an element has such an attribute."""
        found = element.attribute(self.name)
        if found is None or not self.sign:
            return found is not None
        value = self.value
        if self.sign in ("=", "|"):
            return found == value or (self.sign == "|" and found.startswith(f"{value}-"))
        held = {
            "~": value in found.split(),
            "^": found.startswith(value),
            "$": found.endswith(value),
            "*": value in found,
        }
        return bool(value) and held[self.sign]


class CompoundSelector(NamedTuple):
    """The conditions on one element."""

    tag: str = ""
    names: frozenset[str] = frozenset()
    attributes: tuple[AttributeTest, ...] = ()
    # Alternatives of which one must hold, and alternatives of which none may hold.
    one_of: tuple[tuple[CompoundSelector, ...], ...] = ()
    none_of: tuple[CompoundSelector, ...] = ()
    is_root: bool = False

    def holds(self, element: PageElement) -> bool:
        """Return whether an element meets the conditions."""
        return (
            (not self.tag or self.tag == element.tag)
            and self.names <= element.names
            and (not self.is_root or element.is_root)
            and all(one.holds(element) for one in self.attributes)
            and all(any(one.holds(element) for one in group) for group in self.one_of)
            and not any(one.holds(element) for one in self.none_of)
        )


class CssSelector(NamedTuple):
    """A selector: `last` are the conditions on the element; `before` lists from right to left the
    conditions on its ancestors, each with whether it must be the parent.
    """

    last: CompoundSelector
    before: tuple[tuple[bool, CompoundSelector], ...]
    specificity: Specificity

    def holds(
        self, element: PageElement, around: Sequence[PageElement], budget: SelectorBudget
    ) -> bool:
        """Return whether the selector matches an element inside others, outermost first."""
        return self.last.holds(element) and self._holds_around(around, budget)

    def _holds_around(self, around: Sequence[PageElement], budget: SelectorBudget) -> bool:
        waiting = [(0, len(around) - 1)]
        while waiting:
            wanted, at = waiting.pop()
            if wanted == len(self.before):
                return True
            is_parent, compound = self.before[wanted]
            while at >= 0 and budget.spend():
                if compound.holds(around[at]):
                    if not is_parent:
                        # Try an ancestor further out if the ancestors of this one do not match.
                        waiting.append((wanted, at - 1))
                    waiting.append((wanted + 1, at - 1))
                    break
                at = -1 if is_parent else at - 1
        return False


class SelectorBudget:
    """The number of elements that may still be compared with selectors, for the whole page."""

    def __init__(self, steps: int) -> None:
        self._left = steps

    def spend(self) -> bool:
        """Use one step; return whether one was left."""
        self._left -= 1
        return self._left >= 0


class _CompoundReader(NamedTuple):
    compound: CompoundSelector
    specificity: Specificity
    followed: bool


def read_selectors(prelude: Sequence[CssToken]) -> list[CssSelector]:
    """Return the selectors of a rule that are evaluated; none at all if one of them is invalid."""
    found: list[CssSelector] = []
    for tokens in split_arguments(prelude, ","):
        selector = _read_selector(tokens)
        if selector is None:
            return []
        found += selector
    return found


def _read_selector(tokens: list[CssToken]) -> list[CssSelector] | None:
    """Return one selector, an empty list if it is not evaluated; None if it is invalid."""
    compounds: list[tuple[str, _CompoundReader]] = []
    combinator = ""
    start = at = 0
    while at <= len(tokens):
        token = tokens[at] if at < len(tokens) else CssToken("sign", "")
        if token.kind == "space" or token.is_sign(">+~") or at == len(tokens):
            if at > start:
                read = _read_compound(slice_tokens(tokens, start, at))
                if read is None or (compounds and not combinator):
                    return None
                compounds.append((combinator, read))
                combinator = ""
            if token.kind == "space":
                combinator = combinator or " "
            elif at < len(tokens):
                if combinator in (">", "+", "~") or not compounds:
                    return None
                combinator = token.text
            start = at = at + 1
        else:
            at = max(token.end, at + 1)
    if not compounds or combinator not in ("", " "):
        return None
    if not all(one.followed and sign not in ("+", "~") for sign, one in compounds):
        return []
    ids, classes, tags = (sum(one.specificity[k] for _, one in compounds) for k in range(3))
    signs = [sign == ">" for sign, _ in compounds[1:]]
    before = zip(signs, (one.compound for _, one in compounds[:-1]), strict=True)
    last = compounds[-1][1].compound
    return [CssSelector(last, tuple(reversed(list(before))), (ids, classes, tags))]


def _read_compound(tokens: list[CssToken], depth: int = 0) -> _CompoundReader | None:
    tag, names, tests, pseudos = "", [], [], []
    classes = tags = at = 0
    while at < len(tokens):
        token = tokens[at]
        following = tokens[at + 1] if at + 1 < len(tokens) else CssToken("sign", "")
        if at == 0 and (token.kind == "ident" or token.is_sign("*")):
            tags = int(token.kind == "ident")
            tag = "" if token.is_sign("*") else token.text.lower()
        elif token.kind == "hash":
            names.append(token.text)
        elif token.is_sign(".") and following.kind == "ident":
            at += 1
            classes += 1
            names.append(f".{following.text}")
        elif token.is_sign("["):
            test = _read_attribute(function_arguments(tokens, at))
            if test is None:
                return None
            tests.append(test)
        elif token.is_sign(":"):
            at += 1 + following.is_sign(":")
            pseudo = _read_pseudo(tokens, at, depth)
            if pseudo is None:
                return None
            pseudos.append(pseudo)
        else:
            return None
        at = max(tokens[at].end, at + 1)
    compound = CompoundSelector(
        tag,
        frozenset(names),
        tuple(tests),
        tuple(group for one in pseudos for group in one.compound.one_of),
        tuple(other for one in pseudos for other in one.compound.none_of),
        any(one.compound.is_root for one in pseudos),
    )
    own = (len(names) - classes, classes + len(tests), tags)
    ids, classes, tags = (
        sum(one) for one in zip(own, *(p.specificity for p in pseudos), strict=True)
    )
    return _CompoundReader(compound, (ids, classes, tags), all(one.followed for one in pseudos))


def _read_pseudo(tokens: list[CssToken], at: int, depth: int) -> _CompoundReader | None:
    """Add a pseudo-class to its compound."""
    if at >= len(tokens) or tokens[at].kind not in ("ident", "function"):
        return None
    name = tokens[at].text.lower()
    compound = CompoundSelector()
    if name == "root":
        return _CompoundReader(compound._replace(is_root=True), (0, 1, 0), followed=True)
    ignored = _CompoundReader(compound, (0, 0, 0), followed=False)
    takes_selectors = name in ("not", "is", "where", "matches") and tokens[at].kind == "function"
    if not takes_selectors or depth >= _DEEPEST:
        known_name = takes_selectors or name in _NOT_FOLLOWED or name.startswith("-")
        return ignored if known_name else None
    inside = split_arguments(function_arguments(tokens, at), ",")
    read = [_read_compound(one, depth + 1) for one in inside]
    known = [one for one in read if one is not None]
    if len(known) < len(read):
        # An argument with combinators; invalid ones are rare.
        return ignored
    group = tuple(one.compound for one in known)
    most = (0, 0, 0) if name == "where" else max(one.specificity for one in known)
    changed = {"none_of": group} if name == "not" else {"one_of": (group,)}
    return _CompoundReader(compound._replace(**changed), most, all(one.followed for one in known))


def _read_attribute(tokens: list[CssToken]) -> AttributeTest | None:
    words = [one for one in tokens if one.kind != "space"]
    if not words or words[0].kind != "ident":
        return None
    name = words[0].text.lower()
    if len(words) == 1:
        return AttributeTest(name, "", "")
    sign = "="
    if words[1].kind == "sign" and words[1].text in _ATTRIBUTE_SIGNS:
        sign = words.pop(1).text
    if len(words) < 3 or not words[1].is_sign("=") or words[2].kind not in ("string", "ident"):
        return None
    value = words[2].text
    value = value[1:].removesuffix(value[0]) if words[2].kind == "string" else value
    return AttributeTest(name, sign, value)
