"""Protected names around commands: snapshots before, repairs after, also for background jobs."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.ports.processes import NameProtection, NameRepair
from handrail.engine.timing import run_in_thread_uncancellable

_log = logging.getLogger("handrail")
_MAX_LISTED = 10


class ProtectedNamesGuard:
    """Restores protected names that commands change. A background job runs on after its call, so
    its changes are repaired before the next command.
    """

    def __init__(self, guarded: NameProtection) -> None:
        self.guarded = guarded
        # Whether background jobs may be running.
        self.has_jobs = False
        # The snapshot that jobs are compared with; None: nothing to compare.
        self._job_baseline: Any = None
        # Repairs after jobs that no result has reported yet.
        self._unreported: tuple[NameRepair, ...] = ()

    async def snapshot(
        self,
        allowed: Sequence[str],
        *,
        git_writable: bool,
        sequences: bool,
        repositories: bool = False,
    ) -> Any:
        """A snapshot of the protected names, without those that match the `allowed` globs."""
        return await run_in_thread_uncancellable(
            lambda: self.guarded.take(
                lifted=allowed,
                git_writable=git_writable,
                sequences=sequences,
                repositories=repositories,
            )
        )

    async def job_snapshot(self, allowed: Sequence[str]) -> Any:
        """A snapshot of the names that background jobs must leave alone."""
        return await self.snapshot(allowed, git_writable=True, sequences=True)

    async def repair(
        self, snapshot: Any, who: str | None, held: Sequence[str] = ()
    ) -> Sequence[NameRepair]:
        """Restore what differs from the snapshot, except in the paths `held`, which the program
        could not change; logs the changes as done by `who`, if given.
        """
        repaired = await run_in_thread_uncancellable(
            lambda: self.guarded.repair(snapshot, held=held)
        )
        if repaired and who is not None:
            _log.warning("%s %s", who, tampering_text(repaired))
        return repaired

    def watch_jobs(self, baseline: Any, *, started: bool) -> None:
        """Compare with this snapshot from now on; `started`: a job was started."""
        self.has_jobs = self.has_jobs or started
        self._job_baseline = baseline

    async def repair_after_jobs(self) -> None:
        """Restore what background jobs have changed since the last command."""
        baseline, self._job_baseline = self._job_baseline, None
        if baseline is not None:
            repaired = await self.repair(baseline, "a background job")
            self._unreported = (*self._unreported, *repaired)

    def pop_job_tampering(self) -> tuple[NameRepair, ...]:
        """The repairs after jobs that were not reported yet."""
        found, self._unreported = self._unreported, ()
        return found

    def accept_plan(self, plan: Plan) -> None:
        """Accept the changes of a committed plan: they were allowed and are no job's."""
        if self._job_baseline is not None:
            for change in plan.changes:
                self.guarded.leave(self._job_baseline, change.place.absolute)


def tampering_text(repaired: Sequence[NameRepair]) -> str:
    """What a command did to protected names, and how far it was repaired."""
    listed = ", ".join(_describe(one) for one in repaired[:_MAX_LISTED])
    more = f" and {len(repaired) - _MAX_LISTED} more" if len(repaired) > _MAX_LISTED else ""
    return f"changed protected names, which were put back: {listed}{more}"


def _describe(one: NameRepair) -> str:
    partly = "" if one.restored else ", NOT restored in full"
    kept = f", its version kept as {one.kept}" if one.kept else ""
    return f"{shown(one.path)} ({one.what}{partly}{kept})"
