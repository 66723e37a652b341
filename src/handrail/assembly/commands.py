"""Builds the parts that run commands: parser, analyzer, sandbox, supervisor, guards.

Only a call that runs a command needs this module; see `deferred_commands`.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from handrail.assembly.deferred_commands import SHELL_PATH, Places
from handrail.config.model import Settings
from handrail.core.commands import CommandAnalyzer, ExecutionContext, ShellParser
from handrail.core.context import WorkingDirectory
from handrail.core.names.protected_names import COMMAND_NAMES, COMMAND_PROTECTED_NAMES, row_globs
from handrail.core.names.protected_table import EXECUTED, OBEYED
from handrail.core.ports.processes import NameRepair
from handrail.core.problems import ProblemRaised
from handrail.dialects.known import find_vocabulary
from handrail.engine.executors.command_runner import CommandRunner
from handrail.engine.executors.confinement import (
    CommandConfinement,
    CommandPaths,
    ProtectedNamesGuard,
)
from handrail.host.denials.sensitive_files import SensitiveFileFinder
from handrail.host.files.root_identity import RootedPaths, RootHandle
from handrail.host.processes.binaries import find_binary
from handrail.host.processes.command_programs import find_program, resolve
from handrail.host.processes.helpers.bundled import find_helper
from handrail.host.processes.shfmt import Shfmt
from handrail.host.repository_files import read_git_configs
from handrail.host.sandbox.local_sandbox import LocalSandbox, open_sandbox
from handrail.host.sandbox.protected.baseline import ProtectedBaseline
from handrail.host.sandbox.protected.guard import ProtectedState, read_only_paths
from handrail.host.state.state_paths import StatePaths, find_state_paths
from handrail.host.supervisor.client import SupervisedProcesses
from handrail.policy.command_guard import (
    CommandGuard,
    SandboxGuard,
    unenforced_properties,
)
from handrail.policy.confinement import sandbox_hides_processes
from handrail.policy.denials.secret_exposure import SecretExposure
from handrail.policy.modes import Mode, parse_mode
from handrail.policy.protected_names import Guard, protected_reason
from handrail.shell.analyzer import ShellCommandAnalyzer
from handrail.shell.classify.environment import child_environment
from handrail.shell.classify.git import git_config_is_safe, git_environment
from handrail.shell.tables.program_table import load_programs
from handrail.tools._lib.services import Shell


@dataclass(frozen=True, slots=True)
class CommandParts:
    """The parts that run commands; `ends` closes their resources."""

    analyzer: CommandAnalyzer
    shell_in: Callable[[WorkingDirectory], Shell]
    processes: SupervisedProcesses
    runner: CommandRunner
    sandbox: LocalSandbox
    guards: tuple[Guard, ...]
    accepts_none: bool
    ends: AsyncExitStack
    # The environment of every program.
    environment: Mapping[str, str]

    def unenforced(self) -> tuple[str, ...]:
        """The sandbox properties that are missing for commands to run without approval."""
        return () if self.accepts_none else unenforced_properties(self.sandbox.measured)

    async def aclose(self) -> None:
        """End all programs, and revert changes of jobs to protected names."""
        async with self.ends:
            await self.processes.aclose()
            await self.runner.protection.repair_after_jobs()
            await self.runner.settle_jobs(closing=True)
            if self.runner.trackers.commands is not None:
                self.runner.trackers.commands.close()


class _RootsProtection:
    """Implements `NameProtection` for one set of roots."""

    def __init__(self, state: ProtectedState, tops: Sequence[RootHandle]) -> None:
        self._state = state
        self._tops = tuple(tops)

    def take(
        self,
        *,
        lifted: Sequence[str],
        git_writable: bool,
        sequences: bool,
        repositories: bool = False,
    ) -> ProtectedBaseline:
        """Take a snapshot of the protected names."""
        return self._state.take(
            self._tops,
            lifted=lifted,
            git_writable=git_writable,
            sequences=sequences,
            repositories=repositories,
        )

    def read_only(self, snapshot: ProtectedBaseline) -> tuple[str, ...]:
        """The names that exist and must not be changed."""
        return read_only_paths(snapshot)

    def repair(
        self, snapshot: ProtectedBaseline, *, held: Sequence[str] = ()
    ) -> Sequence[NameRepair]:
        """Restore the names that have changed, except below `held`."""
        return [NameRepair(*one) for one in self._state.repair(snapshot, held=held)]

    def leave(self, snapshot: ProtectedBaseline, path: str) -> None:
        """Record that another call was allowed to change this path since the snapshot."""
        snapshot.leave(path)


def _open_exposure(
    places: Places, handles: Sequence[RootHandle], sandbox: LocalSandbox
) -> SecretExposure:
    roots = places.files.roots
    finder = SensitiveFileFinder(roots, places.hidden, RootedPaths(handles))
    return SecretExposure(finder.find, roots, sandbox)


def open_command_parts(places: Places, settings: Settings, program: str) -> CommandParts:
    """The parts that run commands with the shell `program`."""
    roots, home, ends = places.files.roots, places.home, AsyncExitStack()
    sandbox = sandbox_for(roots, places.hidden, settings, home, places.files.aliases)
    ends.callback(sandbox.close)
    environment = child_environment(places.environment, roots)
    handles = [RootHandle(path, places.files.handle(at)) for at, path in enumerate(roots)]
    processes = SupervisedProcesses(
        sandbox.recipe,
        home.directory,
        spill=home.oversized,
        memory_mb=settings.memory_mb or 0,
        roots=handles,
    )
    guarded = _guarded(places, ends, obeyed=parse_mode(settings.mode) is not Mode.BYPASS)
    paths = CommandPaths(roots, settings.allow_protected, _beside_git(), places.own, places.hidden)
    confinement = CommandConfinement(paths, sandbox, os.path.lexists, *_network(settings))
    confinement.denials.secrets = _open_exposure(places, handles, sandbox)
    runner = CommandRunner(confinement, ProtectedNamesGuard(guarded))
    parser = Shfmt(find_helper("shfmt", roots).path, ahead=True)
    ends.callback(parser.close)
    analyzer = command_analyzer(
        roots,
        settings,
        parser,
        places.environment,
        hides_processes=lambda: sandbox_hides_processes(sandbox.measured),
    )
    dialect = find_vocabulary(settings.dialect).dialect
    shell_in = partial(
        Shell,
        analyzer,
        processes,
        sandbox,
        environment=environment,
        tame=git_environment(),
        program=program,
        find=lambda name: find_program(name, environment["PATH"]),
        max_output_lines=settings.max_output_lines or dialect.output_lines,
        timeout_s=settings.command_timeout_s or dialect.command_timeout_s,
        keep_jobs=settings.keep_jobs,
        small=find_binary("dash", roots, search_path=SHELL_PATH),
        network=settings.network,
    )
    return CommandParts(
        analyzer,
        shell_in,
        processes,
        runner,
        sandbox,
        _guards(settings, sandbox),
        settings.accept_no_sandbox,
        ends,
        environment,
    )


def _guards(settings: Settings, sandbox: LocalSandbox) -> tuple[CommandGuard, SandboxGuard]:
    return (
        CommandGuard(
            settings.command_policy, settings.allowed_commands, allowed_only=settings.allowed_only
        ),
        SandboxGuard(settings.sandbox_require, lambda: sandbox.measured),
    )


def command_analyzer(
    roots: Sequence[str],
    settings: Settings,
    parser: ShellParser | None = None,
    environ: Mapping[str, str] = os.environ,
    *,
    hides_processes: Callable[[], bool] | None = None,
) -> CommandAnalyzer:
    """The analyzer of commands in these roots; raises ValueError for an invalid setting `programs`.
    `hides_processes` returns whether commands cannot see other processes; by default the sandbox of the
    roots determines it.
    """
    environment = child_environment(environ, roots)
    return ShellCommandAnalyzer(
        Shfmt(find_helper("shfmt", roots).path) if parser is None else parser,
        partial(
            ExecutionContext,
            roots=tuple(roots),
            home=environment.get("HOME", "/"),
            find_program=partial(find_program, search_path=environment["PATH"]),
            resolve=resolve,
            hides_processes=hides_processes or partial(_processes_hidden, roots, settings),
        ),
        load_programs(settings.programs),
        blocked=settings.blocked_commands,
        protected=protected_reason,
        git_is_safe=_git_is_safe,
    )


def _network(settings: Settings) -> tuple[bool, tuple[str, ...]]:
    """Whether commands have full network access, and otherwise the hosts that they may reach."""
    given = settings.network
    return (given, ()) if isinstance(given, bool) else (False, given)


def sandbox_for(
    roots: Sequence[str],
    hidden: Sequence[str],
    settings: Settings,
    home: StatePaths,
    aliases: Sequence[tuple[str, str]] = (),
) -> LocalSandbox:
    """The sandbox for commands in these roots; it is measured when it is first used."""
    return open_sandbox(
        roots,
        hidden,
        backend=settings.sandbox,
        memory_limited=settings.memory_mb is not None,
        cache=home.directory,
        # A job that outlives the runtime needs its /tmp.
        temporary=home.directory / "tmp" if settings.keep_jobs and home.directory else None,
        aliases=aliases,
    )


def open_background_jobs(home: StatePaths) -> SupervisedProcesses:
    """The background jobs of a workspace, for listing and ending them; nothing can be started."""

    def refuse(*_: object) -> None:
        raise ProblemRaised("unavailable", "nothing can be started here")

    return SupervisedProcesses(refuse, home.directory)  # type: ignore[arg-type]


def _processes_hidden(roots: Sequence[str], settings: Settings) -> bool:
    sandbox = sandbox_for(roots, (), settings, find_state_paths(Path(roots[0]), None))
    try:
        return sandbox_hides_processes(sandbox.measured)
    finally:
        sandbox.close()


def _git_is_safe(cwd: str) -> bool:
    """Whether no git configuration of the repository in `cwd` names a program."""
    texts = read_git_configs(cwd)
    return texts is not None and git_config_is_safe(*texts)


def _guarded(places: Places, ends: AsyncExitStack, *, obeyed: bool) -> _RootsProtection:
    """The protection of names against commands; `obeyed`: including files that agents follow."""
    directory = places.home.directory
    if directory is None:
        directory = Path(tempfile.mkdtemp(prefix="handrail-"))
        ends.callback(shutil.rmtree, directory, ignore_errors=True)
    table = COMMAND_NAMES if obeyed else COMMAND_PROTECTED_NAMES
    state = ProtectedState(table, directory, hidden=places.hidden)
    roots = places.files.roots
    tops = [RootHandle(root, places.files.handle(number)) for number, root in enumerate(roots)]
    return _RootsProtection(state, tops)


def _beside_git() -> tuple[str, ...]:
    """Globs of the protected names that can be part of a repository, so that a checkout may write them."""
    return row_globs(row for row in {**EXECUTED, **OBEYED} if row != ".git/")
