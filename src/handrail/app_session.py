"""The session that a runtime works in: new, or taken up where a named one was left."""

from __future__ import annotations

import uuid

from handrail.app_guardrails import save_counts
from handrail.app_machine import Machine
from handrail.config.settings import Settings
from handrail.core.context import ReadStates, Session, Whereabouts, go_to
from handrail.dialects.known import vocabulary_of
from handrail.engine.answered import Answered
from handrail.engine.saved import restore_reads, save_reads
from handrail.host.artifacts import DirectoryArtifacts
from handrail.host.birth import folder_identity
from handrail.host.owner import may_still_run, this_process
from handrail.policy.guardrails.guard import Guardrails
from handrail.policy.modes import Mode
from handrail.store.sqlite import SqliteStore


async def begin_session(
    name: str | None, settings: Settings, mode: Mode, machine: Machine
) -> tuple[Session, bool]:
    """The session to work in, and whether it is an earlier one that goes on."""
    files, store = machine.files, machine.store
    session_id = name or uuid.uuid4().hex[:12]
    info = {
        "workspace": files.roots[0],
        "folder": folder_identity(files.roots[0]),
        "mode": mode.value,
        "dialect": settings.dialect,
    }
    resumed = await store.open_session(session_id, info)
    kept = await store.load_state(session_id) if resumed else {}
    moves = vocabulary_of(settings.dialect).dialect.keeps_directory
    session = Session(
        id=session_id,
        roots=files.roots,
        mode=mode.value,
        read_states=restore_reads(kept["reads"]) if "reads" in kept else ReadStates(),
        artifacts=_artifacts(machine),
        whereabouts=Whereabouts(files.roots[0], moves=moves),
    )
    if moves and "directory" in kept:
        go_to(session.whereabouts, kept["directory"], files)
    return session, resumed


def _artifacts(machine: Machine) -> DirectoryArtifacts:
    """Where long texts are kept; without a directory for them, programs still write theirs to
    one that goes with the runtime.
    """
    commands = machine.commands
    spilled = None if commands is None else commands.processes.spill_directory
    return DirectoryArtifacts(machine.home.oversized, spilled=spilled)


def save_session(session: Session, store: SqliteStore, guardrails: Guardrails) -> None:
    """What a named session goes on with."""
    store.save_state(session.id, "reads", save_reads(session.read_states))
    store.save_state(session.id, "directory", session.whereabouts.directory)
    save_counts(guardrails, session, store)


async def next_turn(session: Session, store: SqliteStore) -> int:
    """The number of the first turn of a session that goes on."""
    newest = await store.calls(session=session.id, limit=1)
    return newest[0].turn + 1 if newest else 1


def answered_in(session: Session, store: SqliteStore, *, named: bool) -> Answered:
    """What remembers the calls that brought their own ids."""
    owner = this_process()
    return Answered(session.id, store, resumed=named, owner=owner, alive=may_still_run)
