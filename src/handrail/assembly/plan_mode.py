"""Builds plan mode: the plan file, the queue, and the runner of approved calls."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from handrail.assembly.machine import Machine
from handrail.core.context import Session
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Clock
from handrail.engine.planning.mode import PlanMode
from handrail.engine.planning.queue import PlanQueue, QueuePersistence
from handrail.host.files.local_files import LocalFiles
from handrail.host.plan_files import SessionPlanFile

if TYPE_CHECKING:
    from handrail.engine.prepare.preparer import Preparer
    from handrail.engine.recording.idempotency import IdempotentRunner
    from handrail.engine.user_actions import QueuedCallRunner

_STATE_KEY = "planning"


class PlanServices(NamedTuple):
    """Plan mode, the files including this session's plan file, and the files including all plan files."""

    mode: PlanMode
    files: LocalFiles
    every: LocalFiles


def open_plan_mode(
    machine: Machine, session: Session, clock: Clock, *, named: bool
) -> PlanServices:
    """The plan mode of a session; that of a named session is restored from the store."""
    directory = machine.home.directory
    plans = None if directory is None else directory / "plans"
    file = SessionPlanFile(machine.files, plans, session.id, keep=named)
    machine.ends.callback(file.close)
    store, keeping = machine.store, None
    if named:
        keeping = QueuePersistence(
            lambda key, value: store.save_state(session.id, key, value),
            lambda: store.load_state(session.id),
        )

    def save(on: bool) -> None:
        if named:
            store.save_state(session.id, _STATE_KEY, on)

    return PlanServices(
        PlanMode(session, file, PlanQueue(clock, keeping), save),
        file.files,
        file.all_files,
    )


async def resume_plan_mode(
    plans: PlanServices, session: Session, machine: Machine, *, named: bool
) -> None:
    """Enter plan mode if the session was opened in it, or was in it when it ended."""
    kept = await machine.store.load_state(session.id) if named else {}
    if plans.mode.active or kept.get(_STATE_KEY):
        plans.mode.enter()
    await plans.mode.queue.refresh()


def attach_runner(plans: PlanServices, runner: IdempotentRunner, preparer: Preparer) -> None:
    """Give the queue the runner for calls that the user approves."""

    def build() -> QueuedCallRunner:
        from handrail.engine.user_actions import QueuedCallRunner

        return QueuedCallRunner(runner, preparer)

    plans.mode.queue.runner = Lazy(build)
