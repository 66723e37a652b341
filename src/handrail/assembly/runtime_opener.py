"""Where the parts are put together: settings in, Runtime out. The only file that knows all."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from handrail.assembly.agent_services import open_agent_services
from handrail.assembly.approver import ApproverChoice, approver_for
from handrail.assembly.calls import SessionParts, open_pipeline, recorder_options
from handrail.assembly.machine import Machine, open_blobs, open_machine
from handrail.assembly.models import ModelSource
from handrail.assembly.plan_mode import open_plan_mode, resume_plan_mode
from handrail.assembly.policy_services import open_policy
from handrail.assembly.recovery import recover_session, track_changes
from handrail.assembly.resolved_settings import ResolvedSettings, resolve_settings
from handrail.assembly.rules import canonical_names, pattern_obstacle
from handrail.assembly.session import (
    SessionKeeper,
    SessionSuspension,
    answered_in,
    begin_session,
    next_turn,
    restore_reads,
)
from handrail.assembly.settings_files import config_file, load_from
from handrail.config.layers.load import LoadedSettings
from handrail.config.model import Settings
from handrail.core.events import CallHeartbeat
from handrail.core.lazy import Lazy
from handrail.core.outputs import Outputs
from handrail.core.ports.machine import Approver, Blobs, Clock, Files
from handrail.core.ports.models import Model
from handrail.core.ports.undo import UndoService
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Tool
from handrail.core.verdicts import Effect
from handrail.engine.batch.batch_runner import BatchRunner
from handrail.engine.batch.locks import PathLeases
from handrail.engine.call_policy import AgentPolicy, UserPolicy
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.pipeline import Pipeline
from handrail.engine.prepare.preparer import CallIds, Preparer, Principals
from handrail.engine.recording.dead_letters import DeadLetters
from handrail.engine.recording.idempotency import IdempotentRunner
from handrail.engine.recording.read_review import ReadReview
from handrail.engine.recording.recorder import Recorder
from handrail.engine.recording.stored_results import StoredResults
from handrail.engine.registry import Registry
from handrail.engine.runtime import Runtime
from handrail.engine.services import CallServices, SessionServices, ToolServices
from handrail.engine.timing import CallTimer, DeadlineTimer
from handrail.history.recovery.recovered_call import RecoveredCall
from handrail.host.clock import SystemClock
from handrail.host.state.process_identity import may_still_run, this_process
from handrail.policy.approval.grants import GrantObstacle
from handrail.policy.modes import Mode
from handrail.policy.rules.rule import Rule
from handrail.tools._lib.services import Services
from handrail.tools.builtin import BUILTIN_NAMES, build_tool

if TYPE_CHECKING:
    from handrail.engine.hooking.dispatcher import SessionHooks

_log = logging.getLogger("handrail")


def open(
    root: str | Path = ".",
    *,
    mode: str | None = None,
    dialect: str | None = None,
    store: str | Path | None = None,
    session: str | None = None,
    directories: str | Path | Sequence[str | Path] | None = None,
    approver: ApproverChoice = None,
    allow_delete: bool | None = None,
    allow_protected: str | Sequence[str] | None = None,
    dry_run: bool | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    durability: str | None = None,
    sandbox: str | None = None,
    commands: bool | None = None,
    tools: Iterable[Tool[Any]] = (),
    model: str | Model | None = None,
) -> RuntimeOpener:
    """Open a runtime on a workspace: `async with handrail.open(path) as rt`, or await it.

    What is not given comes from the person's configuration file, then from the defaults.
    `config` names another file, or is a mapping used instead of one. `store` is a file,
    or ":memory:" to leave nothing outside the workspace. `session` names a session to go on
    with. `tools` are tools of your own: they are registered before rules and hooks are read,
    which may name them. Raises `ProblemRaised` if the workspace, a setting or the store is
    unusable, TypeError for a tool that cannot be registered.
    """
    overrides = {
        "mode": mode,
        "dialect": dialect,
        "directories": None if directories is None else [str(one) for one in _many(directories)],
        "allow_delete": allow_delete,
        "allow_protected": None if allow_protected is None else _many(allow_protected),
        "dry_run": dry_run,
        "durability": durability,
        "sandbox": sandbox,
        "commands": commands,
    }
    loaded = load_from(root, config, overrides)
    for notice in loaded.notices:
        _log.warning("%s", notice)
    file = None if isinstance(config, Mapping) else config_file(config)
    own = _own_tools(tools)
    # A tool that cannot be registered is refused before anything is opened.
    Registry.of(own)
    asked = approver_for(approver, root)
    return RuntimeOpener(Path(root), loaded, file, store, session, asked, tools=own, model=model)


@dataclass(slots=True)
class RuntimeOpener:
    """What `open` returns: await it, or use it with `async with`."""

    root: Path
    loaded: LoadedSettings
    file: Path | None
    store: str | Path | None
    session: str | None
    approver: Approver | None
    runtime: Runtime | None = None
    tools: tuple[Tool[Any], ...] = ()
    model: str | Model | None = None
    # Equal calls made within this time after one ended count once for the loop guard.
    calls_together_s: float = 0.0
    # Told what a crash had left, if anything.
    hears: Callable[[Sequence[RecoveredCall]], None] | None = None
    # The id of a session without a name that another runtime of this process has saved.
    continued: str | None = None
    # Saves the session of the opened runtime, to be continued.
    suspension: SessionSuspension | None = None

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    def keep_jobs(self) -> None:
        """Let background jobs outlive this runtime, whatever the settings say."""
        settings = self.settings.model_copy(update={"keep_jobs": True})
        self.loaded = replace(self.loaded, settings=settings)

    def __await__(self) -> Generator[Any, None, Runtime]:
        return _assemble(self).__await__()

    def __getattr__(self, name: str) -> NoReturn:
        raise AttributeError(
            f"{name!r}: the runtime is not open yet; write `async with handrail.open(...) as rt` "
            "or `rt = await handrail.open(...)`"
        )

    async def __aenter__(self) -> Runtime:
        self.runtime = await self
        return self.runtime

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self.runtime is not None:
            await self.runtime.aclose()


async def _assemble(opening: RuntimeOpener) -> Runtime:
    settings = opening.settings
    meant = resolve_settings(opening.loaded, opening.root, [tool.name for tool in opening.tools])
    if meant.notices:
        _log.warning("%s", safe_text(_in_one_line(meant.notices), one_line=True))
    machine = await open_machine(meant.roots, settings, opening.file, opening.store)
    try:
        runtime = await _connect(opening, meant, machine)
    except BaseException:
        await machine.ends.aclose()
        raise
    if opening.hears is not None and runtime.recovered:
        opening.hears(runtime.recovered)
    return runtime


async def _begin(
    opening: RuntimeOpener, mode: Mode, machine: Machine, clock: Clock
) -> SessionParts:
    settings, store, named = opening.settings, machine.store, opening.session is not None
    name = opening.session or opening.continued
    session, resumed = await begin_session(name, settings, mode, machine)
    blobs = open_blobs(machine.home) if settings.journal else None
    plans = open_plan_mode(machine, session, clock, named=named)
    track_changes(machine, settings, blobs, clock, session.id)
    recovered = await recover_session(machine, plans.every, blobs, clock, session.id)
    if resumed:
        await restore_reads(session, store)
    process = "" if named else this_process()
    reserved = PathLeases(
        store, machine.files, session.id, clock, process=process, may_still_run=may_still_run
    )
    if not named:
        machine.ends.push_async_callback(reserved.aclose)
    past = Lazy(partial(_undo_service, machine, plans.every, blobs, clock))
    letters = DeadLetters(store, session, this_process(), may_still_run)
    return SessionParts(session, resumed, blobs, plans, recovered, past, reserved, letters)


def _undo_service(machine: Machine, files: Files, blobs: Blobs | None, clock: Clock) -> UndoService:
    from handrail.history.undo.service import LocalUndo

    commands = machine.commands
    settle = None if commands is None else commands.settle_jobs
    return LocalUndo(machine.store, files, blobs, clock, settle)


async def _connect(opening: RuntimeOpener, meant: ResolvedSettings, machine: Machine) -> Runtime:
    clock, bus = SystemClock(), EventBus()
    begun = await _begin(opening, meant.mode, machine, clock)
    registry, vocabulary = Registry(bus), meant.vocabulary
    names = canonical_names(vocabulary, registry.origin)
    obstacle = pattern_obstacle(registry)
    named = opening.session is not None
    policy = await open_policy(
        meant,
        opening.approver,
        machine,
        begun.session,
        names,
        begun.plans,
        obstacle,
        begun.reserved,
        begun.letters,
        opening.calls_together_s,
    )
    principals = Principals(meant.agents, policy, UserPolicy(policy.quotas, policy.dry_run))
    preparer = Preparer(registry, vocabulary, begun.plans.files, begun.session, principals)
    stored = _stored(machine, begun, preparer, policy)
    _register_tools(registry, _tool_services(opening.settings, machine, begun, stored), opening)
    _warn_of_useless_rules(meant.rules, obstacle)
    catalog = Catalog(registry, vocabulary, begun.session)
    await catalog.refresh(opening.tools)
    await resume_plan_mode(begun.plans, begun.session, machine, named=named)
    guardrails = policy.services.guardrails
    keeper = SessionKeeper(begun.session, machine.store, guardrails) if named else None

    opening.suspension = SessionSuspension(begun, machine, policy)
    commands, settings, plans = machine.commands, opening.settings, begun.plans
    first = await next_turn(begun.session, machine.store) if begun.resumed else 1
    ledger = answered_in(begun.session, machine.store, named=named or begun.resumed)
    ids = CallIds(ledger.prefix, first, policy.services.grants)
    timers = DeadlineTimer(clock, settings.heartbeat_s, partial(_beat, bus))
    options = recorder_options(settings, policy.services.denials, named=named)
    ended = None if keeper is None else keeper.keep_changes
    recorder = Recorder(begun.session, machine.store, bus, clock, timers, options, ended)
    pipeline = open_pipeline(settings, machine, begun, preparer, policy, recorder, timers)
    hooks = await _attach_hooks(meant, machine, pipeline, bus, resumed=begun.resumed)
    runner = IdempotentRunner(pipeline, ledger, ids, stored)
    batches = BatchRunner(runner, preparer, policy.loops, bus, clock, settings.most_at_once)
    return Runtime(
        SessionServices(
            begun.session,
            machine.store,
            begun.recovered,
            BackgroundJobs(None if commands is None else commands.processes),
            begun.letters,
            open_agent_services(machine, clock, ModelSource(settings, opening.model), hooks),
            partial(_close, keeper, machine),
        ),
        ToolServices(registry, catalog, preparer),
        CallServices(runner, batches, policy, plans.mode, timers, bus),
    )


async def _close(keeper: SessionKeeper | None, machine: Machine) -> None:
    if keeper is not None:
        await keeper.save()
    await machine.ends.aclose()


async def _attach_hooks(
    meant: ResolvedSettings, machine: Machine, pipeline: Pipeline, bus: EventBus, *, resumed: bool
) -> SessionHooks | None:
    if meant.hooks is None:
        return None
    from handrail.assembly.hooks import open_hooks

    return await open_hooks(meant.hooks, meant.loaded, machine, pipeline, bus, resumed=resumed)


def _register_tools(registry: Registry, services: Services, opening: RuntimeOpener) -> None:
    for name in BUILTIN_NAMES:
        registry.defer_builtin(name, partial(build_tool, name, services))
    for tool in opening.tools:
        registry.register(tool)


def _warn_of_useless_rules(rules: Sequence[Rule], obstacle: GrantObstacle) -> None:
    for rule in rules:
        useless = obstacle(rule) if rule.effect is Effect.ALLOW else None
        if useless is not None:
            text = f"the rule {rule.text!r} in {rule.origin} can allow nothing: {useless}"
            _log.warning("%s", safe_text(text, one_line=True))


def _stored(
    machine: Machine, begun: SessionParts, preparer: Preparer, policy: AgentPolicy
) -> StoredResults:
    session, files = begun.session, begun.plans.files
    review = ReadReview(preparer, files, policy, policy.services.denials)
    return StoredResults(session.id, machine.store, session.artifacts, review)


def _tool_services(
    settings: Settings, machine: Machine, begun: SessionParts, outputs: Outputs
) -> Services:
    commands, plans = machine.commands, begun.plans
    where = begun.session.whereabouts
    return Services(
        plans.files,
        machine.search,
        begun.past,
        settings.allow_delete,
        None if commands is None else Lazy(lambda: commands.parts.shell_in(where)),
        plans.mode,
        begun.reserved,
        outputs,
    )


def _in_one_line(notices: Sequence[str]) -> str:
    """The first notice, and how many more there are: every opening of the workspace says it."""
    more = len(notices) - 1
    if not more:
        return notices[0]
    rules = "one more rule" if more == 1 else f"{more} more rules"
    return f"{notices[0]}; the same holds for {rules}: `handrail doctor` lists them"


def _own_tools(tools: Iterable[Tool[Any]]) -> tuple[Tool[Any], ...]:
    if isinstance(tools, Tool):
        raise TypeError("tools is a list of tools: write tools=[…] around the one")
    return tuple(tools)


def _many(given: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """One, or several: a lone string is not a sequence of letters."""
    return [given] if isinstance(given, str | Path) else list(given)


def _beat(bus: EventBus, timer: CallTimer, elapsed_s: float) -> None:
    bus.emit(CallHeartbeat(timer.call_id, timer.tool, elapsed_s), timer.listener)
