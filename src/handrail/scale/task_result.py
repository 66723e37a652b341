"""The shape of a task's result: one JSON object, the same however the task ends."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from handrail.core.agent_results import Usage

# The status of a task that did not end because the store of all tasks failed; the fleet stops, and
# the next one continues the task.
NOT_ENDED: Final = "not_ended"


def blank_result(id: str, tenant: str, lost: int) -> dict[str, Any]:
    """The result of a task that did nothing; `lost` workers ended while they worked on it."""
    return {
        "id": id,
        "tenant": tenant,
        "status": "failed",
        "passed": False,
        "text": "",
        "problem": None,
        "turns": 0,
        "usage": Usage().to_dict(),
        "changes": [],
        "change_count": 0,
        "without_diff": {},
        "unknown_calls": [],
        "not_run_calls": [],
        "refused": [],
        "checks": [],
        "lost_workers": lost,
        "disk_bytes": 0,
        "seconds": 0.0,
    }


def is_store_failure(problem: Mapping[str, Any] | None) -> bool:
    """Return whether a store failed that may work again."""
    return bool(problem and problem["code"] == "store_unavailable" and problem["retryable"])
