"""Carrying out a plan: all of its changes or none.

Every change is staged (temp file, fsync) before the first becomes visible; if one cannot be
published, those before it are put back. Blocks; the engine runs it in a worker thread.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence

from handrail.core.plan import Change, Plan
from handrail.core.ports import Files, Staged
from handrail.core.problems import ProblemRaised
from handrail.core.results import ChangeRecord

_log = logging.getLogger("handrail")


def commit(plan: Plan, files: Files, *, durable: bool) -> tuple[ChangeRecord, ...]:
    """Make the plan's changes; raises `stale` (nothing changed) if a file is not as planned."""
    staged: list[Staged] = []
    try:
        for change in plan.changes:  # one by one: what is staged must be known when one fails
            staged.append(files.stage(change, durable=durable))  # noqa: PERF401
        _publish(plan.changes, staged)
    finally:
        for one in staged:
            one.discard()
    return tuple([record_of(change) for change in plan.changes])


def record_of(change: Change) -> ChangeRecord:
    """What is told and kept of a change."""
    return ChangeRecord(change.path, change.operation, change.before_hash, change.after_hash)


def _publish(changes: Sequence[Change], staged: Sequence[Staged]) -> None:
    done: list[Staged] = []
    try:
        for one in staged:
            one.publish()
            done.append(one)
    except ProblemRaised:
        for one, change in zip(reversed(done), reversed(changes[: len(done)]), strict=True):
            _put_back(one, change)
        raise


def _put_back(staged: Staged, change: Change) -> None:
    try:
        staged.revert()
    except ProblemRaised:
        # The first problem is the one to tell; this one must not hide it.
        _log.exception("%s could not be put back after a failed change", change.path)
