"""Run as a program by `pages` and `search`: turns a page into Markdown, without hidden elements.

Imports nothing of Handrail but its neighbours. Reads the page from its input and writes one JSON object.
"""

from __future__ import annotations

import codecs
import html
import json
import os
import re
import sys
from collections import Counter
from functools import lru_cache
from html.parser import HTMLParser
from pathlib import Path
from types import ModuleType
from typing import Any, Final, NamedTuple

if __name__ == "__main__":
    # The process may read this directory and no other part of Handrail.
    for _name in ("handrail", "handrail.web"):
        sys.modules[_name] = _package = ModuleType(_name)
        _package.__path__ = [str(Path(__file__).parent)]

from handrail.web.css.hiding_styles import ElementStyle, InheritedStyle
from handrail.web.css.selectors import PageElement
from handrail.web.css.style_sheets import StyleCollector, StyleSheets
from handrail.web.html_tokens import StartTag, TokenHandler, read_tokens

_MAX_TEXT: Final = 2_000_000
# The converter drops what is nested deeper; only the text of such elements is kept.
_MAX_DEPTH: Final = 200
_VOID: Final = frozenset(
    "area base br col embed hr img input link meta param source track wbr".split()  # noqa: SIM905 - a list of words
)
_DROPPED: Final = frozenset({"script", "style", "template", "svg", "iframe", "object"})
# Elements whose content no current browser shows.
_NEVER_SHOWN: Final = frozenset({"template", "datalist", "noframes", "noembed", "annotation"})
# Elements whose content is for browsers that do not know them.
_FALLBACK: Final = frozenset({"canvas", "video", "audio", "progress", "meter"})
_FOREIGN: Final = ("svg", "math")
# Elements that add to the beginning of each line inside, and how many of them are kept around one
# line.
_INDENTED: Final = frozenset({"blockquote", "ul", "ol", "dl"})
_MAX_INDENT: Final = 20
# Start tags that end an open paragraph.
_BLOCKS: Final = frozenset(
    "address article aside blockquote div dl fieldset footer form h1 h2 h3 h4 h5 h6 header hr main nav ol p pre section table ul".split()  # noqa: SIM905 - a list of words
)
_PARAGRAPH: Final = frozenset({"p"})
_CLOSED_BY: Final = {
    "li": frozenset({"li", "p"}),
    "dt": frozenset({"dt", "dd", "p"}),
    "dd": frozenset({"dt", "dd", "p"}),
    "option": frozenset({"option"}),
    "tr": frozenset({"td", "th", "tr", "p"}),
    "td": frozenset({"td", "th", "p"}),
    "th": frozenset({"td", "th", "p"}),
}
_WHITE: Final = (255, 255, 255)
# A tag as `StartTag.write` writes it.
_TAG: Final = re.compile(r"<[^<>]*>")
_META: Final = re.compile(rb"<meta[^>]{0,200}?charset=[\"']?\s*([A-Za-z0-9_:.-]{1,40})", re.I)
_REFUSED_CODECS: Final = frozenset(
    {"utf-7", "idna", "punycode", "unicode-escape", "raw-unicode-escape", "undefined", "mbcs"}
)


@lru_cache(maxsize=1_000)
def _bare_element(tag: str) -> PageElement:
    return PageElement(tag, frozenset(), lambda _: None, is_root=tag == "html")


class OpenElement(NamedTuple):
    """An element that has not ended: its style, and the number of the element that hides its text;
    0 if the text is shown.
    """

    element: PageElement
    style: InheritedStyle
    veil: int


class HiddenElementFilter:
    """Copies a page without elements and text that a browser would not show, and counts them."""

    def __init__(self, sheets: StyleSheets) -> None:
        self.kept: list[str] = []
        self.hidden = 0
        self._sheets = sheets
        self._open: list[str] = []
        self._counts: Counter[str] = Counter()
        # The open elements that are shown.
        self._around: list[OpenElement] = []
        self._elements: list[PageElement] = []
        self._veils = 0
        self._counted: set[int] = set()
        # The depth of the element that hides its content; None if everything is shown.
        self._hidden_at: int | None = None
        # Whether the content is only for browsers that do not know the element.
        self._in_fallback = False
        # Pages may omit the tags of these two.
        background = None if sheets.imports else _WHITE
        self._implied = [OpenElement(_bare_element(""), InheritedStyle(background=background), 0)]
        for name in ("html", "body"):
            element = _bare_element(name)
            style = self._style(element, self._implied[-1].style, None, hidden=False)
            self._implied.append(self._open_element(element, style or self._implied[-1].style, 0))
            self._elements.append(element)

    def read(self, page: str) -> None:
        """Read a whole page."""
        read_tokens(page, TokenHandler(self._start, self._end, self._text))

    def _start(self, tag: StartTag) -> bool:
        """Open an element; return whether it is one of HTML."""
        name = tag.name
        self._close_implied(name)
        foreign = name in _FOREIGN or any(self._counts[one] for one in _FOREIGN)
        empty = name in _VOID or (foreign and tag.closed)
        if self._hidden_at is None:
            if name in _FALLBACK:
                self.kept.append(tag.write() + f"</{name}>")
                self._hidden_at, self._in_fallback = len(self._open), True
            else:
                self._show(tag, empty=empty)
        if not empty:
            self._open.append(name)
            self._counts[name] += 1
        return not foreign

    def _show(self, tag: StartTag, *, empty: bool) -> None:
        """Copy a start tag, unless its element is hidden."""
        name = tag.name
        opened = None if name in _DROPPED or name in _NEVER_SHOWN else self._styled_element(tag)
        if opened is None:
            self.hidden += name not in _DROPPED or name in _NEVER_SHOWN
            self._hidden_at = None if empty else len(self._open)
            return
        if not opened.style.hidden:
            self.kept.append(tag.write() if self._is_copied(name) else "")
        elif empty:
            self._count(opened.veil, "alt" in tag.attributes)
        elif self._is_copied(name):
            # The content may be shown, but not the attributes.
            self.kept.append(StartTag(name, {}, tag.closed).write())
        if not empty:
            self._around.append(opened)
            self._elements.append(opened.element)

    def _styled_element(self, tag: StartTag) -> OpenElement | None:
        """Return an element with its style; None if nothing inside it is shown."""
        has, name = tag.attributes, tag.name
        parent = self._around[-1] if self._around else self._implied[-1]
        if not has and not self._sheets.count and name != "dialog":
            return parent._replace(element=_bare_element(name))
        if name == "input" and (tag.get("type") or "").lower() == "hidden":
            return None
        names = {f".{one}" for one in (tag.get("class") or "").split()}
        names |= {f"#{tag.get('id')}"} if has.get("id") else set()
        if self._sheets.quirks:
            names = {one.lower() for one in names}
        element = PageElement(name, frozenset(names), tag.get, is_root=name == "html")
        if name in ("html", "body"):
            parent = self._implied[0 if name == "html" else 1]
        hidden = "hidden" in has or "popover" in has or (name == "dialog" and "open" not in has)
        style = self._style(element, parent.style, tag.get("style"), hidden=hidden)
        return None if style is None else self._open_element(element, style, parent.veil)

    def _style(
        self, element: PageElement, parent: InheritedStyle, own: str | None, *, hidden: bool
    ) -> InheritedStyle | None:
        """Return the style of an element; None if nothing inside it is shown. `hidden`: a browser
        hides it unless a style shows it.
        """
        styles = self._sheets.cascade(element, self._elements, own)
        if not styles and not hidden:
            return parent
        complete = not self._sheets.imports
        judged = ElementStyle(element.tag, styles, parent, hidden=hidden, complete=complete)
        return None if judged.hides_all() else judged.hand_down()

    def _open_element(self, element: PageElement, style: InheritedStyle, veil: int) -> OpenElement:
        if not style.hides_text:
            return OpenElement(element, style, 0)
        self._veils += not veil
        return OpenElement(element, style, veil or self._veils)

    def _count(self, veil: int, has_content: bool) -> None:
        """Count an element whose text is not shown, once."""
        if has_content and veil not in self._counted:
            self._counted.add(veil)
            self.hidden += 1

    def _end(self, tag: str) -> None:
        """Close an element, and what is open inside it."""
        if not self._counts[tag]:
            return
        self._pop(tag)
        if self._hidden_at is None:
            self.kept.append(f"</{tag}>" if self._is_copied(tag) else "")
        elif len(self._open) <= self._hidden_at:
            self._hidden_at, self._in_fallback = None, False

    def _text(self, text: str) -> None:
        """Copy text that is shown."""
        if self._hidden_at is None:
            veil = (self._around or self._implied)[-1].veil
            blank = not text.strip()
            self._count(veil, veil > 0 and not blank)
            if not veil or blank:
                self.kept.append(text.replace("<", "&lt;"))
        elif self._in_fallback and text.strip():
            self.hidden += 1
            self._in_fallback = False

    def _is_copied(self, tag: str) -> bool:
        """Return whether the converter sees an element that opens here, or only its content."""
        return len(self._open) < _MAX_DEPTH and (
            tag not in _INDENTED or sum(self._counts[one] for one in _INDENTED) < _MAX_INDENT
        )

    def _pop(self, tag: str) -> None:
        while self._open:
            last = self._open.pop()
            self._counts[last] -= 1
            if len(self._around) > len(self._open):
                self._around.pop()
                self._elements.pop()
            if last == tag:
                return

    def _close_implied(self, tag: str) -> None:
        closed = _CLOSED_BY.get(tag, _PARAGRAPH if tag in _BLOCKS else frozenset())
        while self._open and self._open[-1] in closed:
            self._end(self._open[-1])


def decode_page(data: bytes, declared: str) -> tuple[str, str, str]:
    """Return the text, the encoding that was used, and the one that was declared. A declaration
    that the bytes contradict is ignored.
    """
    for bom, name in ((codecs.BOM_UTF8, "utf-8"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if data.startswith(bom):
            return data.decode(name, "replace").lstrip("\ufeff"), name, name
    meta = _META.search(data[:4096])
    stated = declared or (meta[1].decode("ascii") if meta else "")
    for name in ("utf-8", _usable_encoding(stated)):
        try:
            if name:
                return data.decode(name), name, stated or name
        except (UnicodeError, LookupError):
            # The end may be cut inside a character.
            if name == "utf-8" and _is_cut_utf8(data):
                return data.decode(name, "ignore"), name, stated or name
    return data.decode("cp1252", "replace"), "windows-1252", stated or "windows-1252"


def _is_cut_utf8(data: bytes) -> bool:
    try:
        # A last byte of another encoding can look like the beginning of a character too.
        return not codecs.getincrementaldecoder("utf-8")().decode(data).isascii()
    except UnicodeError:
        return False


def _usable_encoding(name: str) -> str:
    try:
        found = codecs.lookup(name).name
    except LookupError:
        return ""
    if found.replace("_", "-") in _REFUSED_CODECS or not codecs.lookup(name)._is_text_encoding:  # noqa: SLF001 - the standard library's own check
        return ""
    return "cp1252" if found in ("iso8859-1", "ascii") else found


def convert_page(text: str, base_url: str) -> dict[str, Any]:
    """Return the page as Markdown, with the number of hidden elements."""
    import html_to_markdown  # noqa: PLC0415 - found only after the path is set

    page = HiddenElementFilter(StyleCollector(text).sheets)
    page.read(text)
    options = html_to_markdown.ConversionOptions(
        base_url=base_url,
        extract_metadata=False,
        inline_data_media="alt_text_only",
        hidden_content="all",
    )
    kept = "".join(page.kept).replace("\0", "")
    try:
        found = html_to_markdown.convert(kept, options).content or ""
    except Exception:  # noqa: BLE001 - whatever the converter cannot do, the text is there
        found = html.unescape(_TAG.sub("\n", kept))
    return {"text": found.strip(), "hidden": page.hidden}


class SearchResultReader(HTMLParser):
    """Reads the result list of DuckDuckGo's page without scripts."""

    def __init__(self) -> None:
        super().__init__()
        self.hits: list[dict[str, str]] = []
        self._field = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Begin a title or a snippet."""
        found = dict(attrs)
        classes = (found.get("class") or "").split()
        if tag == "a" and "result__a" in classes:
            self.hits.append({"title": "", "url": found.get("href") or "", "snippet": ""})
            self._field = "title"
        elif "result__snippet" in classes and self.hits:
            self._field = "snippet"

    def handle_endtag(self, tag: str) -> None:
        """End a title or a snippet."""
        if tag in ("a", "td", "div"):
            self._field = ""

    def handle_data(self, data: str) -> None:
        """Add text to the last result."""
        if self._field:
            hit = self.hits[-1]
            hit[self._field] = (hit[self._field] + data)[:1000]


def main(folders: str, kind: str, charset: str, base_url: str) -> None:
    """Write the answer for the page on standard input; `kind` is html, text or search."""
    sys.path += [one for one in folders.split(os.pathsep) if one]
    text, used, stated = decode_page(sys.stdin.buffer.read(), charset)
    if kind == "search":
        reader = SearchResultReader()
        reader.feed(text)
        answer: dict[str, Any] = {"hits": reader.hits}
    else:
        answer = convert_page(text, base_url) if kind == "html" else {"text": text}
        plain = answer["text"]
        answer |= {"text": plain[:_MAX_TEXT], "cut": len(plain) > _MAX_TEXT}
    answer |= {"charset": used, "declared": stated}
    sys.stdout.buffer.write(json.dumps(answer).encode("ascii"))


if __name__ == "__main__":
    main(*sys.argv[1:])
