"""Where the parts are put together: settings in, Runtime out. The only file that knows all."""

from __future__ import annotations

import logging
import uuid
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn

from handrail.app_agents import agents_of
from handrail.app_approver import Asked, approver_for
from handrail.app_config import config_file, load_from
from handrail.app_effects import track_commands
from handrail.app_guardrails import guardrails_from, save_counts
from handrail.app_hooks import open_hooks
from handrail.app_machine import Machine, open_blobs, open_locks, open_machine
from handrail.app_plan import Plans, plans_of, resume
from handrail.app_policy import canonical_names, grants_from, keep_away, kept_by
from handrail.config.layers import Loaded
from handrail.config.settings import Settings
from handrail.core.context import ReadState, Session, Whereabouts, go_to
from handrail.core.events import CallHeartbeat
from handrail.core.ports import Approver
from handrail.dialects.known import vocabulary_of
from handrail.engine.answered import Answered
from handrail.engine.approval import Approval
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus, tell
from handrail.engine.freshness import Freshness
from handrail.engine.gate import Gate
from handrail.engine.jobs import Jobs
from handrail.engine.locks import Locks
from handrail.engine.path_locks import PathLocks
from handrail.engine.pipeline import Pipeline
from handrail.engine.prepare import Preparer
from handrail.engine.recorder import Recorder, Recording
from handrail.engine.registry import Origin, Registry
from handrail.engine.runtime import Parts, Runtime
from handrail.engine.saved import restore_reads, save_reads
from handrail.engine.ticker import Ticker, Watch
from handrail.history.recovery import Recovery
from handrail.history.undo import Undo
from handrail.host.artifacts import DirectoryArtifacts
from handrail.host.birth import folder_identity
from handrail.host.clock import SystemClock
from handrail.host.files.links import TopLinks
from handrail.host.files.local import LocalFiles
from handrail.host.home import Home
from handrail.host.owner import may_still_run, this_process
from handrail.host.syntax.check import LocalSyntaxCheck
from handrail.policy.clearance import Clearance
from handrail.policy.guardrails.guard import Guardrails
from handrail.policy.loop_guard import LoopGuard
from handrail.policy.modes import Mode, parse_mode
from handrail.policy.protected import LINKED, Guard, ProtectedNames
from handrail.policy.rule_set import RuleSet
from handrail.policy.rule_text import Canonical
from handrail.store.sqlite import SqliteStore
from handrail.tools.builtin import Services, builtin_tools

_log = logging.getLogger("handrail")


def open(
    root: str | Path = ".",
    *,
    mode: str | None = None,
    dialect: str | None = None,
    store: str | Path | None = None,
    session: str | None = None,
    directories: str | Path | Sequence[str | Path] | None = None,
    approver: Asked = None,
    allow_delete: bool | None = None,
    allow_protected: str | Sequence[str] | None = None,
    dry_run: bool | None = None,
    config: str | Path | Mapping[str, Any] | None = None,
    durability: str | None = None,
    sandbox: str | None = None,
) -> Opening:
    """Open a runtime on a workspace: `async with handrail.open(path) as rt`, or await it.

    What is not given comes from the person's configuration file, then from the defaults.
    `config` names another file, or is a mapping used instead of one. `store` is a file,
    or ":memory:" to leave nothing outside the workspace. `session` names a session to go on
    with. Raises `ProblemRaised` if the workspace, a setting or the store is unusable.
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
    }
    loaded = load_from(root, config, overrides)
    for notice in loaded.notices:
        _log.warning("%s", notice)
    file = None if isinstance(config, Mapping) else config_file(config)
    return Opening(Path(root), loaded, file, store, session, approver_for(approver, root))


@dataclass(slots=True)
class Opening:
    """What `open` returns: await it, or use it with `async with`."""

    root: Path
    loaded: Loaded
    file: Path | None
    store: str | Path | None
    session: str | None
    approver: Approver | None
    runtime: Runtime | None = None

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


async def _assemble(opening: Opening) -> Runtime:
    settings = opening.settings
    mode = parse_mode(settings.mode)
    roots = [opening.root, *map(Path, settings.directories)]
    machine = await open_machine(roots, settings, opening.file, opening.store)
    try:
        return await _connect(opening, mode, machine)
    except BaseException:
        await machine.ends.aclose()
        raise


async def _connect(opening: Opening, mode: Mode, machine: Machine) -> Runtime:
    home, files, store = machine.home, machine.files, machine.store
    settings, clock, bus = opening.settings, SystemClock(), EventBus()
    session, resumed = await _session(opening, mode, home, files, store)
    registry = Registry(bus)
    blobs = open_blobs(home) if settings.journal else None
    named = opening.session is not None
    plans = plans_of(machine, session, clock, named=named)
    effects = track_commands(machine, settings, blobs, clock, session.id)
    looked = None if effects is None else effects.unfinished
    recovery = Recovery(store, plans.every, blobs, clock, may_still_run, looked)
    recovered = await recovery.run(session.id)
    past = Undo(store, plans.every, blobs, clock)
    vocabulary, commands = vocabulary_of(settings.dialect), machine.commands
    reserved = PathLocks(store, files.roots, session.id, clock)
    if not named:
        machine.ends.push_async_callback(reserved.aclose)
    shell = None if commands is None else commands.shell_in(session.whereabouts)
    services = Services(
        plans.files, machine.search, past, settings.allow_delete, shell, plans.mode, reserved
    )
    for tool in builtin_tools(services):
        registry.register(tool, origin=Origin.BUILTIN)
    catalog = Catalog(registry, vocabulary, session)
    await catalog.refresh()
    names = canonical_names(vocabulary, registry)
    agents = agents_of(opening.loaded, names)
    preparer = Preparer(registry, vocabulary, plans.files, session, agents)
    gate = await _gate(opening, mode, machine, session, preparer, names, plans)
    pipeline = Pipeline(
        session=session,
        files=plans.files,
        blobs=blobs,
        preparer=preparer,
        gate=gate,
        locks=Locks(open_locks(home)),
        ticker=Ticker(clock, settings.heartbeat_s, lambda watch, at: _beat(bus, watch, at)),
        recorder=Recorder(session, store, bus, clock, _recording(settings)),
        freshness=Freshness(_freshness(settings), session.reads, plans.files),
        syntax=LocalSyntaxCheck(),
        dry_run=settings.dry_run,
        durable=settings.durability == "power",
        loops=LoopGuard(settings.loop_guard, clock.monotonic),
        reserved=reserved,
        plans=plans.mode,
        commands=None if commands is None else commands.runner,
    )
    await open_hooks(opening.loaded, machine, pipeline, registry, bus, resumed=resumed)

    async def close() -> None:
        if named:
            _save(session, store, gate.guardrails)
        await machine.ends.aclose()

    return Runtime(
        Parts(
            session=session,
            registry=registry,
            catalog=catalog,
            pipeline=pipeline,
            store=store,
            bus=bus,
            clock=clock,
            answered=_answered(session, store, named=named),
            most_at_once=settings.most_at_once,
            first_turn=await _next_turn(session, store) if resumed else 1,
            recovered=recovered,
            jobs=Jobs(None if commands is None else commands.processes),
            close=close,
        )
    )


async def _next_turn(session: Session, store: SqliteStore) -> int:
    newest = await store.calls(session=session.id, limit=1)
    return newest[0].turn + 1 if newest else 1


def _answered(session: Session, store: SqliteStore, *, named: bool) -> Answered:
    owner = this_process()
    return Answered(session.id, store, resumed=named, owner=owner, alive=may_still_run)


def _save(session: Session, store: SqliteStore, guardrails: Guardrails | None) -> None:
    """What a named session goes on with."""
    store.save_state(session.id, "reads", save_reads(session.reads))
    store.save_state(session.id, "directory", session.whereabouts.directory)
    if guardrails is not None:
        save_counts(guardrails, session, store)


async def _session(
    opening: Opening, mode: Mode, home: Home, files: LocalFiles, store: SqliteStore
) -> tuple[Session, bool]:
    """The session to work in, and whether it is an earlier one that goes on."""
    session_id = opening.session or uuid.uuid4().hex[:12]
    info = {
        "workspace": files.roots[0],
        "folder": folder_identity(files.roots[0]),
        "mode": mode.value,
        "dialect": opening.settings.dialect,
    }
    resumed = await store.open_session(session_id, info)
    kept = await store.load_state(session_id) if resumed else {}
    moves = vocabulary_of(opening.settings.dialect).dialect.keeps_directory
    session = Session(
        id=session_id,
        roots=files.roots,
        mode=mode.value,
        reads=restore_reads(kept["reads"]) if "reads" in kept else ReadState(),
        artifacts=DirectoryArtifacts(home.oversized),
        whereabouts=Whereabouts(files.roots[0], moves=moves),
    )
    if moves and "directory" in kept:
        go_to(session.whereabouts, kept["directory"], files)
    return session, resumed


async def _gate(
    opening: Opening,
    mode: Mode,
    machine: Machine,
    session: Session,
    preparer: Preparer,
    names: Canonical,
    plans: Plans,
) -> Gate:
    loaded, commands, roots = opening.loaded, machine.commands, machine.files.roots
    runner = None if commands is None else commands.runner
    kept = kept_by(machine.search, runner)
    grants = grants_from(loaded, names, roots, machine.judge, SystemClock(), kept)
    rules = partial(RuleSet, kept=kept)
    guardrails = await guardrails_from(loaded, session, machine.store, rules)
    keep_away(machine.search, runner, grants.rules, guardrails.denied_reads)
    protected = ProtectedNames(
        roots,
        own=machine.own,
        allowed=opening.settings.allow_protected,
        memories=mode is not Mode.BYPASS,
        links=TopLinks(machine.files, LINKED),
    )
    guards: list[Guard] = [protected, guardrails]
    guards += commands.guards if commands is not None else ()
    held = commands.hold if commands is not None else bool
    clearance = Clearance(mode, guards, held, grants)
    approval = Approval(opening.approver, grants)
    plans.mode.govern(clearance, grants)
    await resume(plans, session, machine, named=opening.session is not None)
    return Gate(clearance, approval, preparer, grants, guardrails)


def _freshness(settings: Settings) -> Literal["off", "warn", "strict"]:
    if settings.freshness != "auto":
        return settings.freshness
    return "strict" if settings.dialect == "claude" else "warn"


def _recording(settings: Settings) -> Recording:
    return Recording(
        settings.dialect,
        this_process(),
        settings.durability,
        settings.max_chars,
        settings.reads_without_store,
    )


def _many(given: str | Path | Sequence[str | Path]) -> list[str | Path]:
    """One, or several: a lone string is not a sequence of letters."""
    return [given] if isinstance(given, str | Path) else list(given)


def _beat(bus: EventBus, watch: Watch, elapsed_s: float) -> None:
    event = CallHeartbeat(watch.call_id, watch.tool, elapsed_s)
    if watch.listener is not None:
        tell(watch.listener, event)
    bus.emit(event)
