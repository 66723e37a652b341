"""Carries out calls that run a program: confines it by the verdict, restores protected names
afterwards, and records the files that it changed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import anyio

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.plan import Plan
from handrail.core.ports.processes import NameRepair
from handrail.core.results import Output, Status
from handrail.engine import messages
from handrail.engine.call_state import CallState, Outcome, known_entry
from handrail.engine.executors.command_effects import CommandChangeTracker
from handrail.engine.executors.confinement import (
    CommandConfinement,
    ProtectedNamesGuard,
    tampering_text,
)
from handrail.engine.executors.direct_executor import check_output
from handrail.engine.executors.job_effects import JobEffects
from handrail.engine.recording.recorder import Recorder
from handrail.engine.timing import DeadlineTimer
from handrail.history.command_effects.effects_report import EffectsReport

# git commands that may stop half-way and leave the remaining steps in the repository.
_STEPWISE: Final = frozenset(
    {"rebase", "am", "cherry-pick", "revert", "bisect", "pull", "merge", "submodule"}
)
# git's own options whose value is the next word.
_WITH_VALUE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


@dataclass(slots=True)
class EffectTrackers:
    """The trackers of files that programs change; None if that is not recorded."""

    commands: CommandChangeTracker | None = None
    jobs: JobEffects | None = None


@dataclass(frozen=True, slots=True)
class CommandRunner:
    """Runs the programs of one session."""

    confinement: CommandConfinement
    protection: ProtectedNamesGuard
    trackers: EffectTrackers = field(default_factory=EffectTrackers)

    async def begin(self, state: CallState) -> dict[str, Any]:
        """Take the snapshot before a command that may change files; return its intent."""
        intent = self.confinement.describe(_analysis(state))
        tracker = self.trackers.commands
        if tracker is None or _analysis(state).writes_nothing:
            return intent
        await self.protection.repair_after_jobs()
        await self.settle_jobs()
        snapshot = await tracker.begin(
            state.prepared.footprint, state.context.report, others=self.protection.has_jobs
        )
        state.effects.command_snapshot = snapshot
        return intent if snapshot is None else {**intent, **tracker.describe(snapshot)}

    async def run(self, state: CallState) -> Outcome:
        """Run the call's tool with the confinement that its verdict allows."""
        analysis = _analysis(state)
        reads = analysis.safety_class is CommandClass.SAFE or analysis.writes_nothing
        if reads and not analysis.unconfined:
            return await self._run_read(state, analysis)
        approved = state.clearance.binding is not None
        protection, confinement = self.protection, self.confinement
        await protection.repair_after_jobs()
        job_tampering = protection.pop_job_tampering()
        allowed = confinement.allowed_protected(analysis, approved=approved)
        snapshot = await protection.snapshot(
            allowed,
            git_writable=analysis.effects.git,
            sequences=analysis.effects.git and _leaves_steps(analysis),
            repositories=approved and _makes_repository(analysis),
        )
        read_only = protection.guarded.read_only(snapshot)
        state.context.confinement = await confinement.for_writing(state, analysis, read_only)
        held = confinement.sandbox.enforced_read_only(state.context.confinement)
        # The snapshot is taken before the job starts, because files that the job creates at once
        # would look pre-existing. What the user approved for one command stays protected from jobs
        # of others.
        starts = state.prepared.footprint.starts_job
        named = allowed if starts else confinement.paths.allowed_protected
        baseline = await protection.job_snapshot(named) if starts or protection.has_jobs else None
        repaired: Sequence[NameRepair] = ()
        report, output = EffectsReport(blind=True), None
        self._start_tracking(state)
        try:
            output = await self._run_tool(state)
        finally:
            # Shielded: a group of calls that is cancelled cancels each await of its calls.
            with anyio.CancelScope(shield=True):
                repaired = await protection.repair(snapshot, state.prepared.name, held)
                report = await self._finish_tracking(state, analysis, output)
                if (protection.has_jobs or starts) and approved and not starts:
                    baseline = await protection.job_snapshot(confinement.paths.allowed_protected)
                protection.watch_jobs(baseline, started=starts)
        backend = "none" if analysis.unconfined else confinement.sandbox.backend
        outcome = check_output(output, {"sandbox": backend, **report.to_meta()})
        if job_tampering:
            outcome.append(f"[handrail: a background job {tampering_text(job_tampering)}]")
        outcome.append(*report.remarks())
        return _tampering_outcome(outcome, repaired) if repaired else outcome

    async def _run_read(self, state: CallState, analysis: CommandAnalysis) -> Outcome:
        approved = state.clearance.binding is not None
        state.context.confinement = await self.confinement.for_reading(analysis, approved=approved)
        output = await self._run_tool(state)
        return check_output(output, {"sandbox": self.confinement.sandbox.backend, "undo": "full"})

    async def _run_tool(self, state: CallState) -> Output:
        await self.confinement.check_secrets(state, _analysis(state))
        if state.prepared.scope.writes_nothing and not _analysis(state).writes_nothing:
            return await self._run_on_copy(state)
        return await known_entry(state.prepared).tool.run(
            state.prepared.parsed.model, state.context
        )

    async def _run_on_copy(self, state: CallState) -> Output:
        """Run the program of an agent that must not change files: on a private copy of the
        workspace if possible, else with the workspace read-only.
        """
        async with self.confinement.private_roots(state) as note:
            output = await known_entry(state.prepared).tool.run(
                state.prepared.parsed.model, state.context
            )
        return output._replace(text=f"{output.text}\n[handrail: {note}]")

    def _start_tracking(self, state: CallState) -> None:
        tracker, snapshot = self.trackers.commands, state.effects.command_snapshot
        confinement = state.context.confinement
        if tracker is None or snapshot is None or confinement is None:
            return
        notes = tracker.start(snapshot)
        # A program that cannot change files of the workspace is not tracked.
        if not confinement.off and not state.prepared.scope.writes_nothing:
            state.context.confinement = confinement._replace(write_log=notes)

    async def _finish_tracking(
        self, state: CallState, analysis: CommandAnalysis, output: Output | None
    ) -> EffectsReport:
        """Add what the program changed to the result and the record."""
        trackers, snapshot = self.trackers, state.effects.command_snapshot
        if trackers.commands is None or snapshot is None:
            return EffectsReport(blind=True)
        confined, job = self.confinement.is_enforced(analysis), _started_job(output)
        if job is not None and trackers.jobs is not None:
            call = state.prepared.call
            return await trackers.jobs.follow(job, snapshot, call, confined=confined)
        others = self.protection.has_jobs
        report = await trackers.commands.end(snapshot, confined=confined, others=others)
        state.effects.changes = report.records()
        state.effects.recorded = report.to_record()
        return report

    async def settle_jobs(self, *, closing: bool = False) -> None:
        """Record what background jobs that ended have changed; with `closing`, what all others have
        changed so far too.
        """
        if self.trackers.jobs is not None:
            await self.trackers.jobs.settle(closing=closing)


@dataclass(frozen=True, slots=True)
class CommandExecutor:
    """Writes the intent of a command, runs it, and adds the warnings of the guardrails."""

    runner: CommandRunner
    recorder: Recorder
    timers: DeadlineTimer

    async def execute(self, state: CallState, plan: Plan | None) -> Outcome:
        """Run the command of the call."""
        prepared = state.prepared
        if not prepared.scope.reads_only:
            await state.prepared.principal.policy.check_leases(state, None)
            intent = {"runs": state.timer.tool, **await self.runner.begin(state)}
            await self.recorder.write_intent(state, intent)
        if prepared.entry is not None:
            self.timers.limit(state.timer, prepared.entry.tool.timeout_s)
        outcome = await self.runner.run(state)
        warnings = prepared.principal.policy.warnings(state, None)
        if warnings:
            outcome.append(*(f"[{one}]" for one in warnings))
        return outcome


def _analysis(state: CallState) -> CommandAnalysis:
    analysis = state.prepared.scope.footprint.command
    if analysis is None:
        raise ValueError(f"{state.timer.tool} runs no command")
    return analysis


def _started_job(output: Output | None) -> str | None:
    """Return the number of the background job that a call has started."""
    data = output.data if isinstance(output, Output) else None
    return data.get("job") if isinstance(data, Mapping) else None


def _leaves_steps(analysis: CommandAnalysis) -> bool:
    """Return whether a part of the command is a git command that may stop half-way."""
    return any(
        part.words[:1] == ("git",) and not _STEPWISE.isdisjoint(part.words)
        for part in analysis.parts
    )


def _makes_repository(analysis: CommandAnalysis) -> bool:
    """Return whether a part of the command is `git init` or `git clone`."""
    return any(
        part.words[:1] == ("git",) and _subcommand(part.words[1:]) in ("init", "clone")
        for part in analysis.parts
    )


def _subcommand(words: Sequence[str | None]) -> str | None:
    """Return the first word after git's own options; None if there is none, or it is computed."""
    rest = iter(words)
    for word in rest:
        if word is None or not word.startswith("-"):
            return word
        if word in _WITH_VALUE:
            next(rest, None)
    return None


def _tampering_outcome(outcome: Outcome, repaired: Sequence[NameRepair]) -> Outcome:
    problem = messages.COMMAND_TAMPERED.fill(what=tampering_text(repaired))
    outcome.status = Status.FAILED
    outcome.output = outcome.output._replace(problem=problem)
    outcome.append(f"[handrail: {problem.message}]")
    outcome.add_meta({"repaired": [one._asdict() for one in repaired]})
    return outcome
