"""Runs one task in a worker: creates its workspace, runs or continues the agent, runs the checks
and collects the changes. Another process can continue after every step.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from functools import partial
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, Final, NamedTuple, TypeVar

from handrail.agent.budget import Budget
from handrail.agent.report import ReportBuilder
from handrail.assembly.runtime_opener import RuntimeOpener
from handrail.assembly.runtime_opener import open as open_runtime
from handrail.core.agent_results import AgentReport
from handrail.core.names.store_location import is_store_url, server_name
from handrail.core.ports.records import CallRecord
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import ToolResult
from handrail.engine.runtime import Runtime
from handrail.host.state.state_paths import find_state_paths
from handrail.scale import messages
from handrail.scale.agent_steps import AgentOutcome, work_on_task
from handrail.scale.collected_results import MOST_CALLS, collect_result, read_changes
from handrail.scale.sources.git_files import GitCache
from handrail.scale.sources.prepare_workspace import prepare_workspace
from handrail.scale.sources.tree_writer import TreeLimits, discard_tree, measure_tree
from handrail.scale.state import FleetState, TaskPlace
from handrail.scale.task_result import NOT_ENDED, blank_result, is_store_failure
from handrail.scale.tasks import FleetTask, parse_task
from handrail.scale.worker_locks import WorkerPresence, hold_task

_CHECK_S: Final = 600.0
_MAX_OUTPUT: Final = 4_000
_MAX_TEXT: Final = 20_000
_MAX_NAMES: Final = 1_000
_MAX_CHARACTERS: Final = 100_000
# The interval at which the workspace is measured; measuring takes at most a twentieth of the time.
_MEASURE_S: Final = 2.0
_MEASURE_SHARE: Final = 20
# More than a worker has tasks; threads are started when they are needed.
_SOURCE_THREADS: Final = 256
_log = logging.getLogger("handrail")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """The settings that all tasks of a fleet share."""

    state: str
    token: str
    lock: int
    disk_bytes: int
    entries: int
    keep: str
    mode: str | None = None
    model: str | None = None
    config: str | None = None
    store: str | None = None
    commands: bool | None = None
    dialect: str | None = None
    dry_run: bool | None = None
    base: str = ""

    @classmethod
    def from_dict(cls, given: Mapping[str, Any]) -> WorkerSettings:
        """Read the JSON form."""
        return cls(
            **{field.name: given[field.name] for field in fields(cls) if field.name in given}
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)


class TaskOrder(NamedTuple):
    """A task for a worker. With `settle` it only reports what is recorded."""

    number: int
    task: FleetTask
    budget: Budget
    lost: int
    settle: bool

    @classmethod
    def from_dict(cls, given: Mapping[str, Any], base: Path) -> TaskOrder:
        """Read the JSON form; the text of the task was validated by the fleet. Its relative paths
        are relative to `base`.
        """
        line = parse_task(given["text"], given["line"], base)
        budget = Budget(**given["budget"])
        return cls(given["number"], line.task, budget, given["lost"], given["settle"])


class FleetTaskRunner:
    """Runs the tasks of one worker."""

    def __init__(self, settings: WorkerSettings) -> None:
        self._settings = settings
        self._state = FleetState(Path(settings.state))
        self._limits = TreeLimits(settings.disk_bytes, settings.entries)
        self._git = GitCache(self._state.repositories, self._limits)
        self._presence = WorkerPresence(self._state.presences)
        # Sources can take minutes to answer, so they have threads that no other work waits for.
        self._source_threads = ThreadPoolExecutor(_SOURCE_THREADS, "handrail-source")

    async def run(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Return the result of a task; never raises."""
        order = TaskOrder.from_dict(given, Path(self._settings.base))
        place = self._state.place(order.number)
        lock = self._state.task_lock(order.number, order.task.workspace_key)
        try:
            if place.directory.exists():
                # The work of ended workers is continued here.
                await asyncio.to_thread(self._presence.note_ended_workers)
            place.store.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            async with hold_task(lock):
                return await self._run(order, place)
        except ProblemRaised as raised:
            problem, status = raised.problem, "unknown"
        except OSError as error:
            problem, status = messages.TASK_UNSAVED.fill(reason=error), "failed"
        return self._blank_result(order) | {"status": status, "problem": problem.to_dict()}

    async def _run(self, order: TaskOrder, place: TaskPlace) -> dict[str, Any]:
        known = place.read("result")
        if known is not None:
            await asyncio.to_thread(self._remove_files, order.task, place)
            return known
        began = time.monotonic()
        result = self._blank_result(order)
        try:
            result |= await self._work(order, place)
        except ProblemRaised as raised:
            result |= {"problem": raised.problem.to_dict()}
        except Exception as error:  # noqa: BLE001 - one task must not end those beside it
            _log.exception("the task %s failed", order.task.id)
            problem = messages.TASK_CRASHED.fill(error=f"{type(error).__name__}: {error}")
            result |= {"problem": problem.to_dict()}
        if self._settings.store is not None and is_store_failure(result["problem"]):
            return result | {"status": NOT_ENDED}
        result["passed"] = result["status"] == "done" and all(
            one["exit_code"] == 0 for one in result["checks"]
        )
        result["seconds"] = round(time.monotonic() - began, 3)
        place.write("result", result)
        await asyncio.to_thread(self._remove_files, order.task, place)
        return result

    async def _work(self, order: TaskOrder, place: TaskPlace) -> dict[str, Any]:
        task = order.task
        own = self._settings.state
        make = partial(
            prepare_workspace, task.source, place.workspace, self._limits, self._git, own
        )
        loop = asyncio.get_running_loop()
        workspace = await loop.run_in_executor(self._source_threads, make)
        session = self._session(task)
        store = self._settings.store or str(place.store)
        async with self._open(workspace, task, place, store, session) as rt:
            over_quota = self._quota_watch(task, place)
            outcome, over = await _run_until(
                work_on_task(rt, session, task, order.budget, place, settle=order.settle),
                over_quota,
            )
            if outcome is None:
                outcome = await work_on_task(rt, session, task, order.budget, place, settle=True)
                outcome = outcome._replace(status="failed", problem=over)
            found = await self._collect(rt, task, workspace, place, store, session, outcome)
            checks: list[dict[str, Any]] = []
            if not order.settle and over is None:
                ran, over = await _run_until(_run_checks(rt, task), self._quota_watch(task, place))
                checks = ran or []
            if over is not None:
                outcome = outcome._replace(status="failed", problem=over)
        if order.settle:
            problem = messages.WORKER_LOST.fill(count=order.lost)
            outcome = outcome._replace(status="unknown", problem=problem)
        return {**_outcome_fields(outcome), **found, "checks": checks}

    def _open(
        self, workspace: Path, task: FleetTask, place: TaskPlace, store: str, session: str
    ) -> RuntimeOpener:
        settings = self._settings
        opener = open_runtime(
            workspace,
            mode=settings.mode,
            store=store,
            session=session,
            config=settings.config,
            commands=settings.commands,
            dialect=settings.dialect,
            dry_run=settings.dry_run,
            model=task.model or settings.model,
        )
        opener.beside_server = self._server_files_directory(task, place)
        return opener

    def _server_files_directory(self, task: FleetTask, place: TaskPlace) -> Path | None:
        """Return the directory for the files of a record on a server, where the next worker finds
        them; None for a workspace that stays, so that its user can undo changes.
        """
        return None if task.source.in_place else place.store.parent

    async def _collect(
        self,
        rt: Runtime,
        task: FleetTask,
        workspace: Path,
        place: TaskPlace,
        store: str,
        session: str,
        outcome: AgentOutcome,
    ) -> dict[str, Any]:
        await rt.store.flush()
        calls = await rt.store.calls(session=session, agent=task.agent, limit=MOST_CALLS)
        report, recorded = _report_calls(calls), {call.call_id for call in calls}
        paths = find_state_paths(workspace, store, self._server_files_directory(task, place))
        changes = await read_changes(rt.store, session, workspace, paths)
        keep = partial(collect_result, task, changes, workspace, place, self._git)
        kept = await asyncio.to_thread(keep)
        without_diff = changes.without_diff
        refused = {call.call_id: call for call in report.refused}
        return {
            "changes": _first_names(changes.paths),
            "change_count": len(changes.paths),
            "without_diff": {path: without_diff[path] for path in _first_names(without_diff)},
            "unknown_calls": _first_names(report.unfinished),
            # The process ended before such a call began; the model was informed.
            "not_run_calls": _first_names(
                call for call in outcome.call_ids if call not in recorded
            ),
            "refused": [refused[call]._asdict() for call in _first_names(refused)],
            "disk_bytes": await asyncio.to_thread(measure_tree, [place.directory]),
            **kept,
        }

    async def _quota_watch(self, task: FleetTask, place: TaskPlace) -> Problem:
        """Return once the task uses more disk space than allowed."""
        while True:
            began = time.monotonic()
            used = await asyncio.to_thread(measure_tree, [place.directory])
            if used > self._settings.disk_bytes and not task.source.in_place:
                return messages.OVER_QUOTA.fill(used=used, limit=self._settings.disk_bytes)
            took = time.monotonic() - began
            await asyncio.sleep(max(_MEASURE_S, took * _MEASURE_SHARE))

    def _blank_result(self, order: TaskOrder) -> dict[str, Any]:
        task = order.task
        return {
            **blank_result(task.id, task.tenant, order.lost),
            "session": self._session(task),
            "record": self._record_name(order.number),
            "workspace": task.source.place if task.source.in_place else None,
        }

    def _record_name(self, number: int) -> str:
        """Return the location of a task's record, without the password of a server."""
        store = self._settings.store or str(self._state.place(number).store)
        return server_name(store) if is_store_url(store) else store

    def _session(self, task: FleetTask) -> str:
        return sha256(f"{self._settings.token}/{task.id}".encode()).hexdigest()[:12]

    def _remove_files(self, task: FleetTask, place: TaskPlace) -> None:
        if self._settings.keep != "all":
            discard_tree(place.workspace)
        if self._settings.keep == "nothing":
            discard_tree(place.store.parent)


def _first_names(names: Iterable[str]) -> list[str]:
    """Return the names for which a result has room: it is one line for the fleet."""
    found: list[str] = []
    room = _MAX_CHARACTERS
    for name in islice(names, _MAX_NAMES):
        room -= len(name)
        if room < 0:
            break
        found.append(name)
    return found


def _report_calls(newest_first: Sequence[CallRecord]) -> AgentReport:
    """Return what the calls of a task did, in all of its processes."""
    builder = ReportBuilder()
    for record in reversed(newest_first):
        builder.add_recorded(record)
    return builder.build()


def _outcome_fields(outcome: AgentOutcome) -> dict[str, Any]:
    problem = outcome.problem
    return {
        "status": outcome.status,
        "text": outcome.text[:_MAX_TEXT],
        "problem": None if problem is None else problem.to_dict(),
        "turns": outcome.turns,
        "usage": outcome.usage.to_dict(),
    }


async def _run_checks(rt: Runtime, task: FleetTask) -> list[dict[str, Any]]:
    """Run the commands of the task's author one after the other."""
    found: list[dict[str, Any]] = []
    for command in task.checks:
        result = await rt.run_user_command(command, timeout_s=_CHECK_S)
        found.append(
            {
                "command": command,
                "exit_code": _exit_code(result),
                "output": result.text[-_MAX_OUTPUT:],
            }
        )
    return found


def _exit_code(result: ToolResult) -> int | None:
    """Return the exit code; None for a command that did not run, or was ended."""
    data = result.data
    timed_out = result.problem is not None and result.problem.code == "timeout"
    return None if timed_out or not isinstance(data, Mapping) else data.get("exit_code")


async def _run_until(
    work: Awaitable[T], limit: Awaitable[Problem]
) -> tuple[T | None, Problem | None]:
    """Return the result of some work or, if a limit is reached first, None and the problem."""
    working, watching = asyncio.ensure_future(work), asyncio.ensure_future(limit)
    try:
        await asyncio.wait([working, watching], return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result(), None
        return None, watching.result()
    finally:
        for one in (working, watching):
            if not one.done():
                one.cancel()
                await asyncio.wait([one])
            if not one.cancelled():
                with suppress(Exception):
                    one.exception()
