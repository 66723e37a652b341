"""The port through which the tasks of a fleet run, and a pool of processes on this machine.

Each process hosts many workspaces in one event loop. The tasks of a process that ends are reported
as lost; the executor itself never repeats them.
"""

from __future__ import annotations

import asyncio
import json
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple, Protocol

from handrail.host.processes.unconfined import WorkerPipes, start_module
from handrail.scale import messages
from handrail.scale.state import FleetState

_MODULE: Final = "handrail.scale.worker"
# A worker sends a heartbeat every few seconds; one that does not is stuck.
BEAT_S: Final = 20.0
SILENT_S: Final = 300.0
_CLOSE_S: Final = 5.0
_MAX_PROCESSES: Final = 64
DEFAULT_AGENTS: Final = 8
NOT_READY: Final = "it ends before it is ready"


class TaskEnded(NamedTuple):
    """A worker reports the result of a task."""

    number: int
    result: Mapping[str, Any]


class WorkerLost(NamedTuple):
    """A worker has ended, with the tasks that it was given. `ready`: it had started to work; if
    not, `reason` says why.
    """

    worker: int
    numbers: tuple[int, ...]
    ready: bool = True
    reason: str = NOT_READY


ExecutorEvent = TaskEnded | WorkerLost


class FleetExecutor(Protocol):
    """Runs tasks in workers, which are numbered from 0."""

    @property
    def processes(self) -> int:
        """How many workers there are."""

    @property
    def agents(self) -> int:
        """The number of tasks that a worker may have at a time."""

    async def start(self, state: FleetState, lock: int, settings: Mapping[str, Any]) -> None:
        """Start the workers for a fleet; they inherit the handle of its lock."""

    async def submit(self, worker: int, order: Mapping[str, Any]) -> None:
        """Give a task to a worker. A worker that has ended is reported as an event, not raised."""

    async def next_event(self) -> ExecutorEvent:
        """Return the next event; the events of each worker are in order."""

    async def aclose(self) -> None:
        """End all workers, including those with tasks."""


@dataclass(slots=True)
class WorkerProcess:
    """One process of the pool."""

    pipes: WorkerPipes
    numbers: set[int] = field(default_factory=set)
    ready: bool = False
    reading: asyncio.Task[None] | None = None


class LocalExecutor:
    """A pool of processes on this machine: by default one per core, with up to 8 tasks each."""

    def __init__(self, processes: int | None = None, agents: int = DEFAULT_AGENTS) -> None:
        usable = (
            len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
        )
        self.processes = min(max(processes or usable or 1, 1), _MAX_PROCESSES)
        self.agents = max(agents, 1)
        self._events: asyncio.Queue[ExecutorEvent] = asyncio.Queue()
        self._workers: dict[int, WorkerProcess] = {}
        self._setup: tuple[FleetState, int, Mapping[str, Any]] | None = None
        self._closed = False

    @property
    def pids(self) -> list[int]:
        """The process ids of the workers."""
        return [worker.pipes.process.pid for worker in self._workers.values()]

    async def start(self, state: FleetState, lock: int, settings: Mapping[str, Any]) -> None:
        """Start all workers; raises `unavailable`."""
        self._setup = state, lock, settings
        for worker in range(self.processes):
            await self._start_worker(worker)

    async def submit(self, worker: int, order: Mapping[str, Any]) -> None:
        """Send a task to a worker."""
        process = self._workers.get(worker) or await self._start_worker(worker)
        process.numbers.add(order["number"])
        await self._send(process, order)

    async def next_event(self) -> ExecutorEvent:
        """Wait for a result, or for the end of a worker."""
        return await self._events.get()

    async def aclose(self) -> None:
        """Close the input of all workers, which ends them; kill those that do not end."""
        self._closed = True
        workers = list(self._workers.values())
        await asyncio.gather(*(worker.pipes.end(_CLOSE_S) for worker in workers))
        await asyncio.gather(*(worker.reading for worker in workers if worker.reading is not None))
        self._workers.clear()

    async def _start_worker(self, worker: int) -> WorkerProcess:
        if self._setup is None:
            raise RuntimeError("the executor was not started")
        state, lock, settings = self._setup
        try:
            with state.log.open("ab") as log:
                pipes = await start_module(_MODULE, log=log.fileno(), handed=(lock,))
        except OSError as error:
            raise messages.WORKER_FAILED.error(reason=error) from error
        process = WorkerProcess(pipes)
        self._workers[worker] = process
        await self._send(process, settings)
        process.reading = asyncio.create_task(self._read(worker, process))
        return process

    async def _send(self, process: WorkerProcess, value: Mapping[str, Any]) -> None:
        # If the worker has ended, `_read` reports that.
        with suppress(ConnectionError):
            process.pipes.writer.write(json.dumps(value).encode() + b"\n")
            await process.pipes.writer.drain()

    async def _read(self, worker: int, process: WorkerProcess) -> None:
        while True:
            try:
                line = await asyncio.wait_for(process.pipes.reader.readline(), SILENT_S)
            except (TimeoutError, ValueError):
                # The worker is stuck, or sent a line that is too long.
                break
            if not line.endswith(b"\n"):
                break
            value = json.loads(line)
            process.ready = True
            if "number" in value:
                process.numbers.discard(value["number"])
                self._events.put_nowait(TaskEnded(value["number"], value["result"]))
        await process.pipes.end(0.0)
        if not self._closed:
            del self._workers[worker]
            self._events.put_nowait(
                WorkerLost(worker, tuple(sorted(process.numbers)), process.ready)
            )
