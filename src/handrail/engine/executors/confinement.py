"""Determines what a program may reach, from the command, its approval and the denials; and restores
protected names after it.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.places import shown
from handrail.core.plan import Plan
from handrail.core.ports.processes import (
    Confinement,
    NameProtection,
    NameRepair,
    PrivateRoots,
    Sandbox,
    Strength,
)
from handrail.engine import messages
from handrail.engine.call_state import CallState
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.policy.denials.read_denials import ReadDenialEnforcer
from handrail.policy.denials.secret_exposure import SecretExposure, is_brief
from handrail.policy.denials.write_denials import WriteDenialEnforcer, protect_leased_paths

_log = logging.getLogger("handrail")
_MAX_LISTED = 10


class CommandPaths(NamedTuple):
    """The paths that matter to every command."""

    roots: tuple[str, ...]
    # Globs of protected names that the settings allow commands to change.
    allowed_protected: tuple[str, ...] = ()
    # Globs of protected names that an approved git command may create.
    repo_protected: tuple[str, ...] = ()
    # Handrail's own paths: never written by a command.
    runtime_paths: tuple[str, ...] = ()
    # Paths that no command sees.
    hidden: tuple[str, ...] = ()


@dataclass(slots=True)
class DenialEnforcers:
    """The services that enforce deny rules against programs; None if there is no such rule."""

    reads: ReadDenialEnforcer | None = None
    writes: WriteDenialEnforcer | None = None
    # Decides which programs may read secrets; None if any may.
    secrets: SecretExposure | None = None


@dataclass(frozen=True, slots=True)
class CommandConfinement:
    """Determines the confinement of each command of a session."""

    paths: CommandPaths
    sandbox: Sandbox
    # Returns whether something exists at an absolute path.
    exists: Callable[[str], bool]
    # Whether commands have network access without approval; otherwise the hosts that they can
    # reach.
    network: bool = False
    hosts: tuple[str, ...] = ()
    denials: DenialEnforcers = field(default_factory=DenialEnforcers)

    async def for_reading(self, analysis: CommandAnalysis, *, approved: bool) -> Confinement:
        """Return the confinement of a command that only reads: it can write nothing."""
        withheld = await self._withheld((), analysis, approved=approved)
        return self._confine((), (), withheld, network=False)

    async def for_server(self, analysis: CommandAnalysis, *, approved: bool) -> Confinement:
        """Return the confinement of a server: it reads, and sees no secrets. Raises `denied` if the
        sandbox cannot enforce a denial.
        """
        confinement = await self.for_reading(analysis, approved=approved)
        exposure = self.denials.secrets
        if exposure is None:
            return confinement
        return await run_in_thread_uncancellable(partial(exposure.hide, confinement))

    async def for_writing(
        self, state: CallState, analysis: CommandAnalysis, read_only: tuple[str, ...]
    ) -> Confinement:
        """Return the confinement of any other command; `read_only` are protected paths. Raises
        `denied` if the sandbox cannot enforce a denial.
        """
        approved = state.clearance.binding is not None
        if analysis.unconfined:
            confinement = Confinement(self.paths.roots, network=True, off=True)
        else:
            withheld = await self._withheld(self.paths.roots, analysis, approved=approved)
            # The approval of a command that needs the network includes network access, unless a
            # list says which hosts can be reached.
            needed = approved and analysis.effects.needs_network and not self.hosts
            network = self.network or needed
            confinement = self._confine(self.paths.roots, read_only, withheld, network=network)
            confinement = confinement._replace(hosts=self.hosts)
        if state.prepared.scope.writes_nothing:
            return self._deny_all_writes(confinement, state.prepared.call.agent)
        if self.denials.writes is not None:
            confinement = self.denials.writes.enforce(confinement, analysis, approved=approved)
        return protect_leased_paths(
            confinement,
            state.effects.foreign_leases,
            self.sandbox,
            self.paths.roots,
            self.exists,
        )

    @asynccontextmanager
    async def private_roots(self, state: CallState) -> AsyncIterator[str]:
        """While the block runs, show the program of a call that must not change files a private
        copy of the workspace. Yields a note on that for the caller.
        """
        confinement, made = state.context.confinement, list[PrivateRoots | str]()
        if confinement is None or state.prepared.footprint.starts_job:
            yield messages.WORKSPACE_READ_ONLY.format(reason="it runs on after its call")
            return

        def copy() -> None:
            made.append(self.sandbox.copy_roots(confinement))

        try:
            # The copy is completed even if the call is cancelled meanwhile.
            await run_in_thread_uncancellable(copy)
            if isinstance(made[0], str):
                yield messages.WORKSPACE_READ_ONLY.format(reason=made[0])
            else:
                state.context.confinement = confinement._replace(copies=made[0].copies)
                yield messages.RAN_ON_A_COPY
        finally:
            if made and not isinstance(made[0], str):
                await run_in_thread_uncancellable(made[0].close)

    def allowed_protected(self, analysis: CommandAnalysis, *, approved: bool) -> tuple[str, ...]:
        """Return the globs of protected names that the command may change: those of the settings
        and, if the user approved the command, the paths that it names.
        """
        paths = self.paths
        if not approved:
            return paths.allowed_protected
        named = tuple(
            path.removeprefix(f"{root}/").rstrip("/")
            for path in analysis.effects.writes
            for root in paths.roots
            if path.startswith(f"{root}/")
        )
        by_git = paths.repo_protected if analysis.effects.git else ()
        return (*paths.allowed_protected, *named, *by_git)

    async def check_secrets(self, state: CallState, analysis: CommandAnalysis) -> None:
        """Note in the session that a command may show secrets, before it runs; hide them from a
        program that must not see any.
        """
        session, confinement = state.context.session, state.context.confinement
        exposure = self.denials.secrets
        if exposure is None or confinement is None:
            session.note_secrets()
        elif analysis.sees_no_secrets:
            hide = partial(exposure.hide, confinement)
            state.context.confinement = await run_in_thread_uncancellable(hide)
        elif not session.secrets_shown:
            # Most commands are short and name the files that they read; starting a thread would
            # cost far more.
            shown = exposure.may_show_by_text(analysis) if is_brief(analysis) else None
            if shown is None:
                may_show = partial(exposure.may_show, analysis, confinement)
                shown = await run_in_thread_uncancellable(may_show)
            if shown:
                session.note_secrets()

    def is_enforced(self, analysis: CommandAnalysis) -> bool:
        """Return whether the sandbox keeps the command from writing outside the roots."""
        strength = Strength.ABSENT if analysis.unconfined else self.sandbox.measured["fs_write"]
        return strength in (Strength.ENFORCED, Strength.REPAIRED)

    def describe(self, analysis: CommandAnalysis) -> dict[str, object]:
        """Return the part of the intent that says how the command will be confined."""
        backend = "none" if analysis.unconfined else self.sandbox.backend
        measured = {} if analysis.unconfined else {**self.sandbox.measured}
        return {
            "class": analysis.safety_class.word,
            "effects": analysis.effects.to_dict(),
            "sandbox": {"backend": backend, "measured": measured},
        }

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Return whether the command cannot read paths with a read denial."""
        return self.denials.reads is not None and self.denials.reads.hides(analysis)

    def unwritable(self, analysis: CommandAnalysis) -> frozenset[str] | None:
        """Return the paths with an enforced write denial; None if no denial can be enforced."""
        writes = self.denials.writes
        return frozenset() if writes is None else writes.read_only_paths(analysis)

    def absent(self, analysis: CommandAnalysis) -> frozenset[str]:
        """Return the paths that would have an enforced write denial if they existed."""
        writes = self.denials.writes
        return frozenset() if writes is None else writes.missing_paths(analysis)

    async def _withheld(
        self, writable: tuple[str, ...], analysis: CommandAnalysis, *, approved: bool
    ) -> tuple[str, ...]:
        """Return the paths with a read denial, which are hidden from the program."""
        enforcer = self.denials.reads
        if enforcer is None or analysis.unconfined:
            return ()
        confinement = self._confine(writable, (), (), network=False)
        return await run_in_thread_uncancellable(
            lambda: enforcer.hidden_paths(confinement, analysis, approved=approved)
        )

    def _deny_all_writes(self, confinement: Confinement, agent: str) -> Confinement:
        """Make nothing writable. Raises `denied` if the sandbox cannot prevent writes."""
        if confinement.off or self.sandbox.measured["fs_write"] is Strength.ABSENT:
            raise messages.AGENT_CANNOT_BE_CONFINED.error(agent=agent)
        return confinement._replace(writable=())

    def _confine(
        self,
        writable: tuple[str, ...],
        read_only: tuple[str, ...],
        withheld: tuple[str, ...],
        *,
        network: bool,
    ) -> Confinement:
        paths = self.paths
        held = (*read_only, *paths.runtime_paths)
        return Confinement(writable, held, paths.hidden, network, denied_reads=withheld)


class ProtectedNamesGuard:
    """Restores protected names that commands change. A background job continues after its call, so
    its changes are repaired before the next command.
    """

    def __init__(self, guarded: NameProtection) -> None:
        self.guarded = guarded
        # Whether background jobs may be running.
        self.has_jobs = False
        # The snapshot that jobs are compared with; None if there is nothing to compare.
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
        could not change; logs the changes as made by `who`, if given.
        """
        repaired = await run_in_thread_uncancellable(
            lambda: self.guarded.repair(snapshot, held=held)
        )
        if repaired and who is not None:
            _log.warning("%s %s", who, tampering_text(repaired))
        return repaired

    def watch_jobs(self, baseline: Any, *, started: bool) -> None:
        """Compare with this snapshot from now on; `started` says that a job was started."""
        self.has_jobs = self.has_jobs or started
        self._job_baseline = baseline

    async def repair_after_jobs(self) -> None:
        """Restore what background jobs have changed since the last command."""
        baseline, self._job_baseline = self._job_baseline, None
        if baseline is not None:
            repaired = await self.repair(baseline, "a background job")
            self._unreported = (*self._unreported, *repaired)

    def pop_job_tampering(self) -> tuple[NameRepair, ...]:
        """Return the repairs after jobs that were not reported yet."""
        found, self._unreported = self._unreported, ()
        return found

    def accept_plan(self, plan: Plan) -> None:
        """Accept the changes of a committed plan: they were allowed, and no job made them."""
        if self._job_baseline is not None:
            for change in plan.changes:
                self.guarded.leave(self._job_baseline, change.place.absolute)


def tampering_text(repaired: Sequence[NameRepair]) -> str:
    """Return what a command did to protected names, and how far it was repaired."""
    listed = ", ".join(_describe(one) for one in repaired[:_MAX_LISTED])
    more = f" and {len(repaired) - _MAX_LISTED} more" if len(repaired) > _MAX_LISTED else ""
    return f"changed protected names, which were put back: {listed}{more}"


def _describe(one: NameRepair) -> str:
    partly = "" if one.restored else ", NOT restored in full"
    kept = f", its version kept as {one.kept}" if one.kept else ""
    return f"{shown(one.path)} ({one.what}{partly}{kept})"
