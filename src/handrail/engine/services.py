"""The parts of a runtime, in three groups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from handrail.core.context import Session
from handrail.core.lazy import Lazy
from handrail.core.ports.todos import TodoList
from handrail.engine.call_policy import AgentPolicy
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.planning.mode import PlanMode
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.idempotency import IdempotentRunner
from handrail.engine.registry import Registry
from handrail.engine.timing import DeadlineTimer
from handrail.history.recovered_call import RecoveredCall

if TYPE_CHECKING:
    from handrail.core.ports.agents import AgentServices
    from handrail.core.ports.records import Store
    from handrail.engine.batch.batch_runner import BatchRunner
    from handrail.engine.recording.failed_call_retry import FailedCalls


class SessionServices(NamedTuple):
    """The session of a runtime and what belongs to it."""

    session: Session
    store: Store
    recovered: Sequence[RecoveredCall]
    jobs: BackgroundJobs
    dead_letters: Lazy[FailedCalls]
    agents: Lazy[AgentServices]
    # Saves and releases everything.
    close: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The tools of a runtime: which exist, how they are declared, how calls are prepared."""

    registry: Registry
    catalog: Catalog
    preparer: Preparer
    todos: TodoList


@dataclass(frozen=True, slots=True)
class CallServices:
    """What carries out the calls of a runtime."""

    runner: IdempotentRunner
    batches: Lazy[BatchRunner]
    policy: AgentPolicy
    plan_mode: PlanMode
    timers: DeadlineTimer
    bus: EventBus
