"""Code of the person's that sees calls go by. Before a call it is a guard: if it fails, the
call does not happen. After a call it can only add words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from handrail.core.results import ToolResult
from handrail.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call as a hook sees it: canonical names.

    `paths` are its path arguments, resolved and absolute; one inside another value is named
    `paths[0]` or `edits[1].path`. `files` are all files that it is
    known to touch, by their real absolute names; `ways` has the other names by which one of
    them was reached. `runs_command`: the call starts a program.
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


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Other arguments to run the call with; they are prepared and guarded like any."""

    arguments: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Opinion:
    """All that can be said before a call, where one thing is not enough.

    A verdict of ALLOW counts only with `may_allow`, for which the person must have said that
    this hook may answer in their place. `words` are added to what the model is told.
    """

    verdict: Verdict | None = None
    rewrite: Rewrite | None = None
    words: str = ""
    may_allow: bool = False


class Hook(Protocol):
    """Told of every call."""

    async def before(self, call: HookCall) -> Verdict | Rewrite | Opinion | None:
        """An opinion, other arguments, or nothing."""

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """Words to add to what the model is told, or nothing."""
