"""Running a program for a call: what it may reach follows from the verdict, and protected
names are as they were when it has ended, however it ended.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.commands import CommandAnalysis, CommandClass
from handrail.core.context import ToolContext
from handrail.core.footprint import Access, Footprint
from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.processes import Confinement, Guarded, Repaired, Sandbox, Strength
from handrail.core.results import Output, Status
from handrail.engine.call_state import CallState, Outcome
from handrail.engine.executors.command_effects import CommandEffects
from handrail.engine.executors.job_effects import JobEffects
from handrail.engine.timing.threads import run_in_thread_uncancellable
from handrail.history.command_effects.effects_report import EffectsReport
from handrail.policy.denials.read_enforcer import ReadDenialEnforcer
from handrail.policy.denials.read_only_paths import protect_leased_paths
from handrail.policy.denials.write_denials import WriteDenialEnforcer

_log = logging.getLogger("handrail")
# git commands that leave the steps still to be done in the repository.
_STEPWISE: Final = frozenset(
    {"rebase", "am", "cherry-pick", "revert", "bisect", "pull", "merge", "submodule"}
)
# git's own options whose value is the next word.
_WITH_VALUE: Final = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


@dataclass(slots=True)
class CommandRunner:
    """Runs the programs of one session.

    `lifted` are globs of protected names that the person allows, `worktree` those that a git
    command may bring once it was approved. `own` and `hidden` are Handrail's places: never
    written, and never seen. `withholding` None: every file in the roots may be read; `holding`
    None: no rule closes one to writing.
    """

    roots: tuple[str, ...]
    sandbox: Sandbox
    guarded: Guarded
    lifted: tuple[str, ...] = ()
    worktree: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    withholding: ReadDenialEnforcer | None = None
    holding: WriteDenialEnforcer | None = None
    # What keeps track of what they and background jobs change; None: nothing of it is kept.
    effects: CommandEffects | None = None
    job_effects: JobEffects | None = None
    # Whether jobs may be running, and how the protected names were when last looked at.
    _jobs: bool = False
    _baseline: Any = None
    _planted: tuple[Repaired, ...] = ()

    def describe(self, analysis: CommandAnalysis) -> dict[str, Any]:
        """For the record of a call that is about to run: what will hold the program."""
        backend = "none" if analysis.unconfined else self.sandbox.backend
        held = {} if analysis.unconfined else {**self.sandbox.measured}
        return {
            "class": analysis.safety_class.word,
            "effects": analysis.effects.to_dict(),
            "sandbox": {"backend": backend, "measured": held},
        }

    async def begin(self, state: CallState) -> dict[str, Any]:
        """The same for one that is about to change something, with all that it may change
        looked at first.
        """
        analysis = state.prepared.footprint.command
        if analysis is None:
            raise ValueError(f"{state.prepared.name} runs no command")
        described = self.describe(analysis)
        if self.effects is None:
            return described
        self._planted = (*self._planted, *await self.mend_jobs())
        await self.settle_jobs()
        footprint = state.prepared.footprint
        state.effects.command_snapshot = await self.effects.begin(footprint, others=self._jobs)
        if state.effects.command_snapshot is None:
            return described
        return {**described, **self.effects.describe(state.effects.command_snapshot)}

    async def run(self, state: CallState) -> Outcome:
        """Run the call's tool with the confinement that its verdict allows."""
        prepared, context = state.prepared, state.context
        analysis = prepared.footprint.command
        if analysis is None:
            raise ValueError(f"{prepared.name} runs no command")
        approved = state.clearance.binding is not None
        if analysis.safety_class is CommandClass.SAFE and not analysis.unconfined:
            # It only looks, and here nothing else is possible.
            withheld = await self._withheld((), analysis, approved=approved)
            context.confinement = self._confinement((), (), withheld, network=False)
            outcome = Outcome.from_output(await prepared.tool.run(prepared.args, context))
            outcome.add_meta({"sandbox": self.sandbox.backend, "undo": "full"})
            return outcome
        planted, self._planted = (*self._planted, *await self.mend_jobs()), ()
        withheld = await self._withheld(self.roots, analysis, approved=approved)
        snapshot = await self._take(
            self._lifted(analysis, approved),
            git_writable=analysis.effects.git,
            sequences=analysis.effects.git and _leaves_steps(analysis),
            repositories=approved and _makes_repository(analysis),
        )
        allowed = self._for(analysis, snapshot, withheld, approved=approved)
        if prepared.scope.writes_nothing:
            context.confinement = self._unable_to_write(allowed, prepared.call.agent)
        else:
            if self.holding is not None:
                allowed = self.holding.enforce(allowed, analysis, approved=approved)
            context.confinement = protect_leased_paths(
                allowed, state.effects.foreign_leases, self.sandbox, self.roots, os.path.lexists
            )
        held = self.sandbox.held(context.confinement)
        # Looked at before the job begins: what it plants at once must not pass for what was there.
        # Only what a person has just allowed a command to change counts as it is afterwards.
        starts = starts_job(prepared.footprint)
        named = self._lifted(analysis, approved) if starts else self.lifted
        baseline = await self._watched(named) if starts or self._jobs else None
        repaired: list[Repaired] = []
        report, output = EffectsReport(blind=True), None
        self._start(state, context)
        try:
            output = await prepared.tool.run(prepared.args, context)
        finally:
            await run_in_thread_uncancellable(
                lambda: repaired.extend(self.guarded.repair(snapshot, held=held))
            )
            _warn(prepared.name, repaired)
            report = await self._look_after(state, analysis, output)
            # A job goes on after its call; what it does is mended before the next command.
            self._jobs = self._jobs or starts
            if self._jobs and approved and not starts:
                baseline = await self._watched(self.lifted)
            self._baseline = baseline
        outcome = Outcome.from_output(output)
        outcome.add_meta({"sandbox": self.sandbox.backend, **report.to_meta()})
        if planted:
            outcome.append(f"[handrail: a background job {_changed(planted)}]")
        outcome.append(*report.remarks())
        return _tampered(outcome, repaired) if repaired else outcome

    async def _watched(self, lifted: Sequence[str]) -> Any:
        """How the protected names are that background jobs must leave alone."""
        return await self._take(lifted, git_writable=True, sequences=True)

    def _start(self, state: CallState, context: ToolContext) -> None:
        if (
            self.effects is None
            or state.effects.command_snapshot is None
            or context.confinement is None
        ):
            return
        notes = self.effects.start(state.effects.command_snapshot)
        if not context.confinement.off:
            context.confinement = context.confinement._replace(notes=notes)

    async def _look_after(
        self, state: CallState, analysis: CommandAnalysis, output: Output | None
    ) -> EffectsReport:
        """What the program changed, for its result and its record."""
        tracked, job = state.effects.command_snapshot, _job_of(output)
        if self.effects is None or tracked is None:
            return EffectsReport(blind=True)
        strength = Strength.ABSENT if analysis.unconfined else self.sandbox.measured["fs_write"]
        confined = strength in (Strength.ENFORCED, Strength.REPAIRED)
        if job is not None and self.job_effects is not None:
            call = state.prepared.call
            return await self.job_effects.follow(job, tracked, call, confined=confined)
        report = await self.effects.end(tracked, confined=confined, others=self._jobs)
        state.effects.changes = report.records()
        state.effects.recorded = report.to_record()
        return report

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Whether the command will not be able to read what no call may read."""
        return self.withholding is not None and self.withholding.hides(analysis)

    def unwritable(self, analysis: CommandAnalysis) -> frozenset[str] | None:
        """Which paths the command will not be able to change; None: none at all."""
        return frozenset() if self.holding is None else self.holding.read_only_paths(analysis)

    def absent(self, analysis: CommandAnalysis) -> frozenset[str]:
        """Which paths would be among them if they existed."""
        return frozenset() if self.holding is None else self.holding.missing_paths(analysis)

    async def settle_jobs(self, *, closing: bool = False) -> None:
        """Record what background jobs that are over have changed, and on `closing` the others."""
        if self.job_effects is not None:
            await self.job_effects.settle(closing=closing)

    async def mend_jobs(self) -> Sequence[Repaired]:
        """Put back what background jobs have changed of the protected names meanwhile."""
        baseline, self._baseline = self._baseline, None
        if baseline is None:
            return ()
        repaired: list[Repaired] = []
        await run_in_thread_uncancellable(lambda: repaired.extend(self.guarded.repair(baseline)))
        _warn("a background job", repaired)
        return repaired

    def changed(self, plan: Plan) -> None:
        """A plan was carried out: what it changed was allowed, and no job's doing."""
        if self._baseline is not None:
            for change in plan.changes:
                self.guarded.leave(self._baseline, change.place.absolute)

    def _lifted(self, analysis: CommandAnalysis, approved: bool) -> tuple[str, ...]:
        """What a person allowed: by a setting, or by saying yes to a command that names it."""
        if not approved:
            return self.lifted
        named = tuple(
            path.removeprefix(f"{root}/").rstrip("/")
            for path in analysis.effects.writes
            for root in self.roots
            if path.startswith(f"{root}/")
        )
        return (*self.lifted, *named, *(self.worktree if analysis.effects.git else ()))

    async def _take(
        self,
        lifted: Sequence[str],
        *,
        git_writable: bool,
        sequences: bool,
        repositories: bool = False,
    ) -> Any:
        taken: list[Any] = []

        def take() -> None:
            taken.append(
                self.guarded.take(
                    lifted=lifted,
                    git_writable=git_writable,
                    sequences=sequences,
                    repositories=repositories,
                )
            )

        await run_in_thread_uncancellable(take)
        return taken[0]

    async def _withheld(
        self, writable: tuple[str, ...], analysis: CommandAnalysis, *, approved: bool
    ) -> tuple[str, ...]:
        """What no call may read, so that it is hidden from the program."""
        if self.withholding is None or analysis.unconfined:
            return ()
        confinement = self._confinement(writable, (), (), network=False)
        enforcer, found = self.withholding, list[tuple[str, ...]]()
        await run_in_thread_uncancellable(
            lambda: found.append(enforcer.hidden_paths(confinement, analysis, approved=approved))
        )
        return found[0]

    def _for(
        self, analysis: CommandAnalysis, snapshot: Any, withheld: tuple[str, ...], *, approved: bool
    ) -> Confinement:
        if analysis.unconfined:
            return Confinement(self.roots, network=True, off=True)
        # A person who said yes to a command was told that it is given the network.
        network = self.network or (approved and analysis.effects.needs_network)
        read_only = self.guarded.read_only(snapshot)
        return self._confinement(self.roots, read_only, withheld, network=network)

    def _unable_to_write(self, confinement: Confinement, agent: str) -> Confinement:
        """The confinement of a program that may not change any file; raises `denied` where the
        sandbox cannot keep it from that.
        """
        if confinement.off or self.sandbox.measured["fs_write"] is Strength.ABSENT:
            raise ProblemRaised(
                "denied",
                f"the agent {agent!r} may not change files, and nothing here keeps the command "
                "from that (see `handrail doctor`)",
                hint="only look, and say what should be run",
            )
        return confinement._replace(writable=())

    def _confinement(
        self,
        writable: tuple[str, ...],
        read_only: tuple[str, ...],
        withheld: tuple[str, ...],
        *,
        network: bool,
    ) -> Confinement:
        held = (*read_only, *self.own)
        return Confinement(writable, held, self.hidden, network, withheld=withheld)


def _job_of(output: Output | None) -> str | None:
    """The number of the background job that a call has started."""
    data = output.data if isinstance(output, Output) else None
    return data.get("job") if isinstance(data, Mapping) else None


def _leaves_steps(analysis: CommandAnalysis) -> bool:
    """Whether a part of it is a git command that may stop half-way and be continued."""
    return any(
        part.words[:1] == ("git",) and not _STEPWISE.isdisjoint(part.words)
        for part in analysis.parts
    )


def _makes_repository(analysis: CommandAnalysis) -> bool:
    """Whether a part of it is `git init` or `git clone`, with git's own options before it or not."""
    return any(
        part.words[:1] == ("git",) and _subcommand(part.words[1:]) in ("init", "clone")
        for part in analysis.parts
    )


def _subcommand(words: Sequence[str | None]) -> str | None:
    """The first word after git's own options; None if there is none, or it is computed."""
    rest = iter(words)
    for word in rest:
        if word is None or not word.startswith("-"):
            return word
        if word in _WITH_VALUE:
            next(rest, None)
    return None


def starts_job(footprint: Footprint) -> bool:
    """Whether a call leaves a program running in the background."""
    return any(
        touch.key == "session:jobs" and touch.access is Access.WRITE for touch in footprint.touches
    )


def _tampered(outcome: Outcome, repaired: Sequence[Repaired]) -> Outcome:
    problem = Problem(
        "tampered",
        f"the command {_changed(repaired)}",
        hint="a person may allow them with allow_protected, or approve a command that names them",
    )
    outcome.status = Status.FAILED
    outcome.output = outcome.output._replace(problem=problem)
    outcome.append(f"[handrail: {problem.message}]")
    outcome.add_meta({"repaired": [one._asdict() for one in repaired]})
    return outcome


def _changed(repaired: Sequence[Repaired]) -> str:
    names = [_told(one) for one in repaired if one.what != "unchecked"]
    folders = [shown(one.path) for one in repaired if one.what == "unchecked"]
    parts = []
    if names:
        parts.append(f"changed protected names, which were put back: {_first_ten(names)}")
    if folders:
        parts.append(f"made too many folders to look for such names in all: {_first_ten(folders)}")
    return "; and ".join(parts)


def _first_ten(words: Sequence[str]) -> str:
    more = f" and {len(words) - 10} more" if len(words) > 10 else ""
    return f"{', '.join(words[:10])}{more}"


def _told(one: Repaired) -> str:
    partly = "" if one.restored else ", NOT restored in full"
    kept = f", its version kept as {one.kept}" if one.kept else ""
    return f"{shown(one.path)} ({one.what}{partly}{kept})"


def _warn(who: str, repaired: Sequence[Repaired]) -> None:
    if repaired:
        _log.warning("%s %s", who, _changed(repaired))
