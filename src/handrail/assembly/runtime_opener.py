"""Opens a runtime: connects all parts. The only module that knows every part."""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn

from handrail.assembly.approver import ApproverChoice, approver_for
from handrail.assembly.calls import (
    NestedCalls,
    SessionParts,
    add_edit_diagnostics,
    open_batches,
    open_pipeline,
    open_tool_services,
    recorder_options,
)
from handrail.assembly.extras.deferred import (
    add_resolved,
    defer_agents,
    defer_fork,
    defer_subagents,
    defer_web,
    open_remote,
)
from handrail.assembly.machine import Machine, open_blobs, open_machine
from handrail.assembly.plan_mode import attach_runner, open_plan_mode, resume_plan_mode
from handrail.assembly.policy_services import open_policy
from handrail.assembly.recovery import recover_session, track_changes
from handrail.assembly.resolved_settings import ResolvedSettings, resolve_settings
from handrail.assembly.rules import canonical_names, pattern_obstacle, warn_of_useless_rules
from handrail.assembly.session import (
    SessionKeeper,
    SessionSuspension,
    answered_in,
    begin_session,
    dead_letters,
    model_name,
    next_turn,
    restore_reads,
    undo_service,
)
from handrail.assembly.settings_files import config_file, load_from
from handrail.assembly.skills import open_skills, register_skill_tools
from handrail.config.layers.load import LoadedSettings
from handrail.config.model import Settings
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Approver, Clock
from handrail.core.text.safe_text import safe_text
from handrail.core.tool import Tool
from handrail.engine.batch.locks import PathLeases
from handrail.engine.call_policy import AgentPolicy, UserPolicy
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus
from handrail.engine.jobs import BackgroundJobs
from handrail.engine.pipeline import Pipeline
from handrail.engine.prepare.preparer import CallIds, Preparer, Principals
from handrail.engine.recording.idempotency import IdempotentRunner
from handrail.engine.recording.read_review import ReadReview
from handrail.engine.recording.recorder import Recorder
from handrail.engine.recording.stored_results import StoredResults
from handrail.engine.registry import Registry, RegistryView, ToolResolver
from handrail.engine.runtime import Runtime
from handrail.engine.services import CallServices, SessionServices, ToolServices
from handrail.engine.timing import CallTimer, DeadlineTimer
from handrail.engine.todos import StoredTodos
from handrail.history.recovered_call import RecoveredCall
from handrail.host.clock import SystemClock
from handrail.host.state.identities import may_still_run, this_process
from handrail.policy.modes import Mode
from handrail.tools._lib.services import Services
from handrail.tools.builtin import BUILTIN_NAMES, build_tool

if TYPE_CHECKING:
    from handrail.assembly.models import ModelSource
    from handrail.core.ports.models import Model
    from handrail.core.ports.web import SearchBackend
    from handrail.engine.hooking.dispatcher import SessionHooks
    from handrail.mcp.client.tool_set import RemoteToolSet

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
    search: SearchBackend | None = None,
    resolve_tool: ToolResolver | None = None,
) -> RuntimeOpener:
    """Open a runtime on a workspace: `async with handrail.open(path) as rt`, or await it.

    Arguments that are not given come from the user's configuration file, then from the defaults.
    `config` is another file, or a mapping to use instead of a file. `store` is a file, the URL of a
    database, or ":memory:" to write nothing outside the workspace. `session` is the name of a session to
    continue or create. `tools` are user-defined tools: they are registered before rules and hooks are
    read, so that these can name them. `search` is a function of the query and the number of results that
    `web_search` uses instead of the engine of the settings. `resolve_tool` returns the tool for a name
    that is not registered, or None; the first call registers such a tool.

    Raises `ProblemRaised` if the workspace, a setting or the store is unusable, TypeError for a tool that
    cannot be registered.
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
    asked = approver_for(approver, root, store)
    opener = RuntimeOpener(
        Path(root), loaded, file, store, session, asked, None, own, model, search, resolve_tool
    )
    opener.options = {**overrides, "store": store, "approver": approver, "config": config}
    return opener


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
    search: SearchBackend | None = None
    resolve_tool: ToolResolver | None = None
    # Equal calls within this time after the end of one count as one call for the loop guard.
    calls_together_s: float = 0.0
    # Called with the recovered calls, if there are any.
    on_recovered: Callable[[Sequence[RecoveredCall]], None] | None = None
    # The id of a session without a name that another runtime of this process has saved.
    continued: str | None = None
    # Saves the session of the opened runtime, to be continued.
    suspension: SessionSuspension | None = None
    # The directory for the files that accompany a store on a server, instead of the state directory.
    beside_server: Path | None = None
    # Further arguments of `open`, as they were given.
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> Settings:
        """The settings in force."""
        return self.loaded.settings

    def keep_jobs(self) -> None:
        """Let background jobs outlive this runtime, regardless of the settings."""
        settings = replace(self.settings, keep_jobs=True)
        self.loaded = self.loaded._replace(settings=settings)

    def at(self, root: Path, **changed: Any) -> RuntimeOpener:
        """Open another directory with the same arguments, except for `changed`."""
        own = {"tools": self.tools, "model": self.model, "search": self.search}
        given = {**self.options, **own, "resolve_tool": self.resolve_tool, **changed}
        return open(root, **given)

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
    resolved = resolve_settings(opening.loaded, opening.root, [tool.name for tool in opening.tools])
    if resolved.notices:
        _log.warning("%s", safe_text(_in_one_line(resolved.notices), one_line=True))
    machine = await open_machine(
        resolved.roots, settings, opening.file, opening.store, opening.beside_server
    )
    try:
        runtime = await _connect(opening, resolved, machine)
    except BaseException:
        await machine.ends.aclose()
        raise
    if opening.on_recovered is not None and runtime.recovered:
        opening.on_recovered(runtime.recovered)
    return runtime


async def _begin(
    opening: RuntimeOpener, mode: Mode, machine: Machine, clock: Clock
) -> SessionParts:
    settings, store, named = opening.settings, machine.store, opening.session is not None
    name = opening.session or opening.continued
    session, resumed = await begin_session(name, settings, mode, machine)
    session.options.main_loop_model = model_name(opening.model or settings.model)
    blobs = open_blobs(machine.home) if settings.journal else None
    plans = open_plan_mode(machine, session, clock, named=named)
    track_changes(machine, settings, blobs, clock, session.id)
    recovered = await recover_session(machine, plans.every, blobs, clock, session.id)
    if resumed:
        await restore_reads(session, store, machine.files)
    process = "" if named else this_process()
    reserved = PathLeases(
        store, machine.files, session.id, clock, process=process, may_still_run=may_still_run
    )
    if not named:
        machine.ends.push_async_callback(reserved.aclose)
    past = Lazy(partial(undo_service, machine, plans.every, blobs, clock))
    letters = Lazy(partial(dead_letters, store, session))
    return SessionParts(session, resumed, blobs, plans, recovered, past, reserved, letters)


async def _connect(opening: RuntimeOpener, resolved: ResolvedSettings, machine: Machine) -> Runtime:
    clock, bus, named = SystemClock(), EventBus(), opening.session is not None
    begun = await _begin(opening, resolved.mode, machine, clock)
    vocabulary = resolved.vocabulary
    shown = {view.name: view.tool for view in vocabulary.dialect.views}
    registry = Registry(bus, RegistryView(shown, lambda tool: tool.enabled(begun.session)))
    names, obstacle = canonical_names(vocabulary, registry.origin), pattern_obstacle(registry)
    timers = DeadlineTimer(clock, opening.settings.heartbeat_s, partial(_beat, bus))
    asking = opening.approver, machine, begun, names, obstacle, opening.calls_together_s
    policy = await open_policy(resolved, *asking, bus, timers)
    principals = Principals(resolved.agents, policy, UserPolicy(policy.quotas, policy.dry_run))
    preparer = Preparer(registry, vocabulary, begun.plans.files, begun.session, principals)
    stored = _stored(machine, begun, preparer, policy)
    todos = StoredTodos(begun.session.id, machine.store)
    models = Lazy(partial(_model_source, opening))
    web = defer_web(opening.settings, machine, begun.session, models, clock, opening.search)
    nested = NestedCalls(preparer)
    services = open_tool_services(
        opening.settings, machine, begun, stored, todos, policy, web, bus, nested
    )
    skills = open_skills(machine, opening.settings, vocabulary, opening.tools)
    agents = defer_subagents(resolved, begun.session, lambda: runtime)
    remote = open_remote(opening.settings, machine, services, begun.session)
    own = services._replace(skills=skills, subagents=agents, remote_tools=remote)
    _register_tools(registry, own, opening, remote)
    warn_of_useless_rules(resolved.rules, obstacle)
    catalog = Catalog(registry, vocabulary, begun.session)
    await catalog.refresh(opening.tools)
    await resume_plan_mode(begun.plans, begun.session, machine, named=named)
    kept = begun.session, machine.store, policy.services.guardrails
    keeper = SessionKeeper(*kept) if named else None
    opening.suspension = SessionSuspension(begun, machine, policy)
    commands, settings, plans = machine.commands, opening.settings, begun.plans
    first = await next_turn(begun.session, machine.store) if begun.resumed else 1
    ledger = answered_in(begun.session, machine.store, named=named or begun.resumed)
    ids = CallIds(ledger.prefix, first, policy.services.grants)
    options = recorder_options(settings, policy.services.denials, named=named)
    ended = None if keeper is None else keeper.keep_changes
    recorder = Recorder(begun.session, machine.store, bus, clock, timers, options, ended)
    pipeline = open_pipeline(settings, machine, begun, preparer, policy, recorder, timers)
    hooks = await _attach_hooks(resolved, machine, pipeline, bus, services, resumed=begun.resumed)
    runner = nested.runner = IdempotentRunner(pipeline, ledger, ids, stored)
    attach_runner(plans, runner, preparer)
    batches = open_batches(runner, preparer, policy, bus, clock, settings.most_at_once)
    open_fork = defer_fork(opening, machine, begun, policy.services.denials)
    runtime = Runtime(
        SessionServices(
            begun.session,
            machine.store,
            begun.recovered,
            BackgroundJobs(None if commands is None else commands.processes),
            begun.letters,
            defer_agents(machine, clock, models, hooks, skills, agents, remote, open_fork),
            partial(_close, keeper, machine),
        ),
        ToolServices(registry, catalog, preparer, todos),
        CallServices(runner, batches, policy, plans.mode, timers, bus),
    )
    return runtime


def _model_source(opening: RuntimeOpener) -> ModelSource:
    from handrail.assembly.models import ModelSource

    return ModelSource(opening.settings, opening.model)


async def _close(keeper: SessionKeeper | None, machine: Machine) -> None:
    if keeper is not None:
        await keeper.save()
    await machine.ends.aclose()


async def _attach_hooks(
    resolved: ResolvedSettings,
    machine: Machine,
    pipeline: Pipeline,
    bus: EventBus,
    services: Services,
    *,
    resumed: bool,
) -> SessionHooks | None:
    add_edit_diagnostics(resolved.loaded.settings.lsp, services, pipeline)
    if resolved.hooks is None:
        return None
    from handrail.assembly.hooks import open_hooks

    return await open_hooks(
        resolved.hooks, resolved.loaded, machine, pipeline, bus, resumed=resumed
    )


def _register_tools(
    registry: Registry,
    services: Services,
    opening: RuntimeOpener,
    remote: RemoteToolSet | None,
) -> None:
    for name in BUILTIN_NAMES:
        registry.defer_builtin(name, partial(build_tool, name, services))
    for tool in opening.tools:
        registry.register(tool)
    register_skill_tools(registry, opening.settings, services)
    add_resolved(registry, remote, opening.resolve_tool)


def _stored(
    machine: Machine, begun: SessionParts, preparer: Preparer, policy: AgentPolicy
) -> StoredResults:
    session, files = begun.session, begun.plans.files
    review = ReadReview(preparer, files, policy, policy.services.denials)
    return StoredResults(session.id, machine.store, session.artifacts, review)


def _in_one_line(notices: Sequence[str]) -> str:
    """The first notice and the number of the others; short, because every opening logs it."""
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
    """The value as a list; a single string or path becomes a list of one."""
    return [given] if isinstance(given, str | Path) else list(given)


def _beat(bus: EventBus, timer: CallTimer, elapsed_s: float) -> None:
    from handrail.core.events import CallHeartbeat

    bus.emit(CallHeartbeat(timer.call_id, timer.tool, elapsed_s), timer.listener)
