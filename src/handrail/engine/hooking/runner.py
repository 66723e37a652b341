"""Running a hook's program: confined like any command, its output bounded, its tree ended.

What a hook changed of the protected names is put back, as with a command. It may write in the
workspace only while no call does: what it left behind could not be told from theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from handrail.core.footprint import OPEN_ENDED
from handrail.core.problems import ProblemRaised
from handrail.core.processes import (
    Captured,
    Confinement,
    Ended,
    Launch,
    Processes,
    Repaired,
    Strength,
)
from handrail.engine.batch.locks import Locks
from handrail.engine.executors.command_runner import CommandRunner
from handrail.engine.hooking.file_changes import current_hook_tracker
from handrail.engine.hooking.hook_input import HookPayload
from handrail.engine.timing.threads import run_in_thread_uncancellable
from handrail.hooks.output import HookProcessResult
from handrail.hooks.spec import HookSpec

_EFFECTIVE: Final = (Strength.ENFORCED, Strength.REPAIRED)
_NO_NETWORK: Final = (
    "the network is closed to hooks, which is probably why it failed; a person can run it "
    "outside of the sandbox with unconfined = true"
)
_SHELL_OPTIONS: Final = ("--norc", "--noprofile", "-c")


@dataclass(frozen=True, slots=True)
class HookRunner:
    """Runs the hooks of one runtime. `program` is bash; `environment` is all that a hook
    inherits. `required` are properties that the sandbox must hold. `readable` answers what a
    hook's command names outside of the roots. `looks_only` answers whether nothing may change.
    """

    processes: Processes
    commands: CommandRunner
    locks: Locks
    program: str
    environment: Mapping[str, str]
    required: Sequence[str] = ()
    readable_paths: Callable[[HookSpec], tuple[str, ...]] = lambda spec: ()
    read_only: Callable[[], bool] = lambda: False

    async def run(self, spec: HookSpec, message: HookPayload) -> HookProcessResult:
        """Run it to its end, or until its time is up."""
        if self.required and (lost := self._lost(spec)):
            return HookProcessResult(
                error=f"the sandbox does not hold {', '.join(lost)}", not_run=True
            )
        try:
            if spec.unconfined:
                return process_result(await self._run(spec, message, self._free()))
            if spec.background or self.read_only():
                return await self._run_held(spec, message, self._looking(spec))
            async with self.locks.hold(OPEN_ENDED):
                return await self._run_watched(spec, message)
        except ProblemRaised as raised:
            return HookProcessResult(error=raised.problem.message, not_run=True)

    async def _run_watched(self, spec: HookSpec, message: HookPayload) -> HookProcessResult:
        """What it does to the files of a call that is over is that call's doing."""
        left = current_hook_tracker.get()
        if left is None:
            return await self._run_guarded(spec, message)
        await run_in_thread_uncancellable(left.snapshot)
        try:
            return await self._run_guarded(spec, message)
        finally:
            await run_in_thread_uncancellable(lambda: left.compare(spec.name))

    async def _run_guarded(self, spec: HookSpec, message: HookPayload) -> HookProcessResult:
        guarded = self.commands.guarded
        taken: list[Any] = []
        await run_in_thread_uncancellable(
            lambda: taken.append(
                guarded.take(lifted=self.commands.lifted, git_writable=False, sequences=False)
            )
        )
        confinement = self._looking(spec)._replace(
            writable=self.commands.roots,
            read_only=(*guarded.read_only(taken[0]), *self.commands.own),
        )
        if self.commands.holding is not None:
            confinement = self.commands.holding.enforce_if_possible(confinement)
        held = self.commands.sandbox.held(confinement)
        repaired: list[Repaired] = []
        try:
            heard_ = await self._run_held(spec, message, confinement)
        finally:
            await run_in_thread_uncancellable(
                lambda: repaired.extend(guarded.repair(taken[0], held=held))
            )
        return heard_._replace(error=_tampering_error(repaired))

    async def _run_held(
        self, spec: HookSpec, message: HookPayload, confinement: Confinement
    ) -> HookProcessResult:
        ended = await self._run(spec, message, confinement)
        confined = self.commands.sandbox.backend != "none"
        return process_result(ended)._replace(
            hindered=self._hindered(ended, confinement), confined=confined
        )

    def _hindered(self, ended: Ended, confinement: Confinement) -> str | None:
        """What of the sandbox was probably in its way; None if nothing speaks for that."""
        if not ended.exit_code or ended.timed_out:
            return None
        explain = self.commands.sandbox.why_failed
        why = explain(ended, confinement)
        if why is None or why == explain(ended, confinement._replace(network=True)):
            return why
        # The settings that open it to commands do not open it to hooks.
        return _NO_NETWORK

    async def _run(self, spec: HookSpec, message: HookPayload, confinement: Confinement) -> Ended:
        argument = () if message.file is None else (message.file,)
        return await self.processes.run(
            Launch(
                (self.program, *_SHELL_OPTIONS, spec.command, spec.name or "hook", *argument),
                self.commands.roots[0],
                {**self.environment, **message.env},
                confinement,
                spec.timeout_s,
                stdin=message.stdin,
                spills=False,
            )
        )

    def _lost(self, spec: HookSpec) -> list[str]:
        measured = {} if spec.unconfined else self.commands.sandbox.measured
        return [name for name in self.required if measured.get(name) not in _EFFECTIVE]

    def _free(self) -> Confinement:
        """The person said so in their own settings."""
        return Confinement(self.commands.roots, network=True, off=True)

    def _looking(self, spec: HookSpec) -> Confinement:
        return Confinement(
            (), self.commands.own, self.commands.hidden, readable=self.readable_paths(spec)
        )


def process_result(ended: Ended) -> HookProcessResult:
    """How it ended, as far as it matters."""
    return HookProcessResult(
        ended.exit_code,
        _captured_bytes(ended.stdout),
        _captured_bytes(ended.stderr),
        ended.stdout.total,
        ended.timed_out,
        ended.duration_s,
    )


def _captured_bytes(captured: Captured) -> bytes:
    whole = len(captured.head) + len(captured.tail) == captured.total
    return captured.head + captured.tail if whole else captured.head


def _tampering_error(repaired: Sequence[Repaired]) -> str | None:
    if not repaired:
        return None
    listed = ", ".join(f"{one.path} ({one.what})" for one in repaired[:10])
    return f"it changed protected names, which were put back: {listed}"
