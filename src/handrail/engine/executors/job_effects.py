"""What background jobs change: looked at when they are over, recorded as a call `job:N`.

The call that started a job is long recorded by then, so the job gets a record of its own.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from handrail.core.call import ToolCall
from handrail.core.ports.machine import Clock
from handrail.core.ports.processes import JobState, Processes
from handrail.core.ports.records import Store
from handrail.core.problems import ProblemRaised
from handrail.engine.executors.command_effects import CommandChangeTracker, CommandSnapshot
from handrail.engine.executors.dead_job_effects import (
    OUTLIVES,
    JobNote,
    make_note,
    note_job,
    record_job,
)
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.history.command_effects.effects_report import EffectsReport

LATER: Final = "what a background job changes is recorded when it is over"
KEPT: Final = (
    "what a background job changes is recorded when it is over or this runtime closes; what it "
    "changes after that is not"
)


@dataclass(frozen=True, slots=True)
class FollowedJob:
    """A job, how the files were when it began, and what is noted of it."""

    job: str
    tracked: CommandSnapshot
    noted: JobNote


class JobEffects:
    """Follows the jobs of one session. `owner` names this process."""

    def __init__(
        self,
        effects: CommandChangeTracker,
        store: Store,
        processes: Processes,
        clock: Clock,
        *,
        session: str,
        owner: str,
    ) -> None:
        self._effects = effects
        self._store = store
        self._processes = processes
        self._clock = clock
        self._session = session
        self._owner = owner
        self._followed: list[FollowedJob] = []

    async def follow(
        self, job: str, tracked: CommandSnapshot, call: ToolCall, *, confined: bool
    ) -> EffectsReport:
        """Start to record the changes of a job; returns the report for the call that started it."""
        if tracked.before is None:
            return EffectsReport(blind=True)
        keep = self._effects.keeping.shadow.keep
        kept_snapshot = await run_in_thread_uncancellable(lambda: keep(tracked.before))
        pinned = replace(tracked, before=kept_snapshot)
        noted = make_note(self._effects, pinned, call, self._owner, confined=confined)
        self._followed.append(FollowedJob(job, pinned, noted))
        note_job(self._store, self._session, job, noted)
        # In the store before the call ends: the next opening looks for the job after a kill. A
        # store that fails is reported by the calls.
        with suppress(ProblemRaised):
            await self._store.flush()
        report = EffectsReport()
        kept = any(one.id == job and one.kept for one in await self._processes.jobs())
        report.left_out[f"job:{job}"] = KEPT if kept else LATER
        return report

    async def settle(self, *, closing: bool = False) -> None:
        """Record what jobs that are over have changed; `closing`: of those that go on without
        us as well, as far as they have come.
        """
        if not self._followed:
            return
        running = {job.id for job in await self._processes.jobs() if job.state is JobState.RUNNING}
        left = [] if closing else [one for one in self._followed if one.job in running]
        ready, self._followed = [one for one in self._followed if one not in left], left
        for one in ready:
            report = await self._effects.end(one.tracked, confined=one.noted.confined, others=True)
            if one.job in running:
                report.left_out[f"job:{one.job}"] = OUTLIVES
            self._record(one, report)

    def _record(self, followed: FollowedJob, report: EffectsReport) -> None:
        changes = [list(one) for one in report.changed()]
        done = {
            "status": "ok",
            "is_error": False,
            "text": f"what job {followed.job} changed: {len(changes)} files",
            "problem": None,
            "changes": changes,
            "meta": report.to_meta(),
            "effects": report.to_record(),
        }
        now = self._clock.now_ns()
        record_job(self._store, self._session, followed.job, followed.noted, now, done)
