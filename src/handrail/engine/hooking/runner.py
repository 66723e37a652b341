"""Runs a hook's program in the sandbox like a command, with limited output, and ends its process
tree.

Changes to protected names are reverted, as for a command. A hook may write in the workspace only
while no call does, because their changes could not be distinguished.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from handrail.core.footprint import OPEN_ENDED
from handrail.core.ports.processes import (
    CapturedStream,
    Confinement,
    Launch,
    NameRepair,
    Processes,
    ProcessResult,
    Strength,
)
from handrail.core.problems import ProblemRaised
from handrail.engine.batch.locks import Locks
from handrail.engine.executors.command_runner import CommandRunner
from handrail.engine.executors.confinement import CommandConfinement
from handrail.engine.hooking.file_changes import current_hook_tracker
from handrail.engine.hooking.hook_input import HookPayload
from handrail.engine.prepare.prepared_call import CallScope
from handrail.engine.timing import run_in_thread_uncancellable
from handrail.hooks.output import HookProcessResult
from handrail.hooks.spec import HookSpec

_EFFECTIVE: Final = (Strength.ENFORCED, Strength.REPAIRED)
_NO_NETWORK: Final = (
    "hooks have no network access, which is probably why it failed; a user can run it "
    "outside of the sandbox with unconfined = true"
)
# A hook may change any file.
_ANYTHING: Final = CallScope(footprint=OPEN_ENDED, reads_only=False)
_SHELL_OPTIONS: Final = ("--norc", "--noprofile", "-c")


class HookShell(NamedTuple):
    """The shell that runs hooks, and the variables that they inherit."""

    program: str
    environment: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class HookRunner:
    """Runs the hooks of one runtime. `program` is bash; `environment` is all that a hook inherits.
    `required` are properties that the sandbox must enforce. `readable_paths` returns the paths
    outside the roots that a hook's command names. `read_only` returns whether nothing may be
    changed now.
    """

    processes: Processes
    commands: CommandRunner
    locks: Locks
    shell: HookShell
    required: Sequence[str] = ()
    readable_paths: Callable[[HookSpec], tuple[str, ...]] = lambda spec: ()
    read_only: Callable[[], bool] = lambda: False

    async def run(self, spec: HookSpec, message: HookPayload) -> HookProcessResult:
        """Run the program until it ends or its time limit is reached."""
        if self.required and (lost := self._unmet_requirements(spec)):
            return HookProcessResult(
                error=f"the sandbox does not hold {', '.join(lost)}", not_run=True
            )
        try:
            if spec.unconfined:
                return process_result(await self._run(spec, message, self._unconfined()))
            if spec.background or self.read_only():
                return await self._run_confined(spec, message, self._read_only_confinement(spec))
            async with self.locks.hold(_ANYTHING):
                return await self._run_tracked(spec, message)
        except ProblemRaised as raised:
            return HookProcessResult(error=raised.problem.message, not_run=True)

    async def _run_tracked(self, spec: HookSpec, message: HookPayload) -> HookProcessResult:
        """Run the program and record its edits to the files of a finished call."""
        tracker = current_hook_tracker.get()
        if tracker is None:
            return await self._run_guarded(spec, message)
        await run_in_thread_uncancellable(tracker.snapshot)
        try:
            return await self._run_guarded(spec, message)
        finally:
            await run_in_thread_uncancellable(lambda: tracker.compare(spec.name))

    async def _run_guarded(self, spec: HookSpec, message: HookPayload) -> HookProcessResult:
        protection, confinement = self.commands.protection, self._read_only_confinement(spec)
        paths, writes = self._confines.paths, self._confines.denials.writes
        snapshot = await protection.snapshot(
            paths.allowed_protected, git_writable=False, sequences=False
        )
        read_only = protection.guarded.read_only(snapshot)
        confinement = confinement._replace(
            writable=paths.roots, read_only=(*read_only, *paths.runtime_paths)
        )
        if writes is not None:
            confinement = writes.enforce_if_possible(confinement)
        held = self._confines.sandbox.enforced_read_only(confinement)
        repaired: Sequence[NameRepair] = ()
        try:
            result = await self._run_confined(spec, message, confinement)
        finally:
            repaired = await protection.repair(snapshot, None, held)
        return result._replace(error=_tampering_error(repaired))

    @property
    def _confines(self) -> CommandConfinement:
        return self.commands.confinement

    async def _run_confined(
        self, spec: HookSpec, message: HookPayload, confinement: Confinement
    ) -> HookProcessResult:
        ended = await self._run(spec, message, confinement)
        confined = self._confines.sandbox.backend != "none"
        return process_result(ended)._replace(
            hindered=self._hindered(ended, confinement), confined=confined
        )

    def _hindered(self, ended: ProcessResult, confinement: Confinement) -> str | None:
        """Return what in the sandbox probably caused the failure; None if nothing indicates it."""
        if not ended.exit_code or ended.timed_out:
            return None
        explain = self._confines.sandbox.why_failed
        why = explain(ended, confinement)
        if why is None or why == explain(ended, confinement._replace(network=True)):
            return why
        # The settings that open the sandbox to commands do not apply to hooks.
        return _NO_NETWORK

    async def _run(
        self, spec: HookSpec, message: HookPayload, confinement: Confinement
    ) -> ProcessResult:
        argument = () if message.file is None else (message.file,)
        return await self.processes.run(
            Launch(
                (self.shell.program, *_SHELL_OPTIONS, spec.command, spec.name or "hook", *argument),
                self._confines.paths.roots[0],
                {**self.shell.environment, **message.env},
                confinement,
                spec.timeout_s,
                stdin=message.stdin,
                spills=False,
            )
        )

    def _unmet_requirements(self, spec: HookSpec) -> list[str]:
        measured = {} if spec.unconfined else self._confines.sandbox.measured
        return [name for name in self.required if measured.get(name) not in _EFFECTIVE]

    def _unconfined(self) -> Confinement:
        """Return no confinement: the user's own settings say so."""
        return Confinement(self._confines.paths.roots, network=True, off=True)

    def _read_only_confinement(self, spec: HookSpec) -> Confinement:
        return Confinement(
            (),
            self._confines.paths.runtime_paths,
            self._confines.paths.hidden,
            readable=self.readable_paths(spec),
        )


def process_result(ended: ProcessResult) -> HookProcessResult:
    """Return the ended process as a hook's result."""
    return HookProcessResult(
        ended.exit_code,
        _captured_bytes(ended.stdout),
        _captured_bytes(ended.stderr),
        ended.stdout.total,
        ended.timed_out,
        ended.duration_s,
    )


def _captured_bytes(captured: CapturedStream) -> bytes:
    whole = len(captured.head) + len(captured.tail) == captured.total
    return captured.head + captured.tail if whole else captured.head


def _tampering_error(repaired: Sequence[NameRepair]) -> str | None:
    if not repaired:
        return None
    listed = ", ".join(f"{one.path} ({one.what})" for one in repaired[:10])
    return f"it changed protected names, which were put back: {listed}"
