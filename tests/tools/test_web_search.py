"""The web_search tool on its own; the stories are in tests/spec/test_web.py."""

from handrail.core.lazy import Lazy
from handrail.core.names.web_urls import WebReach
from handrail.core.ports.web import SearchHit, WebServices
from handrail.core.verdicts import Effect
from handrail.tools.web.web_search import WebSearchParams, WebSearchTool


class Engine:
    name = "engine"

    def __init__(self, hits):
        self.hits = hits

    async def search(self, query, max_results):
        return self.hits[:max_results]


def tool(*hits):
    services = WebServices(
        WebReach(),
        1_000,
        Lazy(lambda: None),
        Lazy(lambda: Engine(list(hits))),
        "net:engine.example",
        None,
        Lazy(lambda: None),
        lambda: False,
    )
    return WebSearchTool(Lazy(lambda: services))


async def test_results_are_numbered_and_made_safe():
    hit = SearchHit("A \x1b[31mtitle", "https://example.org/", "")

    output = await tool(hit).run(WebSearchParams(query="q"), None)

    assert output.text == ("1. A \\x1b[31mtitle\n   https://example.org/\n\n[results of engine]")
    assert output.data["results"][0]["url"] == "https://example.org/"


async def test_no_results_is_an_answer():
    output = await tool().run(WebSearchParams(query="q"), None)

    assert output.text == "no results\n\n[results of engine]"


def test_the_footprint_is_the_host_of_the_engine():
    search = tool()

    [touch] = search.footprint(WebSearchParams(query="q")).touches
    assert touch.key == "net:engine.example"
    assert search.opinion(WebSearchParams(query="how to fix it")) is None
    assert search.opinion(WebSearchParams(query="password=hunter2hunter2")).effect is Effect.ASK
