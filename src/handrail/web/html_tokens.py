"""Splits a page into tags and text as browsers do, in linear time. Part of `html_worker`.

If the end of a comment or a script was found elsewhere than a browser finds it, text that no user
sees would be shown. Imports nothing of Handrail.
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
    """A start tag. If an attribute occurs twice, the first one counts."""

    name: str
    attributes: dict[str, str]
    # Whether the tag ends with a slash, which closes elements of SVG and MathML.
    closed: bool

    def get(self, name: str) -> str | None:
        """Return the value of an attribute, without character references; None if it is missing."""
        value = self.attributes.get(name)
        return None if value is None else html.unescape(value)

    def write(self) -> str:
        """Return the tag in a form that every parser reads in the same way."""
        written = [
            f' {name}="{_quote(value)}"'
            for name, value in self.attributes.items()
            if _PLAIN_NAME.fullmatch(name)
        ]
        return f"<{self.name}{''.join(written)}>" if _PLAIN_NAME.fullmatch(self.name) else ""


class TokenHandler(NamedTuple):
    """Receives the parts of a page in order. `start` returns whether the element is one of HTML."""

    start: Callable[[StartTag], bool]
    end: Callable[[str], None]
    text: Callable[[str], None]


def read_tokens(page: str, handler: TokenHandler) -> None:
    """Pass on every tag and text of a page, without comments and a tag that does not end."""
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
    """Pass on the content of an element that contains only text; return where it ends."""
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
    """Return where a script ends: not at an end tag in a comment that began another script."""
    commented = nested = False
    while (found := _IN_SCRIPT.search(page, at)) is not None:
        at = found.end()
        match found[0].lower():
            case "<!--":
                # The dashes may also be those of the comment's end.
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
        # Declarations, instructions, and text that begins like an end tag.
        end = page.find(">", at + 2)
        return end + 1 if end >= 0 else len(page)
    for short in ("<!-->", "<!--->"):
        if page.startswith(short, at):
            return at + len(short)
    found = _COMMENT_END.search(page, at + 4)
    return found.end() if found else len(page)


def _read_attributes(page: str, at: int) -> tuple[dict[str, str], int]:
    """Return the attributes of a tag and where it ends; -1 if the page ends before."""
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
