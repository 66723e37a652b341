"""Builds the pipeline that runs calls, and the services of the built-in tools."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from handrail.assembly.extras.deferred import defer_media
from handrail.assembly.machine import Machine, open_locks
from handrail.assembly.plan_mode import PlanServices
from handrail.config.model import Settings
from handrail.core.call import ToolCall
from handrail.core.context import Session
from handrail.core.lazy import Lazy
from handrail.core.ports.machine import Blobs
from handrail.core.ports.undo import UndoService
from handrail.core.problems import ProblemRaised
from handrail.core.results import ToolResult
from handrail.engine.batch.locks import Locks, PathLeases
from handrail.engine.call_policy import AgentPolicy
from handrail.engine.executors.direct_executor import DeferredExecutors, DirectExecutor, Executor
from handrail.engine.failures import FailureTranslator
from handrail.engine.hooking.call_hooks import CallHooks
from handrail.engine.pipeline import Pipeline
from handrail.engine.planning.planner import CallPlanner, Freshness
from handrail.engine.prepare.prepared_call import ExecutorKind
from handrail.engine.prepare.preparer import Preparer
from handrail.engine.recording.read_review import ReadDenialCheck, read_rules_digest
from handrail.engine.recording.recorder import Recorder, RecorderOptions
from handrail.engine.recording.truncation import TruncationOptions
from handrail.engine.timing import DeadlineTimer
from handrail.history.recovered_call import RecoveredCall
from handrail.host.state.identities import this_process
from handrail.tools._lib.services import Services

if TYPE_CHECKING:
    from handrail.assembly.deferred_commands import Commands
    from handrail.config.model import LanguageServerSettings, LanguageServerTable
    from handrail.core.events import Event
    from handrail.core.outputs import Outputs
    from handrail.core.ports.language_servers import CodeDocument, LanguageServers
    from handrail.core.ports.machine import Clock, Files
    from handrail.core.ports.processes import Confinement
    from handrail.core.ports.todos import TodoList
    from handrail.core.ports.web import WebServices
    from handrail.engine.batch.batch_runner import BatchRunner
    from handrail.engine.events import EventBus
    from handrail.engine.recording.failed_call_retry import FailedCalls
    from handrail.engine.recording.idempotency import IdempotentRunner
    from handrail.lsp.catalog import ServerCatalog, ServerSpec


class SessionParts(NamedTuple):
    """A new or resumed session, and the services that belong to it."""

    session: Session
    resumed: bool
    blobs: Blobs | None
    plans: PlanServices
    recovered: Sequence[RecoveredCall]
    past: Lazy[UndoService]
    reserved: PathLeases
    letters: Lazy[FailedCalls]


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
        # Two runtimes may use one session and have turns with the same numbers.
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


def open_batches(
    runner: IdempotentRunner,
    preparer: Preparer,
    policy: AgentPolicy,
    bus: EventBus,
    clock: Clock,
    most_at_once: int,
) -> Lazy[BatchRunner]:
    """The runner of batches of calls; not loaded by a runtime that makes only single calls."""

    def build() -> BatchRunner:
        from handrail.engine.batch.batch_runner import BatchRunner

        return BatchRunner(runner, preparer, policy.loops, bus, clock, most_at_once)

    return Lazy(build)


class NestedCalls:
    """Calls that a tool makes as a part of its own call, for the same agent in the same turn. Each is
    checked and recorded separately.
    """

    runner: IdempotentRunner

    def __init__(self, preparer: Preparer) -> None:
        self._preparer = preparer

    async def run(self, outer: ToolCall, name: str, arguments: Mapping[str, Any]) -> ToolResult:
        """Make a call and return its result."""
        call_id = self.runner.ids.fresh_id()
        call = outer._replace(id=call_id, name=name, arguments=arguments, from_model=False)
        return await self.runner.run(self._preparer.prepare(call))


def open_tool_services(
    settings: Settings,
    machine: Machine,
    begun: SessionParts,
    outputs: Outputs,
    todos: TodoList,
    policy: AgentPolicy,
    web: Lazy[WebServices],
    bus: EventBus,
    nested: NestedCalls,
) -> Services:
    """The services of the built-in tools."""
    commands, plans = machine.commands, begun.plans
    denials = policy.services.denials
    where = begun.session.working_directory
    return Services(
        plans.files,
        machine.search,
        begun.past,
        settings.allow_delete,
        None if commands is None else Lazy(lambda: commands.parts.shell_in(where)),
        plans.mode,
        begun.reserved,
        outputs,
        todos,
        policy.approval,
        web,
        defer_media(),
        language_servers=open_language_servers(settings, machine, bus),
        withheld=(lambda path: False) if denials is None else denials.hides,
        call_tool=nested.run,
        max_chars=_page_size(settings),
    )


def _page_size(settings: Settings) -> int:
    """The limit that pages of tools fit into; none where the user says which part of a result
    that is too long is shown.
    """
    if settings.truncation_strategy != "auto" or settings.max_chars is None:
        return sys.maxsize
    return settings.max_chars


def open_language_servers(
    settings: Settings, machine: Machine, bus: EventBus
) -> Lazy[LanguageServers] | None:
    """The language servers of a session, none started; None if commands or language servers are off."""
    commands, files = machine.commands, machine.files
    if commands is None or not settings.commands or settings.lsp.enabled == "off":
        return None
    return Lazy(lambda: _build_servers(settings.lsp, files, commands, bus))


def add_edit_diagnostics(
    settings: LanguageServerSettings, services: Services, pipeline: Pipeline
) -> None:
    """Add diagnostics to the results of edits, if the settings enable it."""
    servers = services.language_servers
    if servers is None or not settings.after_edit:
        return
    from handrail.lsp.edit_diagnostics import EditDiagnostics
    from handrail.tools._lib.code_files import CodeFiles

    def load(path: str) -> CodeDocument | None:
        try:
            place = services.files.locate(path)
        except ProblemRaised:
            return None
        file = CodeFiles(services.files, services.withheld).find(place.absolute)
        return None if file is None else file.document

    pipeline.hooks.hooks.append(EditDiagnostics(servers, load, settings.wait_s))


def _build_servers(
    settings: LanguageServerSettings, files: Files, commands: Commands, bus: EventBus
) -> LanguageServers:
    from handrail.lsp.server import ServerLimits
    from handrail.lsp.service import ServerHost, SessionLanguageServers

    confine = partial(_confine_server, commands, files)
    host = ServerHost(commands.processes, lambda: commands.parts.environment, files.roots, confine)
    limits = ServerLimits(settings.initialize_s, settings.request_s, settings.wait_s)
    servers = SessionLanguageServers(server_catalog(settings, files.roots), host, limits)
    bus.subscribe(partial(_note_changed_file, servers, files))
    return servers


async def _confine_server(
    commands: Commands, files: Files, name: str, approved: bool
) -> Confinement:
    from handrail.tools.search.lsp import server_analysis

    analysis = server_analysis(name, tuple(f"{root.rstrip('/')}/" for root in files.roots))
    return await commands.parts.runner.confinement.for_server(analysis, approved=approved)


def _note_changed_file(servers: LanguageServers, files: Files, event: Event) -> None:
    from handrail.core.events import FileChanged

    if isinstance(event, FileChanged):
        servers.note_change(files.locate(event.path).absolute)


def server_catalog(settings: LanguageServerSettings, roots: Sequence[str]) -> ServerCatalog | None:
    """The table of language servers by file type; None if they are switched off."""
    from handrail.lsp.catalog import ServerCatalog

    if settings.enabled == "off":
        return None
    return ServerCatalog(
        partial(_find_program, roots=roots),
        [_configured(name, table) for name, table in settings.servers.items()],
        only_configured=settings.enabled == "configured",
    )


def _configured(name: str, table: LanguageServerTable) -> ServerSpec:
    from handrail.lsp.catalog import ServerSpec

    given = table.extensions
    languages = given if isinstance(given, dict) else {one: one.lstrip(".") for one in given}
    return ServerSpec(
        name,
        table.command,
        {_dotted(ending): language for ending, language in languages.items()},
        table.options,
        table.settings,
        configured=True,
    )


def _dotted(ending: str) -> str:
    return ending.lower() if ending.startswith(".") else f".{ending.lower()}"


def _find_program(name: str, roots: Sequence[str]) -> str | None:
    """The path of a trusted program outside the roots; None if there is none."""
    import sysconfig

    from handrail.host.processes.binaries import find_binary, find_trusted

    # Some wheels install a script that only starts the program inside the package.
    packaged = f"{sysconfig.get_path('purelib')}/{name}/data/bin/{name}"
    return find_trusted([packaged], roots) or find_binary(name, roots)
