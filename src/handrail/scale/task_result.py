"""The shape of a task's result: one JSON object, the same however the task ends."""

from __future__ import annotations

from typing import Any

from handrail.core.agent_results import Usage


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
