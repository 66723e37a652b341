"""Hooks as Python objects, and a running call as hooks see it. A hook before a call is a guard: if
it raises, the call does not run. A hook after a call can only add text.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final, Protocol, TypedDict

from handrail.core.names.caller_words import CallerWords
from handrail.core.results import ToolResult
from handrail.core.verdicts import Verdict
from handrail.engine.call_state import current_call
from handrail.engine.prepare.prepared_call import PreparedCall


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call as a hook sees it, with canonical names.

    `paths` are its path arguments, resolved and absolute; a path inside another value is named
    `paths[0]` or `edits[1].path`. `files` are the real absolute paths of all files that the call is
    known to touch; `ways` has the other names by which a file was reached. `runs_command`: the call
    starts a program. `words` are the caller's names for all of this; None if the caller uses the
    canonical ones.
    """

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    turn: int
    agent: str
    paths: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    ways: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    runs_command: bool = False
    words: CallerWords | None = None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Other arguments to run the call with; they are prepared and checked like any arguments."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Opinion:
    """A verdict, a rewrite and text together.

    A verdict of ALLOW counts only with `may_allow`, which the user must have granted to this hook.
    `words` are added to the result that the model reads.
    """

    verdict: Verdict | None = None
    rewrite: Rewrite | None = None
    words: str = ""
    may_allow: bool = False


class Hook(Protocol):
    """Called before and after every call."""

    async def before(self, call: HookCall) -> Verdict | Rewrite | Opinion | None:
        """Return a verdict, other arguments, several of these as an `Opinion`, or None."""

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """Return text to add to the result that the model reads, or None."""


_ATTRIBUTE: Final = re.compile(r"\w+")


def hook_call(prepared: PreparedCall) -> HookCall:
    """Return the call with every path resolved, so that no spelling of a path evades a guard."""
    call, runs = prepared.call, prepared.footprint.command is not None
    places = prepared.places
    files = _touched(prepared)
    if not runs:
        files = (*(place.absolute for place in places.values()), *files)
    return HookCall(
        call.id,
        prepared.name,
        prepared.arguments,
        call.turn,
        call.agent,
        {_given_name(prepared, name): place.absolute for name, place in places.items()},
        tuple(dict.fromkeys(files)),
        {place.absolute: place.via for place in places.values() if place.via},
        runs,
        prepared.parsed.words,
    )


def normalize_opinion(opinion: Verdict | Rewrite | Opinion | None) -> Opinion:
    """Return the return value of a hook as an `Opinion`."""
    if isinstance(opinion, Opinion):
        return opinion
    if isinstance(opinion, Rewrite):
        return Opinion(rewrite=opinion)
    return Opinion(verdict=opinion)


def _given_name(prepared: PreparedCall, name: str) -> str:
    """The name of a path by the argument as the caller gives it, not by the model's attribute."""
    attribute = _ATTRIBUTE.match(name)
    top = attribute[0] if attribute is not None else ""
    field = (
        prepared.entry.arguments.model.model_fields.get(top) if prepared.entry is not None else None
    )
    alias = None if field is None else field.validation_alias
    return alias + name[len(top) :] if isinstance(alias, str) else name


def _touched(prepared: PreparedCall) -> tuple[str, ...]:
    kinds = (touch.key.partition(":") for touch in prepared.footprint.touches)
    return tuple(path for kind, _, path in kinds if kind == "file")


_MAX_FAILURES: Final = 20


class HookFailure(TypedDict):
    """One failed run of a hook, for the record of the call."""

    hook: str
    event: str
    reason: str


def record_hook_failure(hook: str, event: str, reason: str) -> None:
    """Record a failed run with the current call; does nothing outside a call."""
    call = current_call.get()
    if call is not None and len(call[1].hook_failures) < _MAX_FAILURES:
        call[1].hook_failures.append({"hook": hook, "event": event, "reason": reason})
