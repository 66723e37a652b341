"""What keeps track of the changes that commands and background jobs make, put together."""

from __future__ import annotations

import logging
import tempfile
from pathlib import Path

from handrail.assembly.machine import Machine
from handrail.config.model import Settings
from handrail.core.ports.machine import Blobs, Clock
from handrail.core.ports.snapshots import SnapshotLimits
from handrail.engine.executors.command_effects import CommandEffects
from handrail.engine.executors.dead_job_effects import DeadJobs
from handrail.engine.executors.job_effects import JobEffects
from handrail.history.command_effects.report_builder import EffectStorage
from handrail.history.recovery.recovered_call import RecoveredCall
from handrail.host.snapshots.local_snapshots import LocalSnapshots
from handrail.host.state.process_identity import may_still_run, this_process

_log = logging.getLogger("handrail")


def track_commands(
    machine: Machine, settings: Settings, blobs: Blobs | None, clock: Clock, session: str
) -> CommandEffects | None:
    """Let commands be looked at before and after they run; None where nothing is kept."""
    commands = machine.commands
    if commands is None or blobs is None:
        return None
    try:
        shadow = _shadow(machine, settings)
    except OSError as error:
        _log.warning("what commands change cannot be kept: %s", error)
        return None
    keeping = EffectStorage(machine.files, shadow, blobs, breaks_links=settings.break_hard_links)
    effects = CommandEffects(keeping, clock, whole=settings.shadow)
    commands.runner.trackers.commands = effects
    commands.runner.trackers.jobs = JobEffects(
        effects, machine.store, commands.processes, clock, session=session, owner=this_process()
    )
    return effects


async def settle_dead_jobs(
    machine: Machine, effects: CommandEffects | None, clock: Clock, session: str
) -> list[RecoveredCall]:
    """Record what jobs of killed runtimes changed, where that can be looked at."""
    if machine.commands is None or effects is None:
        return []
    jobs = machine.commands.processes
    return await DeadJobs(effects, machine.store, jobs, clock, may_still_run).settle(session)


def shadow_limits(settings: Settings) -> SnapshotLimits:
    """How much is copied before a command runs."""
    return SnapshotLimits(
        settings.shadow_files, settings.shadow_mb << 20, settings.shadow_file_mb << 20
    )


def _shadow(machine: Machine, settings: Settings) -> LocalSnapshots:
    files, home = machine.files, machine.home.directory
    return LocalSnapshots(
        [(path, files.handle(number)) for number, path in enumerate(files.roots)],
        home / "shadow" if home is not None else Path(tempfile.mkdtemp(prefix="handrail-")),
        limits=shadow_limits(settings),
        hidden=machine.hidden,
        temporary=home is None,
    )
