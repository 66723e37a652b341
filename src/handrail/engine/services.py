"""What a runtime is made of, in three groups."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

from handrail.core.context import Session
from handrail.core.ports.agents import AgentServices
from handrail.core.ports.records import Store
from handrail.engine.batch.batch_runner import BatchRunner
from handrail.engine.call_policy import AgentPolicy
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.planning.mode import PlanMode
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.dead_letters import DeadLetters
from handrail.engine.recording.idempotency import IdempotentRunner
from handrail.engine.registry import Registry
from handrail.engine.timing import DeadlineTimer
from handrail.history.recovery.recovered_call import RecoveredCall


@dataclass(frozen=True, slots=True)
class SessionServices:
    """The session of a runtime and what belongs to it."""

    session: Session
    store: Store
    recovered: Sequence[RecoveredCall]
    jobs: BackgroundJobs
    dead_letters: DeadLetters
    agents: AgentServices
    # Saves and releases everything.
    close: Callable[[], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class ToolServices:
    """The tools of a runtime: which there are, how they are declared, how calls are prepared."""

    registry: Registry
    catalog: Catalog
    preparer: Preparer


@dataclass(frozen=True, slots=True)
class CallServices:
    """What carries out the calls of a runtime."""

    runner: IdempotentRunner
    batches: BatchRunner
    policy: AgentPolicy
    plan_mode: PlanMode
    timers: DeadlineTimer
    bus: EventBus
