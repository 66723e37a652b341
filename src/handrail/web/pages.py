"""Pages as text: requested within limits, converted by a worker that may be killed, and cached."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable
from email.message import Message
from pathlib import Path
from typing import Any, Final

from handrail.core.names.web_urls import WebUrl
from handrail.core.ports.web import WebPage
from handrail.core.ports.workers import WorkerAnswer, WorkerFailure, WorkerRunner, WorkerTask
from handrail.core.text.invisible import drop_invisible, format_invisible
from handrail.core.text.nesting import parse_json
from handrail.core.text.safe_text import safe_text
from handrail.web import messages
from handrail.web.fetcher import HttpFetcher, HttpPage

_WORKER: Final = str(Path(__file__).with_name("html_worker.py"))
_CONVERT_S: Final = 10.0
_MAX_ANSWER: Final = 16_000_000
# How much of a page is converted if its conversion fails, and for how long each attempt may take.
_SMALL_PAGES: Final = (300_000, 60_000, 12_000)
_SMALL_CONVERT_S: Final = 4.0
_TRIED_AGAIN: Final = frozenset(
    {WorkerFailure.TIMEOUT, WorkerFailure.CRASHED, WorkerFailure.TOO_LARGE}
)
_MOST_PAGES: Final = 8
_HTML: Final = frozenset({"text/html", "application/xhtml+xml"})
_TEXT: Final = re.compile(
    r"text/.+|application/(?:.+\+)?(?:json|xml|yaml|x-yaml|toml|javascript|x-ndjson)|image/svg\+xml"
)
# Form feeds separate the pages of a text that is meant for printers.
_LINE_END: Final = re.compile(r"\r\n?|\f")
# The characters of a type or a charset, because these are shown in a note of Handrail.
_CHARS: Final = r"[a-z0-9!#$&^_.+:-]"
_MEDIA_TYPE: Final = re.compile(rf"{_CHARS}{{1,60}}/{_CHARS}{{1,80}}")
_CHARSET: Final = re.compile(rf"{_CHARS}{{1,40}}")


class WebPages:
    """Reads pages for one runtime; recently read pages are not requested again."""

    def __init__(
        self,
        fetcher: HttpFetcher,
        run_worker: WorkerRunner,
        cache_s: float,
        now: Callable[[], float],
    ) -> None:
        self._fetcher = fetcher
        self._run_worker = run_worker
        self._cache_s = cache_s
        self._now = now
        self._cache: OrderedDict[tuple[str, int], tuple[float, WebPage]] = OrderedDict()

    async def read(self, url: WebUrl, max_bytes: int) -> WebPage:
        """Return the page as text; raises `denied`, `timeout`, `unavailable`, `not_text`."""
        key = (url.text, max_bytes)
        kept = self._cache.get(key)
        if kept is not None and self._now() - kept[0] < self._cache_s:
            return kept[1]
        page = await self._convert(await self._fetcher.get(url, max_bytes))
        if page.status < 400 and page.redirect is None and self._cache_s:
            self._cache[key] = (self._now(), page)
            self._cache.move_to_end(key)
            while len(self._cache) > _MOST_PAGES:
                self._cache.popitem(last=False)
        return page

    async def _convert(self, page: HttpPage) -> WebPage:
        media_type, charset = _media_type(page.headers.get("content-type", ""), page.body)
        answer = WebPage(page.url.text, page.status, media_type, redirect=page.redirect)
        if page.cut and not page.body:
            raise messages.NOTHING_CAME.error(host=page.url.host, came=page.cut)
        # A redirect to another host has no body either.
        if not page.body:
            return answer
        if media_type not in _HTML and not _TEXT.fullmatch(media_type):
            raise messages.NOT_TEXT.error(
                url=page.url.text, media_type=media_type, size=f"{len(page.body):,}"
            )
        kind = "html" if media_type in _HTML else "text"
        notes = [page.cut] if page.cut else []
        task = html_task(kind, page.body, charset, page.url.text)
        found = await self._run_worker(task)
        for size in _SMALL_PAGES:
            if found.failure in _TRIED_AGAIN and len(page.body) > size:
                part = task._replace(feed=page.body[:size], deadline_s=_SMALL_CONVERT_S)
                found = await self._run_worker(part)
                if found.failure is None:
                    notes.append(f"the first {size:,} bytes; the whole page cannot be converted")
        result = read_answer(found)
        try:
            text, invisible = drop_invisible(str(result["text"]))
            if kind == "text":
                text = safe_text(_LINE_END.sub("\n", text))
            return answer._replace(
                text=text,
                hidden_elements=int(result.get("hidden", 0)),
                notes=(*notes, *_notes(result, invisible)),
            )
        except (KeyError, TypeError, AttributeError, ValueError):
            # The page may have taken over the worker.
            raise messages.NOT_CONVERTED.error(reason=WorkerFailure.CRASHED.value) from None


def html_task(kind: str, body: bytes, charset: str = "", base_url: str = "") -> WorkerTask:
    """Return the task of converting a page, for the worker."""
    modules = ("html_to_markdown",) if kind == "html" else ()
    arguments = (kind, charset, base_url)
    return WorkerTask(_WORKER, modules, arguments, body, _CONVERT_S, _MAX_ANSWER)


def read_answer(answer: WorkerAnswer) -> dict[str, Any]:
    """Return the worker's answer; raises `unavailable` if there is none."""
    if answer.failure is WorkerFailure.MISSING:
        raise messages.EXTRA_MISSING.error(
            what="web_fetch", package="html-to-markdown", extra="web"
        )
    if answer.failure is not None:
        raise messages.NOT_CONVERTED.error(reason=answer.failure.value)
    try:
        found: dict[str, Any] = parse_json(answer.output)
    except ValueError:
        raise messages.NOT_CONVERTED.error(reason=WorkerFailure.CRASHED.value) from None
    return found


def _media_type(header: str, body: bytes) -> tuple[str, str]:
    """Return the media type and the charset of an answer; a type that is missing or invalid is
    guessed from the body.
    """
    parsed = Message()
    parsed["content-type"] = header[:500]
    media_type, charset = parsed.get_content_type(), parsed.get_content_charset() or ""
    if header.strip() and _MEDIA_TYPE.fullmatch(media_type):
        return media_type, charset if _CHARSET.fullmatch(charset) else ""
    start = body[:512].lstrip().lower()
    return ("text/html" if start.startswith(b"<") else "text/plain"), ""


def _notes(result: dict[str, Any], invisible: int) -> list[str]:
    notes = []
    declared, charset = result["declared"].lower(), result["charset"]
    if not all(map(_CHARSET.fullmatch, filter(None, (declared, charset.lower())))):
        raise ValueError("an invalid charset")
    if declared.replace("_", "-") not in _names(charset):
        notes.append(f"declared as {result['declared']}, read as {charset}")
    if result.get("hidden"):
        count = result["hidden"]
        elements = "1 hidden element was" if count == 1 else f"{count:,} hidden elements were"
        notes.append(f"{elements} left out")
    if invisible:
        notes.append(format_invisible(invisible))
    if result["cut"]:
        notes.append("the end of the page was left out: it is too long")
    return notes


def _names(charset: str) -> tuple[str, ...]:
    """Return the names under which an encoding is declared."""
    same = {
        "cp1252": ("windows-1252", "iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"),
        "windows-1252": ("iso-8859-1", "latin1", "latin-1", "us-ascii", "ascii"),
        "utf-8": ("utf8", "us-ascii", "ascii"),
    }
    return (charset, *same.get(charset, ()))
