"""Take a picture of a web page, in a browser that reaches only the host of the page."""

from __future__ import annotations

from typing import Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.ports.web import ScreenshotOptions
from handrail.core.results import Output
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Verdict
from handrail.tools._lib.tool_base import (
    BOOLEAN,
    STRING,
    STRINGS,
    append_content_notes,
    object_schema,
    quote_in_note,
)
from handrail.tools._lib.web_tool import WebTool

_MAX_URL: Final = 2_000


class ScreenshotParams(Params):
    url: str = Field(description="Address of the page, http or https.")
    delay_s: float = Field(0, ge=0, le=30, description="Seconds to wait after it was loaded.")
    width: int = Field(1280, ge=100, le=4000, description="Width of the window in pixels.")
    height: int = Field(800, ge=100, le=4000, description="Height of the window in pixels.")
    full_page: bool = Field(False, description="The whole page, not only the window.")


class ScreenshotTool(WebTool[ScreenshotParams]):
    name = "screenshot"
    summary = "Take a picture of a web page."
    params = ScreenshotParams
    effects = Effects.NETWORK
    fetches_only = True
    traits = ToolTraits(family=RuleFamily.WEB, hidden_by_default=True)
    group = Group.WEB
    idempotent = True
    timeout_s = 180.0
    output_schema = object_schema(
        final_url=STRING, outline=STRINGS, outline_cut=BOOLEAN, refused_requests=STRINGS
    )

    def footprint(self, args: ScreenshotParams) -> Footprint:
        """Return a footprint of one host, which gets the URL and the requests of the page."""
        return reading(self.check_url(args.url).key)

    def opinion(self, args: ScreenshotParams) -> Verdict | None:
        """Return a verdict that asks again if the URL may contain a secret."""
        return self.check_sent(args.url)

    def render_call(self, args: ScreenshotParams) -> str:
        return f"take a picture of {safe_text(args.url, one_line=True)}"

    async def run(self, args: ScreenshotParams, ctx: ToolContext) -> Output:
        """Return the picture and the headings; raises `denied`, `timeout` or `unavailable`."""
        del ctx
        options = ScreenshotOptions(args.width, args.height, args.full_page, args.delay_s)
        shot = await self.web.camera.value.capture(self.check_url(args.url), options)
        data = {
            "final_url": (shot.redirect or shot.final_url)[:_MAX_URL],
            "outline": list(shot.outline),
            "outline_cut": shot.outline_cut,
            "refused_requests": list(shot.refused),
        }
        if shot.redirect is not None:
            target = safe_text(shot.redirect[:_MAX_URL], one_line=True)
            text = f"The page redirects to another host, which was not followed: {target}"
            return Output(text, data=data)
        notes = [quote_in_note(shot.final_url, _MAX_URL)]
        if shot.refused:
            listed = quote_in_note(", ".join(shot.refused[:10]))
            notes.append(f"requests to other hosts were not sent: {listed}")
        nothing = "the page has no headings"
        if shot.outline_cut:
            nothing = "the page has too many headings to list them"
        if shot.outline_cut and shot.outline:
            notes.append(f"the first {len(shot.outline)} headings; the page has more")
        text = safe_text("\n".join(shot.outline)) or nothing
        images = () if shot.image is None else (shot.image,)
        return Output(append_content_notes(text, notes), data=data, images=images)
