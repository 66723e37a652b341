"""The read-only view of a runtime: its session, tools, record, grants and plans."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from handrail.core.context import Session
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.planning.mode import PlanMode
from handrail.engine.planning.queue import PlanQueue
from handrail.engine.registry import Registry
from handrail.engine.services import CallServices, SessionServices, ToolServices
from handrail.history.recovered_call import RecoveredCall
from handrail.policy.agents import Agents
from handrail.policy.approval.grants import SessionGrants

if TYPE_CHECKING:
    from handrail.core.ports.machine import Approver, Files
    from handrail.core.ports.records import Store
    from handrail.core.ports.todos import TodoList
    from handrail.engine.hooking.callbacks import Hook
    from handrail.engine.planning.dry_run import PlannedAction
    from handrail.engine.questions import Question


class RuntimeState:
    """The base of `Runtime`: its parts, for reading."""

    def __init__(self, session: SessionServices, tools: ToolServices, calls: CallServices) -> None:
        self._session = session
        self._tools = tools
        self._calls = calls

    @property
    def session(self) -> Session:
        """What outlives a call: roots, mode, what the model has read, options."""
        return self._session.session

    @property
    def files(self) -> Files:
        """The files beneath the roots, for the bodies of your own tools; no approval is needed."""
        return self._tools.preparer.files

    @property
    def registry(self) -> Registry:
        """The tools; register your own here."""
        return self._tools.registry

    @property
    def store(self) -> Store:
        """The record of every call."""
        return self._session.store

    @property
    def recovered(self) -> Sequence[RecoveredCall]:
        """Calls that a crash interrupted and that opening has finished or rolled back."""
        return self._session.recovered

    @property
    def jobs(self) -> BackgroundJobs:
        """The background jobs of the workspace."""
        return self._session.jobs

    @property
    def grants(self) -> SessionGrants:
        """What the user allows for this session, in addition to the rules in the settings."""
        return self._calls.policy.services.grants

    @property
    def approver(self) -> Approver | None:
        """The approver that is asked about calls; None if there is none."""
        return self._calls.policy.approval.approver

    @property
    def aborted(self) -> bool:
        """Whether the user has aborted the run; every further call is then refused."""
        return self._calls.policy.approval.aborted

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions that wait for `reply`, oldest first; a runtime has them only with
        `approver="events"`.
        """
        asked = self._calls.policy.approval.questions
        return () if asked is None else asked.pending

    @property
    def planning(self) -> PlanMode:
        """Plan mode: `active`, and for the user `enter()` and `end()`."""
        return self._calls.plan_mode

    @property
    def plan_queue(self) -> PlanQueue:
        """The calls that plan mode has queued, for the user to approve or reject."""
        return self._calls.plan_mode.queue

    @property
    def todos(self) -> TodoList:
        """The to-do list of the session: `await rt.todos.items()`."""
        return self._tools.todos

    @property
    def planned_actions(self) -> tuple[PlannedAction, ...]:
        """What a dry run would have done, in order."""
        return self._calls.runner.pipeline.planner.actions.actions

    def plan_summary(self) -> str:
        """What a dry run would have done, in a few lines."""
        return self._calls.runner.pipeline.planner.actions.summary()

    @property
    def agents(self) -> Agents:
        """What each agent may use: `of(agent)`; None means everything."""
        return self._tools.preparer.principals.agents

    @property
    def hooks(self) -> list[Hook]:
        """In-process hooks, called in order."""
        return self._calls.runner.pipeline.hooks.hooks
