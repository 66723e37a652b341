"""A fleet: tasks in their own workspaces, distributed to workers, and recorded so that another run
continues after any kill.
"""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import asdict, dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, Final

from handrail.agent.budget import Budget
from handrail.core.names.store_location import MEMORY
from handrail.core.problems import ProblemRaised
from handrail.host.state.identities import this_process
from handrail.policy.modes import parse_mode
from handrail.scale import messages
from handrail.scale.executor import FleetExecutor, LocalExecutor, TaskEnded, WorkerLost
from handrail.scale.journal import FleetJournal, WaitingTask
from handrail.scale.placement import WorkerPlacement
from handrail.scale.report import FleetReport, read_report
from handrail.scale.start_checks import StartCheck
from handrail.scale.state import FleetState
from handrail.scale.task_result import NOT_ENDED, blank_result
from handrail.scale.task_runner import WorkerSettings
from handrail.scale.tasks import TaskLine, parse_task, read_tasks, task_lines
from handrail.scale.tenants import TenantLimits, TenantQueues
from handrail.store.opening import maintained_database

# A task that ends this many workers is not tried again.
_MOST_LOST: Final = 3
_MOST_UNREADY: Final = 5
DEFAULT_DISK_BYTES: Final = 2 << 30
DEFAULT_ENTRIES: Final = 500_000
KEPT_PARTS: Final = ("records", "all", "nothing")
FleetListener = Callable[[Mapping[str, Any]], None]


@dataclass(frozen=True, slots=True)
class FleetOptions:
    """How the tasks of a fleet run. `keep` says what is kept of a task that has ended: its
    "records", "all" (the workspace too) or "nothing" but its result.
    """

    mode: str | None = "sandboxed"
    model: str | None = None
    config: str | None = None
    store: str | None = None
    commands: bool | None = None
    dialect: str | None = None
    dry_run: bool | None = None
    disk_bytes: int = DEFAULT_DISK_BYTES
    entries: int = DEFAULT_ENTRIES
    keep: str = "records"
    tenants: Mapping[str, TenantLimits] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Raise `invalid_arguments` for a value that no task could run with."""
        if self.mode is not None:
            parse_mode(self.mode)
        if self.keep not in KEPT_PARTS:
            known = ", ".join(KEPT_PARTS)
            raise messages.UNKNOWN_KEEP.error(field="keep", name=str(self.keep), known=known)
        if self.store == MEMORY:
            raise messages.NO_MEMORY_STORE.error(field="store")


class Fleet:
    """Runs tasks: a file of JSON lines, or mappings with the keys of a line. `state` is the
    directory of the fleet; another fleet with the same directory continues it.
    """

    def __init__(
        self,
        tasks: str | PathLike[str] | Iterable[Mapping[str, Any]],
        executor: FleetExecutor | None = None,
        *,
        state: str | PathLike[str] | None = None,
        options: FleetOptions | None = None,
    ) -> None:
        if state is None:
            if not isinstance(tasks, str | PathLike):
                raise TypeError("state is needed where the tasks are not in a file")
            state = state_directory(Path(tasks))
        self._tasks = tasks
        self.state = FleetState(Path(state))
        self.executor = executor or LocalExecutor()
        self._options = options or FleetOptions()
        self._draining = False
        self._wake: asyncio.Event | None = None

    async def run(self, on_result: FleetListener | None = None) -> FleetReport:
        """Run until all tasks have ended or, after `drain`, until the running ones have. Raises
        `invalid_arguments` for a line that cannot start, before anything is started, `unavailable` if
        another fleet uses the directory, `store_unavailable` if the journal or the store fails.
        """
        self._wake = asyncio.Event()
        self._check_file()
        async with AsyncExitStack() as ends:
            lock = ends.enter_context(self.state.locked())
            journal = FleetJournal(self.state.directory)
            ends.callback(journal.close)
            check = StartCheck(self._options.model, self._options.config, self.state.directory)
            journal.add_tasks(self._lines(), check.check)
            journal.restart(this_process(), time.time_ns())
            ends.callback(_note_end, journal)
            counts = journal.counts()
            if not counts.total:
                raise messages.NO_TASKS.error(path=str(self._tasks))
            results = _ResultFile(self.state, journal)
            if counts.waiting:
                await asyncio.to_thread(self._check_store)
                ends.push_async_callback(self.executor.aclose)
                await self.executor.start(self.state, lock, self._worker_settings(journal, lock))
                await FleetRun(self, journal, results, on_result).run()
            journal.write_meta("ended_ns", str(time.time_ns()))
            return read_report(journal, self.state)

    def drain(self) -> None:
        """Start no further task; `run` returns once the running ones have ended."""
        self._draining = True
        if self._wake is not None:
            self._wake.set()

    @property
    def draining(self) -> bool:
        """Whether `drain` was called."""
        return self._draining

    @property
    def wake(self) -> asyncio.Event:
        """Set when `drain` is called."""
        if self._wake is None:
            raise RuntimeError("the fleet does not run")
        return self._wake

    @property
    def options(self) -> FleetOptions:
        """How the tasks run."""
        return self._options

    def _check_file(self) -> None:
        """Check that the file exists, before a state directory is created next to it."""
        if isinstance(self._tasks, str | PathLike) and not Path(self._tasks).is_file():
            reason = "there is no such file"
            raise messages.TASKS_UNREADABLE.error(path=str(self._tasks), reason=reason)

    def _check_store(self) -> None:
        """Open the store that the tasks share: if it cannot be used, no task is started, and so
        none fails.
        """
        if self._options.store is not None:
            with maintained_database(self._options.store):
                pass

    def _lines(self) -> Iterable[TaskLine]:
        if isinstance(self._tasks, str | PathLike):
            return read_tasks(Path(self._tasks))
        return task_lines(self._tasks, self._base())

    def _base(self) -> Path:
        """Return the directory to which the paths of tasks are relative."""
        if isinstance(self._tasks, str | PathLike):
            return Path(self._tasks).resolve().parent
        return Path.cwd()

    def _worker_settings(self, journal: FleetJournal, lock: int) -> dict[str, Any]:
        options = self._options
        return WorkerSettings(
            str(self.state.directory.resolve()),
            journal.read_meta("token") or "",
            lock,
            options.disk_bytes,
            options.entries,
            options.keep,
            options.mode,
            options.model,
            options.config,
            options.store,
            options.commands,
            options.dialect,
            options.dry_run,
            str(self._base()),
        ).to_dict()


def state_directory(tasks: Path) -> Path:
    """Return the default state directory of a fleet: next to its file of tasks."""
    return tasks.with_name(f"{tasks.name}.fleet")


def _note_end(journal: FleetJournal) -> None:
    """Record when a run ended that was cancelled or failed; its own problem is the one to report."""
    with suppress(ProblemRaised):
        journal.write_meta("ended_ns", str(time.time_ns()))


class FleetRun:
    """One run of a fleet: gives tasks to workers with room, and records what they report."""

    def __init__(
        self,
        fleet: Fleet,
        journal: FleetJournal,
        results: _ResultFile,
        on_result: FleetListener | None,
    ) -> None:
        self._fleet = fleet
        self._executor = fleet.executor
        self._journal = journal
        self._results = results
        self._on_result = on_result
        self._queues = TenantQueues(fleet.options.tenants, journal.waiting)
        self._placement = WorkerPlacement(self._executor.processes, self._executor.agents)
        self._running: dict[int, WaitingTask] = {}
        # The number of workers in a row that ended before they had started to work.
        self._unready = 0
        self._store_failure: str | None = None
        for tenant in journal.tenants():
            self._queues.add_tenant(tenant, journal.used(tenant))

    async def run(self) -> None:
        """Work until nothing runs and nothing may be started. Raises `store_unavailable` if that is
        because the store of the tasks failed.
        """
        woken = asyncio.create_task(self._fleet.wake.wait())
        event = asyncio.create_task(self._executor.next_event())
        try:
            while True:
                if not self._fleet.draining:
                    await self._fill()
                if not self._running:
                    break
                waits = [event] if woken.done() else [event, woken]
                await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
                if event.done():
                    self._handle_event(event.result())
                    event = asyncio.create_task(self._executor.next_event())
        finally:
            for task in (woken, event):
                task.cancel()
        if self._store_failure is not None:
            raise messages.STORE_FAILED.error(reason=self._store_failure)

    async def _fill(self) -> None:
        """Start tasks while a worker has room and a tenant may start one."""
        started: list[tuple[int, WaitingTask, dict[str, Any]]] = []
        while (chosen := self._choose()) is not None:
            started.append(chosen)
        if started:
            # Recorded before a worker gets the task: a task without a recorded start was not
            # started.
            self._journal.start([task for _, task, _ in started], time.time_ns())
        for worker, _, order in started:
            await self._executor.submit(worker, order)

    def _choose(self) -> tuple[int, WaitingTask, dict[str, Any]] | None:
        if self._placement.is_full():
            return None
        for tenant in self._queues.in_turn():
            limit = tenant.limits.processes
            only = None if limit is None or len(tenant.workers) < limit else tenant.workers
            for index, task in enumerate(tenant.queue):
                worker = self._placement.choose(
                    task.workspace, task.tenant, only, alone=task.lost > 1
                )
                if worker is None and not task.workspace and task.lost <= 1:
                    # No worker has room for any other task of the tenant either.
                    break
                if worker is None:
                    continue
                del tenant.queue[index]
                requested = parse_task(task.text, task.line, Path()).task.budget
                slots = self._executor.processes * self._executor.agents
                budget = tenant.reserve(requested, slots)
                tenant.running[task.number] = (budget, worker)
                tenant.started += 1
                self._running[task.number] = task
                self._placement.add(
                    worker, task.number, task.workspace, task.tenant, alone=task.lost > 1
                )
                return worker, task, _order(task, budget)
        return None

    def _handle_event(self, event: TaskEnded | WorkerLost) -> None:
        if isinstance(event, TaskEnded):
            self._end_task(event.number, event.result)
            return
        attempts = int(event.ready)
        self._journal.lose(event.numbers, attempts)
        self._unready = 0 if event.ready else self._unready + 1
        for number in event.numbers:
            task = self._release(number)
            if task is not None and attempts and task.lost >= _MOST_LOST:
                self._end_unreadable(task)
            elif task is not None:
                self._queues.put_back(task._replace(lost=task.lost + attempts))
        if self._unready >= _MOST_UNREADY:
            # Not a fault of the tasks: no worker can run on this machine.
            raise messages.WORKER_FAILED.error(reason=event.reason)

    def _end_task(self, number: int, result: Mapping[str, Any]) -> None:
        task = self._release(number)
        if task is not None and result["status"] == NOT_ENDED:
            self._journal.lose([number], 0)
            self._store_failure = result["problem"]["message"]
            self._fleet.drain()
            return
        if task is None or not self._journal.end(number, result, time.time_ns()):
            return
        usage, tenant = result["usage"], self._queues.states[task.tenant]
        tenant.tokens += usage["input_tokens"] + usage["output_tokens"]
        tenant.usd += usage["usd"] or 0.0
        self._results.append(result)
        if self._on_result is not None:
            self._on_result(result)

    def _end_unreadable(self, task: WaitingTask) -> None:
        """Report a task whose record cannot even be read without losing a worker."""
        problem = messages.WORKER_LOST.fill(count=task.lost + 1)
        result = blank_result(task.id, task.tenant, task.lost + 1)
        result |= {"status": "unknown", "problem": problem.to_dict()}
        self._running[task.number] = task
        self._end_task(task.number, result)

    def _release(self, number: int) -> WaitingTask | None:
        task = self._running.pop(number, None)
        if task is not None:
            self._queues.states[task.tenant].running.pop(number, None)
            self._placement.remove(number)
        return task


def _order(task: WaitingTask, budget: Budget) -> dict[str, Any]:
    return {
        "number": task.number,
        "text": task.text,
        "line": task.line,
        "budget": asdict(budget),
        "lost": task.lost,
        "settle": task.lost >= _MOST_LOST,
    }


class _ResultFile:
    """The results as JSON lines: written from the journal at the start, then appended to."""

    def __init__(self, state: FleetState, journal: FleetJournal) -> None:
        self._path = state.results
        part = self._path.with_suffix(".part")
        try:
            with part.open("w", encoding="utf-8") as file:
                file.writelines(f"{json.dumps(result)}\n" for result in journal.results())
            part.replace(self._path)
        except OSError as error:
            raise self._failed(error) from error

    def append(self, result: Mapping[str, Any]) -> None:
        """Add the result of a task that has ended."""
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(f"{json.dumps(result)}\n")
        except OSError as error:
            raise self._failed(error) from error

    def _failed(self, error: OSError) -> ProblemRaised:
        reason = error.strerror or error
        return messages.JOURNAL_FAILED.error(state=str(self._path.parent), reason=reason)
