"""Code of the person's that sees calls go by. Before a call it is a guard: if it fails, the
call does not happen. After a call it can only add words.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from handrail.core.results import ToolResult
from handrail.core.verdicts import Verdict


@dataclass(frozen=True, slots=True)
class HookCall:
    """A call as a hook sees it: canonical names."""

    call_id: str
    tool: str
    arguments: Mapping[str, Any]
    turn: int
    agent: str


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Other arguments to run the call with; they are prepared and guarded like any."""

    arguments: Mapping[str, Any]


class Hook(Protocol):
    """Told of every call."""

    async def before(self, call: HookCall) -> Verdict | Rewrite | None:
        """An opinion, other arguments, or nothing."""

    async def after(self, call: HookCall, result: ToolResult) -> str | None:
        """Words to add to what the model is told, or nothing."""
