"""The frame of every page, and elements that pages share."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import PurePath
from typing import Final, NamedTuple
from urllib.parse import quote

from handrail.ui.access import CSRF_FIELD
from handrail.ui.html import Child, Html, element, hidden_field, join, rendered_size

_HUNK: Final = re.compile(r"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
_LINKS: Final = (
    ("/", "Sessions"),
    ("/questions", "Questions"),
    ("/jobs", "Jobs"),
    ("/doctor", "Doctor"),
    ("/settings", "Settings"),
)


class PageFrame(NamedTuple):
    """The frame of a page. `live` is the session whose events the page follows, "" for all; None:
    the page does not change by itself. `polls`: it shows changes without events, the output of a
    running job.
    """

    workspace: str
    questions: int
    csrf: str
    notice: str | None = None
    live: str | None = None
    polls: bool = False


def render_page(title: str, frame: PageFrame, *content: Child) -> str:
    """Return a whole page."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", f"{title} · Handrail"),
        element("link", rel="stylesheet", href="/static/ui.css"),
        element("script", src="/static/ui.js", type="module"),
    )
    body = element(
        "body",
        element("header", element("a", "Handrail", href="/", class_="brand"), _navigation(frame)),
        element("div", _notice(frame), id="notice"),
        element("main", *content, id="content"),
        data_live=None if frame.live is None else quote(frame.live, safe=""),
        data_polls=frame.polls,
    )
    return f"<!doctype html>\n{element('html', head, body, lang='en')}\n"


def _navigation(frame: PageFrame) -> Html:
    links = [
        element("a", label, _count(frame) if label == "Questions" else None, href=path)
        for path, label in _LINKS
    ]
    name = PurePath(frame.workspace).name or frame.workspace
    place = element("span", name, class_="workspace", title=frame.workspace)
    return element("nav", *links, place)


def _count(frame: PageFrame) -> Html | None:
    if not frame.questions:
        return None
    return element("span", str(frame.questions), class_="count", id="open-questions")


def _notice(frame: PageFrame) -> Html | None:
    return None if frame.notice is None else element("p", frame.notice, class_="notice")


def form(action: str, csrf: str, *content: Child, class_: str | None = None) -> Html:
    """Return a form that changes something, with the token of the page."""
    token = hidden_field(CSRF_FIELD, csrf)
    return element("form", token, *content, action=action, method="post", class_=class_)


def button(label: str, name: str | None = None, value: str | None = None, kind: str = "") -> Html:
    """Return a button that submits its form."""
    return element("button", label, type="submit", name=name, value=value, class_=kind or None)


def facts(*rows: tuple[str, Child]) -> Html:
    """Return names and values; rows without a value are omitted."""
    shown = [join(element("dt", name), element("dd", value)) for name, value in rows if value]
    return element("dl", *shown)


def table(heads: tuple[str, ...], rows: Sequence[tuple[Child, ...]]) -> Html:
    """Return a table with a row of headings."""
    head = element("tr", *(element("th", head_text) for head_text in heads))
    body = [element("tr", *(element("td", cell) for cell in row)) for row in rows]
    return element("table", element("thead", head), element("tbody", *body))


def code_block(text: str, kind: str = "") -> Html:
    """Return text unchanged, in lines; a diff is coloured by its lines."""
    if kind != "diff":
        return element("pre", text, class_=kind or None)
    lines = [element("span", f"{line}\n", class_=look) for line, look in _diff_lines(text)]
    return element("pre", *lines, class_="diff")


def _diff_lines(text: str) -> Iterator[tuple[str, str | None]]:
    """Yield the lines and their styles. Only a newline ends a line: other characters are part of
    the file. The counts of a hunk distinguish an added `++x` from the name of a file.
    """
    old = new = 0
    for line in text.removesuffix("\n").split("\n"):
        hunk = _HUNK.match(line)
        if old <= 0 and new <= 0:
            old, new = (int(hunk[1] or 1), int(hunk[2] or 1)) if hunk else (0, 0)
            yield line, "place" if hunk else "file" if line[:4] in ("+++ ", "--- ") else None
            continue
        look = {"+": "added", "-": "removed"}.get(line[:1])
        # "\\ No newline at end of file" counts for neither side.
        if line[:1] != "\\":
            old -= look != "added"
            new -= look != "removed"
        yield line, look


def time(at_ns: int) -> Html:
    """Return a time in the time zone of this machine."""
    moment = datetime.fromtimestamp(at_ns / 1e9).astimezone()
    shown = moment.strftime("%Y-%m-%d %H:%M:%S")
    return element("time", shown, datetime=moment.isoformat(timespec="seconds"))


def shorten(text: str, limit: int) -> str:
    """Return the beginning of a text that takes at most `limit` bytes of a page, with a mark if
    something is omitted.
    """
    shown = text[:limit]
    while (size := rendered_size(shown)) > limit:
        shown = shown[: len(shown) * limit // size]
    return text if len(shown) == len(text) else f"{shown}…"
