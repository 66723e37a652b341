"""Splits a page into tags and text as browsers do, in linear time. Part of `html_worker`.

A reader that finds the end of a comment or a script elsewhere than a browser would show text that
nobody sees. Imports nothing of Handrail.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable
from typing import Final, NamedTuple

_SPACE: Final = r"[\t\n\f\r ]"
_MARKUP: Final = re.compile(r"<(?=[a-zA-Z/!?])")
_TAG_NAME: Final = re.compile(r"</?([a-zA-Z][^\t\n\f\r />]*)")
_BETWEEN: Final = re.compile(r"[\t\n\f\r /]*")
_ATTRIBUTE_NAME: Final = re.compile(r"=?[^\t\n\f\r />=]*")
_EQUALS: Final = re.compile(rf"{_SPACE}*={_SPACE}*")
_UNQUOTED: Final = re.compile(r"[^\t\n\f\r >]*")
_COMMENT_END: Final = re.compile(r"--!?>")
_PLAIN_NAME: Final = re.compile(r"[a-z_:][\w:.-]*")
# Elements whose content is text up to their end tag, whatever it looks like.
_RAW: Final = frozenset(
    {"style", "textarea", "title", "xmp", "iframe", "noembed", "noframes", "script"}
)
_RAW_END: Final = {
    tag: re.compile(rf"</{tag}(?=[\t\n\f\r />])", re.IGNORECASE) for tag in sorted(_RAW)
}
_IN_SCRIPT: Final = re.compile(r"<!--|-->|</?script(?=[\t\n\f\r />])", re.IGNORECASE)


class StartTag(NamedTuple):
    """A start tag. Of an attribute that is there twice, the first counts."""

    name: str
    attributes: dict[str, str]
    # Whether it ends with a slash, which closes elements of SVG and MathML.
    closed: bool

    def get(self, name: str) -> str | None:
        """The value of an attribute, without character references; None if it has none."""
        value = self.attributes.get(name)
        return None if value is None else html.unescape(value)

    def write(self) -> str:
        """The tag in a form that every reader takes for the same."""
        written = [
            f' {name}="{_quote(value)}"'
            for name, value in self.attributes.items()
            if _PLAIN_NAME.fullmatch(name)
        ]
        return f"<{self.name}{''.join(written)}>" if _PLAIN_NAME.fullmatch(self.name) else ""


class TokenHandler(NamedTuple):
    """Takes the parts of a page in order. `start` answers whether the element is one of HTML."""

    start: Callable[[StartTag], bool]
    end: Callable[[str], None]
    text: Callable[[str], None]


def read_tokens(page: str, handler: TokenHandler) -> None:
    """Hand over every tag and text of a page; comments are left out, as is a tag without end."""
    at = 0
    while (found := _MARKUP.search(page, at)) is not None:
        if found.start() > at:
            handler.text(page[at : found.start()])
        at = found.start()
        name = _TAG_NAME.match(page, at)
        if name is None:
            at = _skip_comment(page, at)
            continue
        attributes, at = _read_attributes(page, name.end())
        if at < 0:
            return
        tag = name[1].lower()
        if page[name.start() + 1] == "/":
            handler.end(tag)
        elif handler.start(StartTag(tag, attributes, page[at - 2] == "/")):
            at = _read_raw(page, at, tag, handler)
    handler.text(page[at:])


def _read_raw(page: str, at: int, tag: str, handler: TokenHandler) -> int:
    """Hand over the content of an element that holds only text; returns where it ends."""
    if tag == "plaintext":
        end = len(page)
    elif tag not in _RAW:
        return at
    elif tag == "script":
        end = _script_end(page, at)
    else:
        found = _RAW_END[tag].search(page, at)
        end = found.start() if found else len(page)
    handler.text(page[at:end])
    return end


def _script_end(page: str, at: int) -> int:
    """Where a script ends: an end tag does not count inside of a comment that
    began a script of its own.
    """
    commented = nested = False
    while (found := _IN_SCRIPT.search(page, at)) is not None:
        at = found.end()
        match found[0].lower():
            case "<!--":
                # Its dashes may be those of its end.
                commented, at = True, at - 2
            case "-->":
                commented = nested = False
            case "<script":
                nested = commented
            case _ if nested:
                nested = False
            case _:
                return found.start()
    return len(page)


def _skip_comment(page: str, at: int) -> int:
    if not page.startswith("<!--", at):
        # Declarations, instructions and what begins like an end tag.
        end = page.find(">", at + 2)
        return end + 1 if end >= 0 else len(page)
    for short in ("<!-->", "<!--->"):
        if page.startswith(short, at):
            return at + len(short)
    found = _COMMENT_END.search(page, at + 4)
    return found.end() if found else len(page)


def _read_attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """The attributes of a tag and where it ends; -1 if the page ends before."""
    found: dict[str, str] = {}
    while True:
        at = _skip(_BETWEEN, page, at)
        if page.startswith(">", at):
            return found, at + 1
        start, at = at, _skip(_ATTRIBUTE_NAME, page, at)
        if at >= len(page):
            return found, -1
        name, value = page[start:at].lower(), ""
        equals = _EQUALS.match(page, at)
        if equals is not None:
            at = equals.end()
            quote = page[at : at + 1]
            if quote in ('"', "'") and quote:
                start, at = at + 1, page.find(quote, at + 1)
                if at < 0:
                    return found, -1
                value, at = page[start:at], at + 1
            else:
                start, at = at, _skip(_UNQUOTED, page, at)
                value = page[start:at]
        found.setdefault(name, value)


def _skip(pattern: re.Pattern[str], page: str, at: int) -> int:
    found = pattern.match(page, at)
    return found.end() if found else at


def _quote(value: str) -> str:
    return value.replace('"', "&quot;").replace("<", "&lt;").replace(">", "&gt;")
