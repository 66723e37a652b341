"""Fetch a web page as text, or a small model's answer to a question about it."""

from __future__ import annotations

import hashlib
import re
from typing import Any, Final

from pydantic import Field

from handrail.core.arguments.params import Params
from handrail.core.context import ToolContext
from handrail.core.effects import Effects
from handrail.core.footprint import Footprint, reading
from handrail.core.ports.web import PromptAnswer, WebPage
from handrail.core.problems import Code, Problem, ProblemRaised
from handrail.core.results import Output
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Group
from handrail.core.traits import RuleFamily, ToolTraits
from handrail.core.verdicts import Verdict
from handrail.tools._lib.running_commands import quote_imitations
from handrail.tools._lib.tool_base import (
    INTEGER,
    STRING,
    append_content_notes,
    append_notes,
    object_schema,
    quote_in_note,
)
from handrail.tools._lib.web_tool import WebTool

_ROOM_FOR_NOTES: Final = 1_500
_CURSOR: Final = re.compile(r"([0-9]{1,9})-([0-9a-f]{8})")
_NULLABLE: Final = {"type": ["string", "null"]}


class WebFetchParams(Params):
    url: str = Field(description="Address of the page, http or https.")
    prompt: str | None = Field(
        None, max_length=10_000, description="A question about the page, instead of its text."
    )
    max_bytes: int | None = Field(
        None, ge=1_000, description="Read at most this much of the page, in bytes."
    )
    cursor: str | None = Field(None, description="Where to read on, from an earlier result.")


class WebFetch(WebTool[WebFetchParams]):
    name = "web_fetch"
    summary = "Fetch a web page as text."
    params = WebFetchParams
    effects = Effects.NETWORK
    fetches_only = True
    traits = ToolTraits(
        family=RuleFamily.WEB,
        agent_profiles=("explore", "review", "plan"),
        hidden_by_default=True,
    )
    group = Group.WEB
    idempotent = True
    timeout_s = 180.0
    max_chars = 30_000
    keep = "start"
    output_schema = object_schema(
        url=STRING,
        final_url=STRING,
        status=INTEGER,
        media_type=STRING,
        cursor=_NULLABLE,
        hidden_elements=INTEGER,
        answered_by=_NULLABLE,
    )

    def footprint(self, args: WebFetchParams) -> Footprint:
        """Return a footprint of one host, which gets the URL."""
        return reading(self.check_url(args.url).key)

    def opinion(self, args: WebFetchParams) -> Verdict | None:
        """Return a verdict that asks again if the URL may contain a secret."""
        return self.check_sent(args.url)

    def render_call(self, args: WebFetchParams) -> str:
        return f"fetch {safe_text(args.url, one_line=True)}"

    async def run(self, args: WebFetchParams, ctx: ToolContext) -> Output:
        """The page from the cursor on; raises `denied`, `timeout`, `unavailable` or `not_text`."""
        del ctx
        web = self.web
        limit = web.max_bytes if args.max_bytes is None else min(args.max_bytes, web.max_bytes)
        page = await web.pages.value.read(self.check_url(args.url), limit)
        if page.redirect is not None:
            return _redirected(args, page)
        if args.prompt is None:
            return self._text(args, page, [])
        answer = await web.answer(args.prompt, page.text) if page.text.strip() else None
        if answer is None:
            note = "the prompt was not answered: no small_model is configured; this is the text"
            return self._text(args, page, [note])
        return _answered(args, page, answer)

    def _text(self, args: WebFetchParams, page: WebPage, notes: list[str]) -> Output:
        start = _read_cursor(args.cursor, page.text)
        end = _text_end(page.text, start, self.max_chars - _ROOM_FOR_NOTES)
        shown, cursor = page.text[start:end], None
        if end < len(page.text):
            cursor = f"{end}-{_digest(page.text)}"
            notes = [*notes, f"characters {start:,}-{end:,} of {len(page.text):,}; cursor={cursor}"]
        elif not page.text.strip():
            notes = [*notes, "the page has no text"]
        text = append_content_notes(quote_imitations(shown), [_head(page), *page.notes, *notes])
        data = _data(args, page) | {"cursor": cursor}
        return Output(text, data=data, problem=_status_problem(page))


def _head(page: WebPage) -> str:
    return f"{quote_in_note(page.final_url)}, status {page.status}, {page.media_type}"


def _data(args: WebFetchParams, page: WebPage) -> dict[str, Any]:
    return {
        "url": args.url,
        "final_url": page.final_url,
        "status": page.status,
        "media_type": page.media_type,
        "cursor": None,
        "hidden_elements": page.hidden_elements,
        "answered_by": None,
    }


def _redirected(args: WebFetchParams, page: WebPage) -> Output:
    target = safe_text(page.redirect or "", one_line=True)[:2_000]
    text = f"The page redirects to another host, which was not followed: {target}"
    data = _data(args, page) | {"final_url": target}
    return Output(append_notes(text, [f"to read it, fetch {quote_in_note(target)}"]), data=data)


def _answered(args: WebFetchParams, page: WebPage, answer: PromptAnswer) -> Output:
    notes = [_head(page), *page.notes, f"answered by {answer.model} from the text of the page"]
    meta = {} if answer.usage is None else {"model_usage": _usage(answer)}
    return Output(
        append_content_notes(quote_imitations(answer.text), notes),
        data=_data(args, page) | {"answered_by": answer.model},
        meta=meta,
        problem=_status_problem(page),
    )


def _usage(answer: PromptAnswer) -> dict[str, int]:
    used = answer.usage
    return {} if used is None else {"input": used.input, "output": used.output}


def _status_problem(page: WebPage) -> Problem | None:
    if page.status < 400:
        return None
    code: Code = "not_found" if page.status in (404, 410) else "unavailable"
    message = f"the server answered with status {page.status}"
    return Problem(code, message, retryable=page.status in (429, 503))


def _read_cursor(cursor: str | None, text: str) -> int:
    if cursor is None:
        return 0
    match = _CURSOR.fullmatch(cursor)
    if match is None:
        hint = "use the cursor of an earlier result, or none"
        message = f"{cursor!r:.100} is not a cursor"
        raise ProblemRaised("invalid_arguments", message, hint=hint, field="cursor")
    if match[2] != _digest(text) or int(match[1]) > len(text):
        hint = "fetch it again without a cursor"
        message = "the page has changed since the cursor was given"
        raise ProblemRaised("stale", message, hint=hint, field="cursor")
    return int(match[1])


def _text_end(text: str, start: int, room: int) -> int:
    """Return where the shown part ends: at the end of a line, if one is near."""
    end = min(start + room, len(text))
    if end == len(text):
        return end
    line = text.rfind("\n", start + room // 2, end)
    return end if line < 0 else line + 1


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:8]
