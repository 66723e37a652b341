"""Recovers from crashed runtimes when a runtime is opened. If there was no crash, this takes only a few
queries; the code that repairs files is loaded only if it is needed.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from handrail.assembly.deferred_commands import Commands
from handrail.assembly.machine import Machine
from handrail.config.model import Settings
from handrail.core.ports.machine import Blobs, Clock, Files
from handrail.history.recovered_call import (
    JOB_PREFIX,
    NO_SESSION,
    RecoveredCall,
    close_abandoned_sessions,
    list_pending_cleanup,
)
from handrail.host.state.identities import RuntimePresence, may_still_run
from handrail.host.supervisor.killed_runtimes import wait_for_killed_runtimes

if TYPE_CHECKING:
    from handrail.assembly.commands import CommandParts
    from handrail.history.command_effects.effects_report import EffectsReport

_log = logging.getLogger("handrail")


def track_changes(
    machine: Machine, settings: Settings, blobs: Blobs | None, clock: Clock, session: str
) -> None:
    """Make the command subsystem record the changes of commands, if old contents are stored."""
    commands, home, presence = machine.commands, machine.home.directory, None
    if commands is None or blobs is None:
        return
    if home is not None:
        # Tells other runtimes of the workspace that this one may change files.
        try:
            presence = RuntimePresence(home / "shadow" / "present")
        except OSError as error:
            _log.warning("what commands change cannot be kept: %s", error)
            return
        commands.close_last(presence.close)

    def track(parts: CommandParts) -> None:
        from handrail.assembly.command_effects import track_commands

        track_commands(parts, machine, settings, blobs, clock, session, presence)

    commands.configure(track)


async def recover_session(
    machine: Machine, files: Files, blobs: Blobs | None, clock: Clock, session: str
) -> list[RecoveredCall]:
    """Repair what crashed runtimes of the workspace left, and close their sessions; returns the unfinished
    calls that were found.
    """
    store, commands, recovered = machine.store, machine.commands, list[RecoveredCall]()
    if machine.home.directory is not None:
        await wait_for_killed_runtimes(machine.home.directory)
    if await list_pending_cleanup(store) or await store.unfinished():
        from handrail.history.unfinished_plans import Recovery

        def compare(intent: Mapping[str, Any]) -> EffectsReport | None:
            tracker = None if commands is None else commands.parts.runner.trackers.commands
            return None if tracker is None else tracker.unfinished(intent)

        recovery = Recovery(store, files, blobs, clock, may_still_run, compare)
        recovered += await recovery.run(session)
    notes = await store.load_state(NO_SESSION)
    if commands is not None and any(notes[key] for key in notes if key.startswith(JOB_PREFIX)):
        recovered += await _settle_jobs(commands, machine, clock, session)
    await close_abandoned_sessions(store, clock, may_still_run)
    return recovered


async def _settle_jobs(
    commands: Commands, machine: Machine, clock: Clock, session: str
) -> list[RecoveredCall]:
    from handrail.assembly.command_effects import settle_dead_jobs

    return await settle_dead_jobs(commands.parts, machine, clock, session)
