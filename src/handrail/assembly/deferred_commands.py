"""The command subsystem of a runtime: built when a call first runs a command, because a session
that only reads and edits needs no shell analyzer, sandbox or supervisor.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

from handrail.config.model import Settings
from handrail.core.lazy import Lazy
from handrail.core.plan import Plan
from handrail.host.files.local_files import LocalFiles
from handrail.host.processes.binaries import find_binary
from handrail.host.state.state_paths import StatePaths

if TYPE_CHECKING:
    from handrail.assembly.commands import CommandParts
    from handrail.core.commands import CommandAnalysis, CommandAnalyzer
    from handrail.core.ports.snapshots import SnapshotLimits
    from handrail.host.supervisor.client import SupervisedProcesses

# The directories in which the shell is looked for.
SHELL_PATH: Final = "/usr/bin:/bin:/usr/local/bin"


class Places(NamedTuple):
    """The paths of a runtime: its state, its roots, the paths that belong to Handrail (`own`), hidden
    paths, and the environment in which it was opened.
    """

    home: StatePaths
    files: LocalFiles
    own: tuple[str, ...]
    hidden: tuple[str, ...]
    environment: Mapping[str, str]


class Commands:
    """Runs commands for a runtime. Nothing is built before `parts` is used; `configure` adds steps that
    complete the parts when they are built.
    """

    def __init__(self, build: Callable[[], CommandParts]) -> None:
        self._build = build
        self._steps: list[Callable[[CommandParts], None]] = []
        self._parts = Lazy(self._complete)
        # Whether a call has run a command.
        self.in_use = False
        self._last: list[Callable[[], None]] = []

    def configure(self, step: Callable[[CommandParts], None]) -> None:
        """Call `step` with the parts when they are built, or now if they are already built."""
        self._steps.append(step)
        if self._parts.built is not None:
            step(self._parts.built)

    @property
    def parts(self) -> CommandParts:
        """The parts; built on first use."""
        return self._parts.value

    @property
    def analyzer(self) -> CommandAnalyzer:
        """Analyzes commands."""
        return self.parts.analyzer

    def processes(self) -> SupervisedProcesses:
        """Runs programs and background jobs."""
        return self.parts.processes

    def spill_directory(self) -> str:
        """The directory for the full text of long output."""
        return self.parts.processes.spill_directory()

    def hides(self, analysis: CommandAnalysis) -> bool:
        """Whether the command cannot read paths that rules deny."""
        return self.parts.runner.confinement.hides(analysis)

    def unwritable(self, analysis: CommandAnalysis) -> frozenset[str] | None:
        """The denied paths that the command cannot write; None: it can write nothing."""
        return self.parts.runner.confinement.unwritable(analysis)

    def absent(self, analysis: CommandAnalysis) -> frozenset[str]:
        """The denied paths that would be read-only if they existed."""
        return self.parts.runner.confinement.absent(analysis)

    def unenforced(self) -> tuple[str, ...]:
        """The sandbox properties that are missing for commands to run without approval."""
        return self.parts.unenforced()

    def accept_plan(self, plan: Plan) -> None:
        """Accept the changes of a committed plan to protected names, so that they are not attributed to a
        job.
        """
        if self._parts.built is not None:
            self._parts.built.runner.protection.accept_plan(plan)

    async def settle_jobs(self) -> None:
        """Record the changes of background jobs that have ended."""
        if self._parts.built is not None:
            await self._parts.built.runner.settle_jobs()

    def close_last(self, close: Callable[[], None]) -> None:
        """Call `close` after all programs have ended."""
        self._last.append(close)

    async def aclose(self) -> None:
        """End all programs and close the parts."""
        try:
            if self._parts.built is not None:
                await self._parts.built.aclose()
        finally:
            for close in self._last:
                close()

    def _complete(self) -> CommandParts:
        parts = self._build()
        for step in self._steps:
            step(parts)
        self.in_use = True
        return parts


def find_shell(roots: Sequence[str]) -> str | None:
    """The shell that runs commands; None if there is no trusted one."""
    return find_binary("bash", roots, search_path=SHELL_PATH)


def open_commands(places: Places, settings: Settings) -> Commands | None:
    """The command subsystem; None if there is no shell."""
    program = find_shell(places.files.roots)
    if program is None:
        return None

    def build() -> CommandParts:
        from handrail.assembly.commands import open_command_parts

        return open_command_parts(places, settings, program)

    return Commands(build)


def snapshot_limits(settings: Settings) -> SnapshotLimits:
    """The limits of the snapshot before a command."""
    from handrail.core.ports.snapshots import SnapshotLimits

    return SnapshotLimits(
        settings.shadow_files, settings.shadow_mb << 20, settings.shadow_file_mb << 20
    )
