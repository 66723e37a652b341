"""Search the web with the engine of the settings or of the embedding program."""

from __future__ import annotations

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.results import Output
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Group
from handrail.core.traits import ToolTraits
from handrail.core.verdicts import Verdict
from handrail.tools._lib.tool_base import STRING, append_content_notes, object_schema
from handrail.tools._lib.web_tool import WebTool

_HIT = object_schema(title=STRING, url=STRING, snippet=STRING)


class WebSearchParams(Params):
    query: str = Field(min_length=1, max_length=500, description="What to search for.")
    max_results: int = Field(5, ge=1, le=10, description="How many results.")


class WebSearchTool(WebTool[WebSearchParams]):
    name = "web_search"
    summary = "Search the web."
    params = WebSearchParams
    effects = Effects.NETWORK
    fetches_only = True
    traits = ToolTraits(
        takes_pattern=False, agent_profiles=("explore", "review", "plan"), hidden_by_default=True
    )
    group = Group.WEB
    idempotent = True
    timeout_s = 60.0
    output_schema = object_schema(engine=STRING, results={"type": "array", "items": _HIT})

    def footprint(self, args: WebSearchParams) -> Footprint:
        """Return a footprint of the search engine, which gets the query."""
        del args
        return reading(self.web.search_key)

    def opinion(self, args: WebSearchParams) -> Verdict | None:
        """Return a verdict that asks again if the query may contain a secret."""
        return self.check_sent(args.query)

    def render_call(self, args: WebSearchParams) -> str:
        return f"search the web for {safe_text(args.query, one_line=True)!r}"

    async def run(self, args: WebSearchParams, ctx: ToolContext) -> Output:
        """Return the results, best first; raises `timeout` or `unavailable`."""
        del ctx
        engine = self.web.search.value
        hits = await engine.search(args.query, args.max_results)
        lines = []
        for number, (title, url, snippet) in enumerate(hits, 1):
            lines += [f"{number}. {title}", f"   {url}"]
            lines += [f"   {snippet}"] if snippet else []
        text = safe_text("\n".join(lines)) or "no results"
        return Output(
            append_content_notes(text, [f"results of {engine.name}"]),
            data={"engine": engine.name, "results": [hit._asdict() for hit in hits]},
        )
