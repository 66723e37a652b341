"""Search engines: DuckDuckGo and SearXNG through the safe transport, `ddgs`, or a function."""

from __future__ import annotations

import asyncio
import importlib
import inspect
from collections.abc import Iterable, Mapping
from typing import Any, Final
from urllib.parse import parse_qs, quote_plus, urlsplit

from handrail.core.names.web_urls import WebUrl, parse_web_url
from handrail.core.ports.web import DUCKDUCKGO_URL, SearchBackend, SearchHit
from handrail.core.ports.workers import WorkerFailure, WorkerRunner
from handrail.core.text.nesting import parse_json
from handrail.web import messages
from handrail.web.fetcher import HttpFetcher
from handrail.web.pages import html_task, read_answer

_MAX_ANSWER: Final = 2_000_000
_MAX_TEXT: Final = 500
_PATIENCE_S: Final = 30.0


class DuckDuckGo:
    """DuckDuckGo's page without scripts."""

    name = "duckduckgo"

    def __init__(
        self, fetcher: HttpFetcher, run_worker: WorkerRunner, url: str = DUCKDUCKGO_URL
    ) -> None:
        self._fetcher = fetcher
        self._run_worker = run_worker
        self._url = url

    async def search(self, query: str, max_results: int) -> list[SearchHit]:
        """Return the results, without advertisements."""
        body = await _get(self._fetcher, f"{self._url}?q={quote_plus(query)}", self.name)
        answer = read_answer(await self._run_worker(html_task("search", body)))
        try:
            found = [{**one, "url": _direct_url(str(one["url"]))} for one in answer["hits"]]
        except (KeyError, TypeError):
            raise messages.NOT_CONVERTED.error(reason=WorkerFailure.CRASHED.value) from None
        return read_hits(found, max_results)


class SearxNg:
    """A SearXNG server of the user's, which must offer the format JSON."""

    name = "searxng"

    def __init__(self, fetcher: HttpFetcher, url: str) -> None:
        self._fetcher = fetcher
        self._url = url.rstrip("/")

    async def search(self, query: str, max_results: int) -> list[SearchHit]:
        """Return the results of all engines that the server queries."""
        url = f"{self._url}/search?format=json&q={quote_plus(query)}"
        body = await _get(self._fetcher, url, self.name)
        try:
            results = parse_json(body)["results"]
            found = [{**one, "snippet": one.get("content") or ""} for one in results]
        except (ValueError, KeyError, TypeError):
            reason = "the answer is not its JSON format"
            raise messages.SEARCH_FAILED.error(engine=self.name, reason=reason) from None
        return read_hits(found, max_results)


class FunctionSearch:
    """A function of the host program. Its requests do not go through the safe transport."""

    def __init__(self, function: SearchBackend, name: str | None = None) -> None:
        self._function = function
        self.name = name or str(getattr(function, "__name__", type(function).__name__))

    async def search(self, query: str, max_results: int) -> list[SearchHit]:
        """Return the results of the function."""
        answer: Any = self._function(query, max_results)
        found = await answer if inspect.isawaitable(answer) else answer
        try:
            return read_hits(found, max_results)
        except (TypeError, AttributeError):
            reason = "it did not return a list of results"
            raise messages.SEARCH_FAILED.error(engine=self.name, reason=reason) from None


async def search_ddgs(query: str, max_results: int) -> list[Mapping[str, Any]]:
    """Search with the package ddgs, which queries several engines with its own HTTP client."""
    try:
        ddgs = importlib.import_module("ddgs")
    except ImportError:
        raise messages.EXTRA_MISSING.error(
            what='web.search = "ddgs"', package="ddgs", extra="ddgs"
        ) from None

    def ask() -> list[Mapping[str, Any]]:
        found = ddgs.DDGS(timeout=10).text(query, max_results=max_results)
        return [
            {"title": one.get("title"), "url": one.get("href"), "snippet": one.get("body")}
            for one in found
        ]

    try:
        async with asyncio.timeout(_PATIENCE_S):
            return await asyncio.to_thread(ask)
    except Exception as error:  # noqa: BLE001 - a foreign client
        reason = f"{type(error).__name__}: {error}"
        raise messages.SEARCH_FAILED.error(engine="ddgs", reason=reason) from None


def read_hits(found: Iterable[Mapping[str, Any]], max_results: int) -> list[SearchHit]:
    """Return results as values: those with a web address, each address once, texts shortened."""
    hits: dict[str, SearchHit] = {}
    for one in found:
        url = str(one.get("url") or "")
        try:
            parse_web_url(url)
        except ValueError:
            continue
        title, snippet = (_one_line(one.get(name)) for name in ("title", "snippet"))
        hits.setdefault(url, SearchHit(title or url, url, snippet))
        if len(hits) >= max_results:
            break
    return list(hits.values())


async def _get(fetcher: HttpFetcher, text: str, engine: str) -> bytes:
    try:
        url: WebUrl = parse_web_url(text)
    except ValueError as error:
        raise messages.SEARCH_FAILED.error(engine=engine, reason=error) from None
    page = await fetcher.get(url, _MAX_ANSWER)
    if page.status != 200 or page.redirect is not None:
        reason = f"the server answered with status {page.status}"
        raise messages.SEARCH_FAILED.error(engine=engine, reason=reason)
    return page.body


def _direct_url(text: str) -> str:
    """Return the address that a result leads to; DuckDuckGo wraps it in one of its own."""
    url = f"https:{text}" if text.startswith("//") else text
    try:
        parts = urlsplit(url)
        if (parts.hostname or "").endswith("duckduckgo.com"):
            return next(iter(parse_qs(parts.query).get("uddg", [])), "")
    except ValueError:
        return ""
    return url


def _one_line(value: Any) -> str:
    return " ".join(str(value or "").split())[:_MAX_TEXT]
