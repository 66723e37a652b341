"""Builds the trackers of the changes that commands and background jobs make."""

from __future__ import annotations

import tempfile
from pathlib import Path

from handrail.assembly.commands import CommandParts
from handrail.assembly.deferred_commands import snapshot_limits
from handrail.assembly.machine import Machine
from handrail.config.model import Settings
from handrail.core.ports.machine import Blobs, Clock
from handrail.engine.executors.command_effects import CommandChangeTracker
from handrail.engine.executors.job_effects import DeadJobs, JobEffects
from handrail.history.command_effects.report_builder import EffectStorage
from handrail.history.recovered_call import RecoveredCall
from handrail.host.snapshots.local_snapshots import LocalSnapshots
from handrail.host.state.identities import RuntimePresence, may_still_run, this_process


def track_commands(
    parts: CommandParts,
    machine: Machine,
    settings: Settings,
    blobs: Blobs,
    clock: Clock,
    session: str,
    presence: RuntimePresence | None,
) -> None:
    """Take snapshots before and after commands to find their changes. `presence` marks this runtime as
    open; None: no other runtime shares its state.
    """
    shadow = _snapshots(machine, settings, presence)
    keeping = EffectStorage(machine.files, shadow, blobs, breaks_links=settings.break_hard_links)
    effects = CommandChangeTracker(keeping, clock, whole=settings.shadow)
    parts.runner.trackers.commands = effects
    parts.runner.trackers.jobs = JobEffects(
        effects, machine.store, parts.processes, clock, session=session, owner=this_process()
    )


async def settle_dead_jobs(
    parts: CommandParts, machine: Machine, clock: Clock, session: str
) -> list[RecoveredCall]:
    """Record the changes of jobs of killed runtimes; [] if changes are not recorded."""
    effects = parts.runner.trackers.commands
    if effects is None:
        return []
    jobs = parts.processes
    return await DeadJobs(effects, machine.store, jobs, clock, may_still_run).settle(session)


def _snapshots(
    machine: Machine, settings: Settings, presence: RuntimePresence | None
) -> LocalSnapshots:
    files, home = machine.files, machine.home.directory
    return LocalSnapshots(
        [(path, files.handle(number)) for number, path in enumerate(files.roots)],
        home / "shadow" if home is not None else Path(tempfile.mkdtemp(prefix="handrail-")),
        limits=snapshot_limits(settings),
        hidden=machine.places.hidden,
        temporary=home is None,
        presence=presence,
    )
