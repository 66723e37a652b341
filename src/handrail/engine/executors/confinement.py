"""What a program may reach: worked out from the command, its approval and the denials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

from handrail.core.commands import CommandAnalysis
from handrail.core.ports.processes import Confinement, Sandbox, Strength
from handrail.engine import messages
from handrail.engine.call_state import CallState
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.policy.denials.read_denials import ReadDenialEnforcer
from handrail.policy.denials.read_only_paths import protect_leased_paths
from handrail.policy.denials.write_denials import WriteDenialEnforcer


class CommandPaths(NamedTuple):
    """The paths that matter to every command."""

    roots: tuple[str, ...]
    # Globs of protected names that the settings allow commands to change.
    allowed_protected: tuple[str, ...] = ()
    # Globs of protected names that an approved git command may bring.
    repo_protected: tuple[str, ...] = ()
    # Handrail's own paths: never written by a command.
    runtime_paths: tuple[str, ...] = ()
    # Paths that no command sees.
    hidden: tuple[str, ...] = ()


@dataclass(slots=True)
class DenialEnforcers:
    """What enforces deny rules against programs; None: there is no such rule."""

    reads: ReadDenialEnforcer | None = None
    writes: WriteDenialEnforcer | None = None


@dataclass(frozen=True, slots=True)
class CommandConfinement:
    """Works out the confinement of each command of a session."""

    paths: CommandPaths
    sandbox: Sandbox
    # Whether something stands at an absolute path.
    exists: Callable[[str], bool]
    # Whether commands have network access without approval; else the hosts that they reach.
    network: bool = False
    hosts: tuple[str, ...] = ()
    denials: DenialEnforcers = field(default_factory=DenialEnforcers)

    async def for_reading(self, analysis: CommandAnalysis, *, approved: bool) -> Confinement:
        """The confinement of a command that only reads: it can write nothing."""
        withheld = await self._withheld((), analysis, approved=approved)
        return self._confine((), (), withheld, network=False)

    async def for_writing(
        self, state: CallState, analysis: CommandAnalysis, read_only: tuple[str, ...]
    ) -> Confinement:
        """The confinement of any other command; `read_only` are protected paths. Raises `denied`
        if the sandbox cannot enforce a denial.
        """
        approved = state.clearance.binding is not None
        if analysis.unconfined:
            confinement = Confinement(self.paths.roots, network=True, off=True)
        else:
            withheld = await self._withheld(self.paths.roots, analysis, approved=approved)
            # Approving a command that needs the network includes network access, unless a list
            # says which hosts can be reached.
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

    def allowed_protected(self, analysis: CommandAnalysis, *, approved: bool) -> tuple[str, ...]:
        """Globs of protected names that the command may change: by the settings, and if the user
        approved it, also the paths that it names.
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

    def is_enforced(self, analysis: CommandAnalysis) -> bool:
        """Whether the sandbox keeps the command from writing outside of the roots."""
        strength = Strength.ABSENT if analysis.unconfined else self.sandbox.measured["fs_write"]
        return strength in (Strength.ENFORCED, Strength.REPAIRED)

    def describe(self, analysis: CommandAnalysis) -> dict[str, object]:
        """The part of the intent that says how the command will be confined."""
        backend = "none" if analysis.unconfined else self.sandbox.backend
        measured = {} if analysis.unconfined else {**self.sandbox.measured}
        return {
            "class": analysis.safety_class.word,
            "effects": analysis.effects.to_dict(),
            "sandbox": {"backend": backend, "measured": measured},
        }

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Whether the command cannot read what rules deny to read."""
        return self.denials.reads is not None and self.denials.reads.hides(analysis)

    def unwritable(self, analysis: CommandAnalysis) -> frozenset[str] | None:
        """The paths with a write denial that the command cannot change; None: none can be
        enforced.
        """
        writes = self.denials.writes
        return frozenset() if writes is None else writes.read_only_paths(analysis)

    def absent(self, analysis: CommandAnalysis) -> frozenset[str]:
        """The paths that would be among the unwritable ones if they existed."""
        writes = self.denials.writes
        return frozenset() if writes is None else writes.missing_paths(analysis)

    async def _withheld(
        self, writable: tuple[str, ...], analysis: CommandAnalysis, *, approved: bool
    ) -> tuple[str, ...]:
        """The paths with a read denial, which are hidden from the program."""
        enforcer = self.denials.reads
        if enforcer is None or analysis.unconfined:
            return ()
        confinement = self._confine(writable, (), (), network=False)
        return await run_in_thread_uncancellable(
            lambda: enforcer.hidden_paths(confinement, analysis, approved=approved)
        )

    def _deny_all_writes(self, confinement: Confinement, agent: str) -> Confinement:
        """Raises `denied` if the sandbox cannot keep a program from writing."""
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
        return Confinement(writable, held, paths.hidden, network, withheld=withheld)
