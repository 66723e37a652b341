"""The finish reasons of providers, mapped to `Finish`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.core.ports.models import Finish

# `stop` may come with calls: OpenAI sends it if `tool_choice` names a function, and several compatible
# servers send it for every message with calls. The message is complete in both cases.
CHAT_FINISH: Final[Mapping[str, Finish]] = {
    "tool_calls": Finish.CALLS,
    "function_call": Finish.CALLS,
    "stop": Finish.CALLS,
    "length": Finish.LENGTH,
    "content_filter": Finish.REFUSED,
}
ANTHROPIC_FINISH: Final[Mapping[str, Finish]] = {
    "tool_use": Finish.CALLS,
    "end_turn": Finish.END,
    "stop_sequence": Finish.END,
    "max_tokens": Finish.LENGTH,
    "model_context_window_exceeded": Finish.LENGTH,
    "refusal": Finish.REFUSED,
    "pause_turn": Finish.PAUSED,
}
RESPONSES_FINISH: Final[Mapping[str, Finish]] = {
    "completed": Finish.CALLS,
    "failed": Finish.CUT,
    "cancelled": Finish.CUT,
    "in_progress": Finish.CUT,
    "queued": Finish.CUT,
}
RESPONSES_INCOMPLETE: Final[Mapping[str, Finish]] = {
    "max_output_tokens": Finish.LENGTH,
    "content_filter": Finish.REFUSED,
}
GEMINI_FINISH: Final[Mapping[str, Finish]] = {
    "STOP": Finish.CALLS,
    "MAX_TOKENS": Finish.LENGTH,
    **dict.fromkeys(
        (
            "SAFETY",
            "RECITATION",
            "BLOCKLIST",
            "PROHIBITED_CONTENT",
            "SPII",
            "IMAGE_SAFETY",
            "LANGUAGE",
        ),
        Finish.REFUSED,
    ),
}


def get(thing: Any, name: str) -> Any:
    """The value of a key or attribute, None if there is none."""
    return thing.get(name) if isinstance(thing, Mapping) else getattr(thing, name, None)
