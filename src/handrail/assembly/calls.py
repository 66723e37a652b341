"""What carries out calls, put together."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from handrail.assembly.machine import Machine, open_locks
from handrail.assembly.plan_mode import PlanServices
from handrail.config.model import Settings
from handrail.core.context import Session
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Blobs
from handrail.core.ports.undo import UndoService
from handrail.engine.batch.locks import Locks, PathLeases
from handrail.engine.call_policy import AgentPolicy
from handrail.engine.executors.direct_executor import DeferredExecutors, DirectExecutor, Executor
from handrail.engine.failures import FailureTranslator
from handrail.engine.hooking.call_hooks import CallHooks
from handrail.engine.pipeline import Pipeline
from handrail.engine.planning.planner import CallPlanner, Freshness
from handrail.engine.prepare.prepared_call import ExecutorKind
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.dead_letters import DeadLetters
from handrail.engine.recording.read_review import ReadDenialCheck, read_rules_digest
from handrail.engine.recording.recorder import Recorder, RecorderOptions
from handrail.engine.recording.truncation import TruncationOptions
from handrail.engine.timing import DeadlineTimer
from handrail.history.recovery.recovered_call import RecoveredCall
from handrail.host.state.process_identity import this_process


@dataclass(frozen=True, slots=True)
class SessionParts:
    """A session that was begun or taken up, and what belongs to it alone."""

    session: Session
    resumed: bool
    blobs: Blobs | None
    plans: PlanServices
    recovered: Sequence[RecoveredCall]
    past: Lazy[UndoService]
    reserved: PathLeases
    letters: DeadLetters


def open_pipeline(
    settings: Settings,
    machine: Machine,
    begun: SessionParts,
    preparer: Preparer,
    policy: AgentPolicy,
    recorder: Recorder,
    timers: DeadlineTimer,
) -> Pipeline:
    """The pipeline of a runtime with its three executors."""
    files, blobs = begun.plans.files, begun.blobs
    freshness = Freshness(
        _freshness(settings), begun.session.read_states, files, begun.session.now_ns
    )
    ahead = None if settings.dry_run else blobs
    planner = CallPlanner(freshness, begun.plans.mode, policy.services.grants, timers, ahead)

    def plan_executor() -> Executor:
        from handrail.engine.executors.plan_executor import PlanCommitter, PlanExecutor
        from handrail.host.syntax.check import LocalSyntaxCheck

        committer = PlanCommitter(files, blobs, recorder, settings.durability == "power")
        return PlanExecutor(planner, committer, preparer, LocalSyntaxCheck(), machine.commands)

    def command_executor() -> Executor:
        if machine.commands is None:
            return direct
        from handrail.engine.executors.command_runner import CommandExecutor

        return CommandExecutor(machine.commands.parts.runner, recorder, timers)

    direct = DirectExecutor(recorder, timers)
    return Pipeline(
        recorder,
        FailureTranslator(preparer.visibility, timers),
        CallHooks(preparer, recorder, files, freshness),
        planner,
        Locks(open_locks(machine.home)),
        DeferredExecutors(
            {
                ExecutorKind.DIRECT: lambda: direct,
                ExecutorKind.PLAN: plan_executor,
                ExecutorKind.COMMAND: command_executor,
            }
        ),
    )


def _freshness(settings: Settings) -> Literal["off", "warn", "strict"]:
    if settings.freshness != "auto":
        return settings.freshness
    return "strict" if settings.dialect == "claude" else "warn"


def recorder_options(
    settings: Settings, denials: ReadDenialCheck | None, *, named: bool
) -> RecorderOptions:
    """How calls are recorded, by the settings."""
    strategy = settings.truncation_strategy
    return RecorderOptions(
        settings.dialect,
        # Two runtimes may use one session, and then count the same turns.
        {"owner": this_process(), "run": os.urandom(4).hex()},
        settings.durability,
        settings.reads_without_store,
        read_rules_digest(denials),
        keep_reads=named,
        truncation=TruncationOptions(
            sys.maxsize if settings.max_chars is None else settings.max_chars,
            None if strategy == "auto" else strategy,
        ),
    )
