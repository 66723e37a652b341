"""Actions: calls that a model writes as JSON in its text, in the dialects that have them.

The whole text of a reply must be the action. One that a model quotes beside other words is text.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any, Final

from handrail.core.finish_words import get
from handrail.core.ports.models import Finish
from handrail.core.results import ToolResult
from handrail.core.text.nesting import parse_json
from handrail.engine.providers.provider_messages import (
    Provider,
    ResponseEnd,
    gemini_parts,
    read_end,
)

_MAX_CHARS: Final = 1_000_000
_FENCE: Final = re.compile(r"```(?:json)?\s*\n(.*)\n```", re.DOTALL)
_TEXT_PARTS: Final = frozenset({"text", "output_text"})


def read_action(response: Any, actions: Collection[str]) -> dict[str, Any] | None:
    """The action that is the text of a response, as a call; None if the text is something else."""
    return parse_action(_reply_text(response), actions) if actions else None


def parse_action(text: str, actions: Collection[str]) -> dict[str, Any] | None:
    """The action that is the whole of a text, as a call; None if the text is something else."""
    text = text.strip() if actions else ""
    fenced = _FENCE.fullmatch(text)
    text = fenced[1].strip() if fenced else text
    if not text.startswith("{") or len(text) > _MAX_CHARS:
        return None
    try:
        value = parse_json(text)
    except ValueError:
        return None
    name = value.pop("type", None)
    # A provider gives no id to a text.
    return {"id": "", "name": name, "arguments": value} if name in actions else None


def read_action_end(response: Any) -> ResponseEnd:
    """How a response with an action ended: one that ended with its text is complete."""
    end = read_end(response)
    return end._replace(finish=Finish.CALLS) if end.finish is Finish.END else end


def observations(results: Collection[ToolResult], provider: Provider) -> list[dict[str, Any]]:
    """The results as messages of the user, which every provider takes."""
    if provider == "gemini":
        return [{"role": "user", "parts": [{"text": result.text}]} for result in results]
    return [{"role": "user", "content": result.text} for result in results]


def _reply_text(response: Any) -> str:
    given = gemini_parts(response)
    if given is not None:
        spoken = [get(part, "text") for part in given if not get(part, "thought")]
        return "".join(text for text in spoken if isinstance(text, str))
    choices = get(response, "choices")
    message = get(choices[0], "message") if choices else response
    content = get(message, "content")
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list | tuple) else get(response, "output")
    return "".join(_part_text(part) for part in parts or ())


def _part_text(part: Any) -> str:
    if get(part, "type") == "message":
        return "".join(_part_text(one) for one in get(part, "content") or ())
    text = get(part, "text")
    return text if get(part, "type") in _TEXT_PARTS and isinstance(text, str) else ""
