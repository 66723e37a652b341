"""Detects a task that another subagent has got recently."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import SequenceMatcher
from typing import Final

from handrail.core.ports.subagents import SubagentRequest
from handrail.subagents.child import Subagent

DUPLICATE_S: Final = 60.0
_SIMILAR: Final = 0.75
# Longer texts are compared by their beginnings.
_MAX_COMPARED: Final = 2_000


def find_duplicate(
    request: SubagentRequest, kind: str, siblings: Sequence[Subagent], now: float
) -> Subagent | None:
    """The subagent of the same type with the same task that started less than 60 seconds ago and has
    not failed; with `refuse_similar` also one with a similar task.
    """
    task = _normalized(request.task)
    for one in siblings:
        counts = one.status in ("running", "done")
        # The start of a subagent of an earlier process is unknown (0).
        recent = one.started > 0 and now - one.started < DUPLICATE_S
        if not (counts and recent and one.lineage.agent_type == kind):
            continue
        other = _normalized(one.task)
        if task == other or (request.refuse_similar and _similarity(task, other) > _SIMILAR):
            return one
    return None


def _normalized(task: str) -> str:
    return " ".join(task.casefold().split())


def _similarity(one: str, two: str) -> float:
    return SequenceMatcher(None, one[:_MAX_COMPARED], two[:_MAX_COMPARED], autojunk=False).ratio()
