"""Why a model's response ended, read from each provider's own field.

Calls with effects run only on an end that means tool calls: a response that was cut off,
refused or paused may hold calls that the model never finished or no longer wants.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from handrail.core.finish_words import (
    ANTHROPIC_FINISH,
    CHAT_FINISH,
    RESPONSES_FINISH,
    RESPONSES_INCOMPLETE,
    get,
)
from handrail.core.ports.models import Finish


class ResponseEnd(NamedTuple):
    """How a response ended.

    `finish` is None where the shape has no such field: a bare message or list of calls.
    `reason` is the provider's own word. `unfinished` are the positions, among the calls of
    the response, of those that the provider itself marks as incomplete.
    """

    finish: Finish | None
    reason: str = ""
    unfinished: frozenset[int] = frozenset()

    @property
    def runs_effects(self) -> bool:
        """Whether calls that change something may run."""
        return self.finish is None or self.finish is Finish.CALLS

    @property
    def cuts_last_call(self) -> bool:
        """Whether the last call may be a part of what the model meant."""
        return self.finish in (Finish.LENGTH, Finish.REFUSED, Finish.CUT)


# What a complete Anthropic response has and a message of a conversation has not.
_OF_A_RESPONSE: Final = ("id", "model", "usage", "stop_reason", "stop_sequence")


def read_end(response: Any) -> ResponseEnd:
    """How a response that `read_calls` understands ended."""
    if isinstance(response, list | tuple):
        return ResponseEnd(None, unfinished=_unfinished(response))
    choices = get(response, "choices")
    if isinstance(choices, Sequence) and choices:
        named = _named(CHAT_FINISH, get(choices[0], "finish_reason"))
        return _unless_refused(get(choices[0], "message"), named)
    output = get(response, "output")
    if isinstance(output, list | tuple):
        return _of_output(response)._replace(unfinished=_unfinished(output))
    content = get(response, "content")
    if isinstance(content, list | tuple) and get(response, "tool_calls") is None:
        return _of_message(response)
    # Some programs keep the choice's field in the message.
    reason = get(response, "finish_reason")
    return _unless_refused(
        response, ResponseEnd(None) if reason is None else _named(CHAT_FINISH, reason)
    )


def _unless_refused(message: Any, end: ResponseEnd) -> ResponseEnd:
    """A chat message may carry the text of a refusal instead of an answer."""
    return ResponseEnd(Finish.REFUSED, "refusal") if get(message, "refusal") else end


def _of_message(message: Any) -> ResponseEnd:
    """An Anthropic response, or a message of a conversation, which has no such field."""
    if isinstance(message, Mapping) and not any(key in message for key in _OF_A_RESPONSE):
        return ResponseEnd(None)
    return _named(ANTHROPIC_FINISH, get(message, "stop_reason"))


def _of_output(response: Any) -> ResponseEnd:
    status = get(response, "status")
    if status != "incomplete":
        return _named(RESPONSES_FINISH, status)
    reason = get(get(response, "incomplete_details"), "reason")
    found = _named(RESPONSES_INCOMPLETE, reason)
    if found.finish is Finish.UNKNOWN:
        return ResponseEnd(Finish.CUT, found.reason or "incomplete")
    return found


def _named(known: Mapping[str, Finish], reason: Any) -> ResponseEnd:
    if not isinstance(reason, str):
        return ResponseEnd(Finish.UNKNOWN)
    return ResponseEnd(known.get(reason, Finish.UNKNOWN), reason[:100])


def _unfinished(items: Sequence[Any]) -> frozenset[int]:
    """The positions of calls of the Responses API that are marked as incomplete."""
    calls = [item for item in items if get(item, "type") == "function_call"]
    return frozenset(
        number
        for number, item in enumerate(calls)
        if get(item, "status") not in (None, "completed")
    )
