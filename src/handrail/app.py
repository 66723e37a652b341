"""Where the parts are put together: settings in, Runtime out. The only file that knows all."""

from __future__ import annotations

import logging
import sys
import uuid
from collections.abc import Generator, Mapping, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, NoReturn

from handrail.app_config import config_file, load_from, refuse_idle
from handrail.app_policy import canonical_names, grants_from
from handrail.app_shell import Commands, Places, open_commands
from handrail.config.layers import Loaded
from handrail.config.settings import Settings
from handrail.core.commands import CommandJudge
from handrail.core.context import ReadState, Session, Whereabouts, go_to
from handrail.core.events import CallHeartbeat
from handrail.core.ports import Approver
from handrail.core.problems import ProblemRaised
from handrail.dialects.known import vocabulary_of
from handrail.engine.answered import Answered
from handrail.engine.approval import Approval
from handrail.engine.catalog import Catalog
from handrail.engine.events import EventBus, tell
from handrail.engine.freshness import Freshness
from handrail.engine.gate import Gate
from handrail.engine.jobs import Jobs
from handrail.engine.locks import Locks
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
from handrail.host.blobs import DirectoryBlobs, MemoryBlobs
from handrail.host.clock import SystemClock
from handrail.host.filelocks import FileLocks
from handrail.host.files.links import TopLinks
from handrail.host.files.local import LocalFiles
from handrail.host.home import Home, home_of
from handrail.host.owner import may_still_run, this_process
from handrail.host.search.choose import open_search
from handrail.host.search.python import PythonSearch
from handrail.host.search.ripgrep import RipgrepSearch
from handrail.host.statedir import config_home, ensure_outside, private_directory, state_home
from handrail.host.syntax.check import LocalSyntaxCheck
from handrail.policy.approvers import Callback, as_approver
from handrail.policy.clearance import Clearance
from handrail.policy.grants import Grants
from handrail.policy.modes import Mode, parse_mode
from handrail.policy.protected import LINKED, Guard, ProtectedNames
from handrail.store.sqlite import SqliteStore, open_store
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
    approver: Approver | Callback | None = None,
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
    refuse_idle(loaded)
    for notice in loaded.notices:
        _log.warning("%s", notice)
    file = None if isinstance(config, Mapping) else config_file(config)
    return Opening(Path(root), loaded, file, store, session, as_approver(approver))


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


@dataclass(frozen=True, slots=True)
class Machine:
    """What a runtime holds open, and `ends`, which lets go of it in reverse order."""

    home: Home
    files: LocalFiles
    search: RipgrepSearch | PythonSearch
    store: SqliteStore
    own: tuple[str, ...]
    commands: Commands | None
    ends: AsyncExitStack

    @property
    def judge(self) -> CommandJudge | None:
        """What understands commands, None where none can be run."""
        return None if self.commands is None else self.commands.judge


async def _assemble(opening: Opening) -> Runtime:
    settings = opening.settings
    mode = parse_mode(settings.mode)
    roots = [_directory(opening.root), *(_directory(Path(one)) for one in settings.directories)]
    home = home_of(roots[0], opening.store)
    hidden = _outside(home, roots)
    ends = AsyncExitStack()
    try:
        files = LocalFiles(
            [str(root) for root in roots],
            hidden=hidden,
            break_hard_links=settings.break_hard_links,
        )
        ends.callback(files.close)
        handles = [files.handle(index) for index in range(len(files.roots))]
        search = open_search(files.roots, hidden, handles)
        ends.callback(search.close)
        store = open_store(home.store, busy_timeout_s=settings.store_timeout_s)
        ends.push_async_callback(store.aclose)
        own = tuple(_own_places(opening.file, search))
        commands = open_commands(Places(home, files, own, hidden), settings, ends)
        return await _connect(
            opening, mode, Machine(home, files, search, store, own, commands, ends)
        )
    except BaseException:
        await ends.aclose()
        raise


async def _connect(opening: Opening, mode: Mode, machine: Machine) -> Runtime:
    home, files, store = machine.home, machine.files, machine.store
    settings, clock, bus = opening.settings, SystemClock(), EventBus()
    session, resumed = await _session(opening, mode, home, files, store)
    newest = await store.calls(session=session.id, limit=1) if resumed else []
    registry = Registry(bus)
    blobs = _blobs(home) if settings.journal else None
    recovered = await Recovery(store, files, blobs, clock, may_still_run).run()
    past = Undo(store, files, blobs)
    vocabulary, commands = vocabulary_of(settings.dialect), machine.commands
    _register(registry, machine, session, past, allow_delete=settings.allow_delete)
    catalog = Catalog(registry, vocabulary, session)
    await catalog.refresh()
    preparer = Preparer(registry, vocabulary, files, session)
    names = canonical_names(vocabulary, registry)
    grants = grants_from(opening.loaded, names, files.roots, machine.judge, clock)
    pipeline = Pipeline(
        session=session,
        files=files,
        blobs=blobs,
        preparer=preparer,
        gate=_gate(opening, mode, machine, preparer, grants),
        locks=Locks(_process_locks(home)),
        ticker=Ticker(clock, settings.heartbeat_s, lambda watch, at: _beat(bus, watch, at)),
        recorder=Recorder(session, store, bus, clock, _recording(settings)),
        freshness=Freshness(_freshness(settings), session.reads, files),
        syntax=LocalSyntaxCheck(),
        dry_run=settings.dry_run,
        durable=settings.durability == "power",
        commands=None if commands is None else commands.runner,
    )

    async def close() -> None:
        if opening.session is not None:
            _save(session, store)
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
            answered=Answered(
                session.id,
                store,
                resumed=opening.session is not None,
                owner=this_process(),
                alive=may_still_run,
            ),
            most_at_once=settings.most_at_once,
            first_turn=newest[0].turn + 1 if newest else 1,
            recovered=recovered,
            jobs=Jobs(None if commands is None else commands.processes),
            close=close,
        )
    )


def _save(session: Session, store: SqliteStore) -> None:
    """What a named session goes on with."""
    store.save_state(session.id, "reads", save_reads(session.reads))
    store.save_state(session.id, "directory", session.whereabouts.directory)


def _register(
    registry: Registry, machine: Machine, session: Session, past: Undo, *, allow_delete: bool
) -> None:
    commands = machine.commands
    shell = None if commands is None else commands.shell_in(session.whereabouts)
    services = Services(machine.files, machine.search, past, allow_delete, shell)
    for tool in builtin_tools(services):
        registry.register(tool, origin=Origin.BUILTIN)


async def _session(
    opening: Opening, mode: Mode, home: Home, files: LocalFiles, store: SqliteStore
) -> tuple[Session, bool]:
    """The session to work in, and whether it is an earlier one that goes on."""
    session_id = opening.session or uuid.uuid4().hex[:12]
    info = {
        "workspace": files.roots[0],
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


def _gate(
    opening: Opening, mode: Mode, machine: Machine, preparer: Preparer, grants: Grants
) -> Gate:
    commands = machine.commands
    protected = ProtectedNames(
        machine.files.roots,
        own=machine.own,
        allowed=opening.settings.allow_protected,
        memories=mode is not Mode.BYPASS,
        links=TopLinks(machine.files, LINKED),
    )
    guards: list[Guard] = [protected, *(commands.guards if commands is not None else ())]
    held = commands.hold if commands is not None else bool
    clearance = Clearance(mode, guards, held, grants)
    return Gate(clearance, Approval(opening.approver), preparer, grants)


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


def _directory(path: Path) -> Path:
    try:
        resolved = path.expanduser().resolve(strict=True)
    except OSError:
        raise ProblemRaised(
            "not_found", f"there is no directory {str(path)!r}", hint="make it, or name another"
        ) from None
    if not resolved.is_dir():
        raise ProblemRaised("not_found", f"{str(path)!r} is not a directory")
    return resolved


def _outside(home: Home, roots: Sequence[Path]) -> tuple[str, ...]:
    """Make the home; returns what must be hidden because a root contains it: what other
    workspaces have recorded too, wherever this one records.
    """
    inside = [str(root) for root in roots]
    hidden = set(ensure_outside(state_home(), inside))
    if home.directory is not None:
        hidden.update(ensure_outside(Path(home.store), inside))
        private_directory(home.directory)
    return tuple(sorted(hidden))


def _own_places(config: Path | None, search: RipgrepSearch | PythonSearch) -> list[str]:
    """What the model must never change, wherever it lies: the code that watches it, what
    runs that code, and what tells it what to allow.
    """
    places = {Path(__file__).parent, state_home(), config_home()}
    places |= {Path(sys.prefix), Path(sys.base_prefix), Path(sys.executable)}
    if config is not None:
        places.add(config)
    if isinstance(search, RipgrepSearch):
        places.add(Path(search.binary))
    return sorted({str(place.resolve()) for place in places})


def _blobs(home: Home) -> DirectoryBlobs | MemoryBlobs:
    return DirectoryBlobs(home.blobs) if home.blobs is not None else MemoryBlobs()


def _process_locks(home: Home) -> FileLocks | None:
    if home.directory is None:
        return None
    try:
        # One place for all stores: two runtimes on a workspace must meet, wherever they record.
        return FileLocks(private_directory(state_home() / "locks"))
    except ProblemRaised:
        return FileLocks(private_directory(home.directory / "locks"))


def _beat(bus: EventBus, watch: Watch, elapsed_s: float) -> None:
    event = CallHeartbeat(watch.call_id, watch.tool, elapsed_s)
    if watch.listener is not None:
        tell(watch.listener, event)
    bus.emit(event)
