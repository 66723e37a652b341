"""Records what background jobs change. Tracked jobs are noted in the store, so that the next
opening records what they changed if their runtime is killed.

A job is recorded exactly once: its note is deleted with its record.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from handrail.core.call import ToolCall
from handrail.core.ports.machine import Clock
from handrail.core.ports.processes import Job, JobState, Processes
from handrail.core.ports.records import Row, Store
from handrail.core.problems import ProblemRaised
from handrail.engine.executors.command_effects import CommandChangeTracker, CommandSnapshot
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.history.command_effects.effects_report import EffectsReport
from handrail.history.recovered_call import JOB_PREFIX, NO_SESSION, RecoveredCall
from handrail.history.workspace_match import WorkspaceFolders, WorkspaceMatch, workspace_folders

LATER: Final = "what a background job changes is recorded when it is over"
KEPT: Final = (
    "what a background job changes is recorded when it is over or this runtime closes; what it "
    "changes after that is not"
)

OUTLIVES: Final = "it went on after Handrail had closed, and is not followed any more"


class JobCall(NamedTuple):
    """The call that started a job, and the process that tracks it."""

    call: str
    turn: int
    agent: str
    owner: str


class JobNote(NamedTuple):
    """The data needed to record a job later."""

    started_by: JobCall
    began_ns: int
    # Identifies the snapshot before the job.
    intent: Mapping[str, Any]
    # The extent of the snapshot.
    whole: bool
    open_ended: bool
    confined: bool

    def to_state(self) -> dict[str, Any]:
        """The note as the store keeps it."""
        state = self._asdict()
        return {**state.pop("started_by")._asdict(), **state}

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> JobNote:
        """The note that `to_state` made; raises TypeError for any other state."""
        call = {name: value for name, value in state.items() if name in JobCall._fields}
        rest = {name: value for name, value in state.items() if name not in JobCall._fields}
        return cls(JobCall(**call), **rest)


def note_job(store: Store, session: str, job: str, noted: JobNote) -> None:
    """Note in the store that a job is tracked from now on."""
    store.save_state(NO_SESSION, _key(session, job), noted.to_state())


def make_note(
    effects: CommandChangeTracker,
    tracked: CommandSnapshot,
    call: ToolCall,
    owner: str,
    *,
    confined: bool,
) -> JobNote:
    """Return the note of a job that was started."""
    found = {**effects.describe(tracked), "effects": {"writes": list(tracked.derived)}}
    started_by = JobCall(call.id, call.turn, call.agent, owner)
    return JobNote(
        started_by, tracked.looked_ns, found, tracked.whole, tracked.open_ended, confined
    )


def record_job(
    store: Store, session: str, job: str, noted: JobNote, now_ns: int, done: Mapping[str, Any]
) -> None:
    """Record a job as a call of its own, with `done` as its completion, and delete its note."""
    asked = {
        "tool": "job",
        "called": "job",
        "arguments": {"job": job, "call": noted.started_by.call},
        "agent": noted.started_by.agent,
    }
    intent = {
        "tool": "job",
        "owner": noted.started_by.owner,
        "runs": "job",
        "call": noted.started_by.call,
    }
    ended = {"tool": "job", "data": None, "cleared": None, "asked": False, **done}
    for kind, payload in (("requested", asked), ("intent", intent), ("completed", ended)):
        store.append(Row(session, kind, f"job:{job}", noted.started_by.turn, now_ns, payload))  # type: ignore[arg-type]  # a literal out of a loop
    store.save_state(NO_SESSION, _key(session, job), None)


@dataclass(eq=False)
class DeadJobs:
    """Records the jobs of runtimes that were killed, with their changes so far."""

    effects: CommandChangeTracker
    store: Store
    processes: Processes
    clock: Clock
    alive: Callable[[str], bool]

    async def settle(self, session: str) -> list[RecoveredCall]:
        """Record these jobs and return them; `session` is open, other workspaces are left alone."""
        noted = _read_notes(await self.store.load_state(NO_SESSION))
        if not noted:
            return []
        root = self.effects.keeping.files.roots[0]
        folders = workspace_folders(await self.store.openings(), session, root)
        jobs = {one.id: one for one in await self.processes.jobs()}
        done = []
        for (theirs, number), one in noted.items():
            if self.alive(one.started_by.owner):
                continue
            if await self.store.find_completed(theirs, f"job:{number}") is not None:
                self.store.save_state(NO_SESSION, _key(theirs, number), None)
            elif (
                found := await self._record_dead_job(theirs, number, one, jobs, folders)
            ) is not None:
                done.append(found)
        await self.store.flush()
        return done

    async def _record_dead_job(
        self,
        session: str,
        number: str,
        noted: JobNote,
        jobs: Mapping[str, Job],
        folders: WorkspaceFolders,
    ) -> RecoveredCall | None:
        where = folders.where(session, noted.began_ns)
        if where is WorkspaceMatch.ELSEWHERE:
            return None
        job, report = jobs.get(number), None
        if job is not None and (job.session, job.call_id) != (session, noted.started_by.call):
            job = None
        if where is WorkspaceMatch.HERE:
            ended_ns = self._ended_ns(job)
            report = await run_in_thread_uncancellable(
                lambda: self.effects.unfinished(noted.intent, ended_ns)
            )
        if report is not None:
            self.effects.limit(report, noted, confined=noted.confined)
            if _is_running(job):
                report.left_out[f"job:{number}"] = OUTLIVES
        found = _recovered_call(number, job, report)
        done = _completion(found, report)
        done["meta"] |= {} if job is None else job.to_meta()
        record_job(self.store, session, number, noted, self.clock.now_ns(), done)
        return found

    def _ended_ns(self, job: Job | None) -> int | None:
        if _is_running(job):
            return self.clock.now_ns()
        return None if job is None or job.ended_at is None else int(job.ended_at * 1e9)


def _recovered_call(number: str, job: Job | None, report: EffectsReport | None) -> RecoveredCall:
    text = "it was not on record yet when Handrail ended"
    if _is_running(job):
        text += "; it still runs, and what it changes from now on is not followed"
    text += "; " + ("what it changed is not known" if report is None else report.sentence())
    return RecoveredCall(f"job:{number}", "job", "unknown", text, paths=_paths(report))


def _completion(found: RecoveredCall, report: EffectsReport | None) -> dict[str, Any]:
    problem = {
        "code": "cancelled",
        "message": f"job: {found.text}",
        "hint": "look at the files that it changes",
        "field": None,
        "retryable": False,
    }
    done: dict[str, Any] = {
        "status": found.status,
        "is_error": True,
        "text": found.text,
        "data": {"paths": list(found.paths)},
        "problem": problem,
        "changes": [],
        "meta": {"recovered": True},
    }
    if report is not None:
        done["changes"] = [list(one) for one in report.changed()]
        done["meta"] = {"recovered": True, **report.to_meta()}
        done["effects"] = report.to_record()
    return done


def _paths(report: EffectsReport | None) -> tuple[str, ...]:
    described = [] if report is None else [*report.changes, *report.unattributed]
    return tuple(str(one["path"]) for one in described)


def _is_running(job: Job | None) -> bool:
    return job is not None and job.state is JobState.RUNNING


def _read_notes(states: Mapping[str, Any]) -> dict[tuple[str, str], JobNote]:
    found = {}
    for key, value in states.items():
        if value and key.startswith(JOB_PREFIX):
            session, job = json.loads(key.removeprefix(JOB_PREFIX))
            found[session, job] = JobNote.from_state(value)
    return found


def _key(session: str, job: str) -> str:
    return JOB_PREFIX + json.dumps([session, job])


@dataclass(frozen=True, slots=True)
class FollowedJob:
    """A job, the files when it was started, and its note."""

    job: str
    tracked: CommandSnapshot
    noted: JobNote


@dataclass(eq=False)
class JobEffects:
    """Tracks the jobs of one session. `owner` names this process."""

    effects: CommandChangeTracker
    store: Store
    processes: Processes
    clock: Clock
    session: str
    owner: str
    _followed: list[FollowedJob] = field(default_factory=list, init=False)

    async def follow(
        self, job: str, tracked: CommandSnapshot, call: ToolCall, *, confined: bool
    ) -> EffectsReport:
        """Start to track the changes of a job; return the report for the call that started it."""
        if tracked.before is None:
            noted = make_note(self.effects, tracked, call, self.owner, confined=confined)
            self._followed.append(FollowedJob(job, tracked, noted))
            return EffectsReport(blind=True)
        keep = self.effects.keeping.shadow.keep
        kept_snapshot = await run_in_thread_uncancellable(lambda: keep(tracked.before))
        pinned = replace(tracked, before=kept_snapshot)
        noted = make_note(self.effects, pinned, call, self.owner, confined=confined)
        self._followed.append(FollowedJob(job, pinned, noted))
        note_job(self.store, self.session, job, noted)
        # Noted in the store before the call ends, because the next opening looks for the note after
        # a kill. If the store fails, the calls report that.
        with suppress(ProblemRaised):
            await self.store.flush()
        report = EffectsReport()
        kept = any(one.id == job and one.kept for one in await self.processes.jobs())
        report.left_out[f"job:{job}"] = KEPT if kept else LATER
        return report

    async def settle(self, *, closing: bool = False) -> None:
        """Record what ended jobs have changed; with `closing`, also what the jobs that continue
        without this runtime have changed so far.
        """
        if not self._followed:
            return
        jobs = {job.id: job for job in await self.processes.jobs()}
        running = {job.id for job in jobs.values() if job.state is JobState.RUNNING}
        left = [] if closing else [one for one in self._followed if one.job in running]
        ready, self._followed = [one for one in self._followed if one not in left], left
        for one in ready:
            job = jobs.get(one.job)
            connections = {} if job is None else job.to_meta()
            if one.tracked.before is None:
                if connections:
                    self._record(one, EffectsReport(blind=True), connections)
                continue
            report = await self.effects.end(one.tracked, confined=one.noted.confined, others=True)
            if one.job in running:
                report.left_out[f"job:{one.job}"] = OUTLIVES
            self._record(one, report, connections)

    def _record(
        self, followed: FollowedJob, report: EffectsReport, connections: dict[str, Any]
    ) -> None:
        changes = [list(one) for one in report.changed()]
        done = {
            "status": "ok",
            "is_error": False,
            "text": f"what job {followed.job} changed: {len(changes)} files",
            "problem": None,
            "changes": changes,
            "meta": {**report.to_meta(), **connections},
            "effects": report.to_record(),
        }
        now = self.clock.now_ns()
        record_job(self.store, self.session, followed.job, followed.noted, now, done)
