"""Hooks that failed about a call, whatever followed from that: they belong to its record."""

from __future__ import annotations

from contextvars import ContextVar
from typing import Final, TypedDict

_MOST: Final = 20


class HookFailure(TypedDict):
    """One failed run: the hook, its event and what went wrong."""

    hook: str
    event: str
    reason: str


# Where the failures of the call that runs in this context are noted.
noted_failures: ContextVar[list[HookFailure] | None] = ContextVar(
    "handrail_hook_failures", default=None
)


def note_failure(hook: str, event: str, reason: str) -> None:
    """Note a failed run for the record of the call; nothing outside of a call."""
    found = noted_failures.get()
    if found is not None and len(found) < _MOST:
        found.append({"hook": hook, "event": event, "reason": reason})
