"""The web as tools use it: pages as text, search results, screenshots."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple, Protocol

from handrail.core.lazy import Lazy
from handrail.core.names.web_urls import WebReach, WebUrl
from handrail.core.ports.models import UsageReported
from handrail.core.results import Image


class WebPage(NamedTuple):
    """A page as text. `redirect` is the URL on another host to which the server redirects; there is no
    text then. `hidden_elements` counts elements that were left out because a reader would not see them.
    """

    final_url: str
    status: int
    media_type: str
    text: str = ""
    hidden_elements: int = 0
    notes: tuple[str, ...] = ()
    redirect: str | None = None


class PageReader(Protocol):
    """Requests pages."""

    async def read(self, url: WebUrl, max_bytes: int) -> WebPage:
        """The page as text; raises `denied`, `timeout`, `unavailable`, `not_text`."""


class SearchHit(NamedTuple):
    """One result of a search."""

    title: str
    url: str
    snippet: str


# Takes a query and the largest number of results; returns mappings with title, url and snippet.
SearchBackend = Callable[[str, int], Awaitable[Sequence[Mapping[str, Any]]]]


DUCKDUCKGO_URL: Final = "https://html.duckduckgo.com/html/"


class WebSearch(Protocol):
    """A search engine."""

    name: str

    async def search(self, query: str, max_results: int) -> list[SearchHit]:
        """The results, best first; raises `timeout`, `unavailable`."""


class PromptAnswer(NamedTuple):
    """The small model's answer to a prompt about a page."""

    text: str
    model: str
    usage: UsageReported | None


# Answers a prompt about a text; None if there is no small model.
AnswerPrompt = Callable[[str, str], Awaitable[PromptAnswer | None]]


class ScreenshotOptions(NamedTuple):
    """How a page is shown: the size of the window in pixels, and how long its scripts may run."""

    width: int
    height: int
    full_page: bool = False
    delay_s: float = 0.0


class Screenshot(NamedTuple):
    """A picture of a page. `outline` are its headings as Markdown, only the first ones if `outline_cut`;
    `refused` are the hosts of requests that were not sent. `redirect` is the URL on another host to which
    the page leads; there is no picture then.
    """

    final_url: str
    image: Image | None = None
    outline: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()
    redirect: str | None = None
    outline_cut: bool = False


class PageCamera(Protocol):
    """Shows pages in a browser."""

    async def capture(self, url: WebUrl, options: ScreenshotOptions) -> Screenshot:
        """A picture of a page; raises `denied`, `timeout`, `unavailable`."""


@dataclass(frozen=True, slots=True)
class WebServices:
    """The web services of a runtime. Services that need a package or a program are created on first use."""

    reach: WebReach
    max_bytes: int
    pages: Lazy[PageReader]
    search: Lazy[WebSearch]
    # The footprint key of the search engine's host; known without creating the engine.
    search_key: str
    answer: AnswerPrompt
    camera: Lazy[PageCamera]
    # Whether the session has read a file that, by its name, contains secrets.
    has_read_secrets: Callable[[], bool]
