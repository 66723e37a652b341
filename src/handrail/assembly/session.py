"""The session of a runtime: a new one, or an earlier one that continues."""

from __future__ import annotations

import os
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Final

from handrail.assembly.guardrails import read_counts, save_counts
from handrail.assembly.machine import Machine
from handrail.config.model import Settings
from handrail.core.context import (
    ReadStates,
    Session,
    WorkingDirectory,
    is_unchanged,
    set_working_directory,
)
from handrail.core.problems import ProblemRaised
from handrail.dialects.known import find_vocabulary
from handrail.engine.recording.idempotency import CallIdLedger
from handrail.host.clock import SystemClock
from handrail.host.state.artifacts import DirectoryArtifacts
from handrail.host.state.identities import folder_identity, may_still_run, this_process
from handrail.policy.modes import Mode
from handrail.store.sqlite.store import RecordStore

if TYPE_CHECKING:
    from handrail.assembly.calls import SessionParts
    from handrail.core.ports.machine import Blobs, Clock, Files
    from handrail.core.ports.models import Model
    from handrail.core.ports.undo import UndoService
    from handrail.engine.call_policy import AgentPolicy
    from handrail.engine.recording.failed_call_retry import FailedCalls
    from handrail.policy.guardrails.guard import Guardrails

_SECRETS: Final = "secrets_shown"


async def begin_session(
    name: str | None, settings: Settings, mode: Mode, machine: Machine
) -> tuple[Session, bool]:
    """Open a session; returns it and whether it continues an earlier one."""
    files, store = machine.files, machine.store
    session_id = name or os.urandom(6).hex()
    info = {
        "workspace": files.roots[0],
        "folder": folder_identity(files.roots[0]),
        "mode": mode.value,
        "dialect": settings.dialect,
    }
    resumed = await store.open_session(session_id, info, this_process(), may_still_run)
    kept = await store.load_state(session_id) if resumed else {}
    moves = find_vocabulary(settings.dialect).dialect.keeps_directory
    session = Session(
        id=session_id,
        roots=files.roots,
        mode=mode.value,
        read_states=ReadStates(is_same=partial(is_unchanged, files)),
        artifacts=_artifacts(machine),
        working_directory=WorkingDirectory(files.roots[0], moves=moves),
        runs_commands=settings.commands,
        now_ns=SystemClock().now_ns,
        secrets_shown=bool(kept.get(_SECRETS)),
        keep_secrets_shown=partial(_keep_secrets_shown, store, session_id),
    )
    if moves and "directory" in kept:
        set_working_directory(session.working_directory, kept["directory"], files)
    return session, resumed


def _keep_secrets_shown(store: RecordStore, session: str) -> None:
    # The call reports a store that fails.
    with suppress(ProblemRaised):
        store.save_state(session, _SECRETS, True)


def _artifacts(machine: Machine) -> DirectoryArtifacts:
    """The storage of long texts. Without a directory for it, the output of programs is still written to a
    directory that is deleted with the runtime.
    """
    commands = machine.commands
    spilled = None if commands is None else commands.spill_directory
    return DirectoryArtifacts(machine.home.oversized, spilled=spilled)


async def restore_reads(session: Session, store: RecordStore, files: Files) -> None:
    """Restore the read states of a session that continues; called after recovery, which completes
    interrupted calls.
    """
    from handrail.engine.recording.read_state_codec import load_reads

    kept = await store.load_state(session.id)
    known = (await load_reads(store, session.id, kept)).restore()
    session.read_states = ReadStates(dict(known.items()), partial(is_unchanged, files))


class SessionKeeper:
    """Stores the state with which a later run of a named session continues, so that a kill does not lose
    it. Reads are in the rows of calls; the directory of commands and the counts of the guardrails are
    stored when a call has changed them.
    """

    def __init__(self, session: Session, store: RecordStore, guardrails: Guardrails) -> None:
        self._session = session
        self._store = store
        self._guardrails = guardrails
        self._directory = session.working_directory.directory
        self._counts = read_counts(guardrails)

    def keep_changes(self) -> None:
        """Store what the last call has changed; calls report a store that fails."""
        directory, counts = self._session.working_directory.directory, read_counts(self._guardrails)
        if directory == self._directory and counts == self._counts:
            return
        self._directory, self._counts = directory, counts
        with suppress(ProblemRaised):
            self._keep()

    async def save(self) -> None:
        """Store the whole state including reads, so that the next run need not collect them from the rows
        of this one.
        """
        from handrail.engine.recording.read_state_codec import save_reads

        self._keep()
        # A store that fails is reported when it is closed; the reads are also in the rows.
        with suppress(ProblemRaised):
            await save_reads(self._store, self._session)

    async def save_unrecorded(self) -> None:
        """Store the whole state of a session without a name, whose rows do not contain reads; raises
        `ProblemRaised` if the store fails.
        """
        from handrail.engine.recording.read_state_codec import save_reads

        self._keep()
        await save_reads(self._store, self._session, recorded=False)

    def _keep(self) -> None:
        self._store.save_state(
            self._session.id, "directory", self._session.working_directory.directory
        )
        save_counts(self._guardrails, self._session, self._store)


class SessionSuspension:
    """Saves a session without a name, so that another runtime of this process can continue it."""

    def __init__(self, parts: SessionParts, machine: Machine, policy: AgentPolicy) -> None:
        self._session = parts.session
        self._plans = parts.plans.mode
        self._leases = parts.reserved
        self._machine = machine
        self._policy = policy
        # Whether the session had jobs at the last attempt to save it.
        self.has_jobs = False

    async def save(self) -> bool:
        """Save the session and return True, or return False if closing the runtime would lose
        something: a job, a grant, a lease, an abort, a plan, or a record in memory.

        Raises `ProblemRaised` if the store fails.
        """
        self.has_jobs = await self._find_jobs()
        if self.has_jobs or self._has_transient_state():
            return False
        guardrails = self._policy.services.guardrails
        await SessionKeeper(self._session, self._machine.store, guardrails).save_unrecorded()
        return True

    def _has_transient_state(self) -> bool:
        return bool(
            self._machine.home.directory is None
            or self._policy.services.grants.active()
            or self._policy.approval.aborted
            or self._leases.held
            or self._plans.active
            or self._plans.queue.items()
            or self._plans.text
        )

    async def _find_jobs(self) -> bool:
        commands = self._machine.commands
        if commands is None or not commands.in_use:
            return False
        return any(job.session == self._session.id for job in await commands.processes().jobs())


def model_name(model: str | Model | None) -> str | None:
    """Return the name of the model of a session; raises `invalid_arguments` for what is no model."""
    if isinstance(model, str | None):
        return model
    # Imported here, because most sessions have none, or a name.
    from handrail.assembly.models import check_model

    return check_model(model).name


async def next_turn(session: Session, store: RecordStore) -> int:
    """The number of the next turn of a session that continues."""
    newest = await store.calls(session=session.id, limit=1)
    return newest[0].turn + 1 if newest else 1


def answered_in(session: Session, store: RecordStore, *, named: bool) -> CallIdLedger:
    """The ledger of calls whose ids were given by callers."""
    owner = this_process()
    return CallIdLedger(session.id, store, resumed=named, owner=owner, alive=may_still_run)


def dead_letters(store: RecordStore, session: Session) -> FailedCalls:
    """The failed calls of a store, for use in a session."""
    from handrail.engine.recording.failed_call_retry import FailedCalls

    return FailedCalls(store, session, this_process(), may_still_run)


def undo_service(machine: Machine, files: Files, blobs: Blobs | None, clock: Clock) -> UndoService:
    """The service that undoes recorded changes."""
    from handrail.history.undo.service import LocalUndo

    commands = machine.commands
    settle = None if commands is None else commands.settle_jobs
    return LocalUndo(machine.store, files, blobs, clock, settle)
