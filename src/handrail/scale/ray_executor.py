"""Runs the tasks of a fleet on a Ray cluster: actors on all nodes, which host many workspaces each.

Ray repeats nothing: an actor that ends or cannot be reached is reported as lost with its tasks, and
the fleet gives them to other actors, which continue from their records.
"""

from __future__ import annotations

import asyncio
import logging
import signal
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, Final

from handrail import __version__
from handrail.host.state.identities import this_process
from handrail.scale import messages
from handrail.scale.executor import (
    BEAT_S,
    DEFAULT_AGENTS,
    NOT_READY,
    SILENT_S,
    ExecutorEvent,
    TaskEnded,
    WorkerLost,
)
from handrail.scale.ray_worker import RayWorker
from handrail.scale.state import FleetState

_MAX_ACTORS: Final = 4096


@dataclass(slots=True, eq=False)
class ActorWorker:
    """One actor of the cluster."""

    handle: Any
    # None once the actor works, else why it does not.
    begun: asyncio.Future[str | None]
    numbers: set[int] = field(default_factory=set)


class RayExecutor:
    """Actors on a running cluster: by default one per core, with up to 8 tasks each. `address` is
    that of `ray.init`: "auto" is RAY_ADDRESS, or the cluster of this machine.
    """

    def __init__(
        self,
        processes: int | None = None,
        agents: int = DEFAULT_AGENTS,
        *,
        address: str = "auto",
    ) -> None:
        self._asked = processes
        self.processes = max(processes or 1, 1)
        self.agents = max(agents, 1)
        self._address = address
        self._ray: Any = None
        self._owns_connection = False
        self._make_actor: Any = None
        self._events: asyncio.Queue[ExecutorEvent] = asyncio.Queue()
        self._workers: dict[int, ActorWorker] = {}
        self._waits: set[asyncio.Task[None]] = set()

    async def start(self, state: FleetState, lock: int, settings: Mapping[str, Any]) -> None:
        """Connect to the cluster and start the actors. They cannot inherit the lock, so each task
        has its own. Raises `unavailable`.
        """
        await asyncio.to_thread(self._connect)
        _restore_signals()
        nodes = core_places(self._ray.nodes())
        self.processes = min(max(self._asked or len(nodes), 1), _MAX_ACTORS)
        actor_settings = {**settings, "lock": -1}
        self._make_actor = partial(self._place_actor, (actor_settings, this_process(), __version__))
        for worker in range(self.processes):
            self._start_worker(worker)

    async def submit(self, worker: int, order: Mapping[str, Any]) -> None:
        """Send a task to an actor."""
        actor = self._workers.get(worker) or self._start_worker(worker)
        actor.numbers.add(order["number"])
        self._keep(self._follow(worker, actor, order))

    async def next_event(self) -> ExecutorEvent:
        """Wait for a result, or for the end of an actor."""
        return await self._events.get()

    async def aclose(self) -> None:
        """End all actors, including those with tasks, and disconnect from the cluster."""
        waits = list(self._waits)
        for wait in waits:
            wait.cancel()
        if waits:
            await asyncio.wait(waits)
        for worker in self._workers.values():
            self._kill(worker)
        self._workers.clear()
        if self._owns_connection:
            self._owns_connection = False
            await asyncio.to_thread(self._ray.shutdown)

    def _connect(self) -> None:
        try:
            import ray  # noqa: PLC0415 - an extra
        except ImportError:
            raise messages.NO_RAY.error() from None
        self._ray = ray
        if ray.is_initialized():
            return
        try:
            ray.init(address=self._address, log_to_driver=False, logging_level=logging.ERROR)
        except (ConnectionError, OSError, ValueError, RuntimeError) as error:
            raise messages.NO_CLUSTER.error(reason=error) from error
        self._owns_connection = True

    def _place_actor(self, arguments: Sequence[Any], worker: int) -> Any:
        """Start an actor, on the same node as its predecessor unless that node is gone."""
        from ray.util.scheduling_strategies import (  # noqa: PLC0415 - an extra
            NodeAffinitySchedulingStrategy,
        )

        nodes = core_places(self._ray.nodes())
        node = nodes[worker % len(nodes)] if nodes else None
        actor = self._ray.remote(RayWorker).options(
            # Without a reservation, so that a replacement starts on any node that is left.
            num_cpus=0,
            scheduling_strategy=node and NodeAffinitySchedulingStrategy(node, soft=True),
            # One more than the tasks, for `ready`.
            max_concurrency=self.agents + 1,
            max_restarts=0,
            max_task_retries=0,
        )
        return actor.remote(*arguments)

    def _start_worker(self, worker: int) -> ActorWorker:
        if self._make_actor is None:
            raise RuntimeError("the executor was not started")
        actor = ActorWorker(self._make_actor(worker), asyncio.get_running_loop().create_future())
        self._workers[worker] = actor
        self._keep(self._watch(worker, actor))
        return actor

    async def _watch(self, worker: int, actor: ActorWorker) -> None:
        """Ask the actor from time to time whether it works."""
        problem: str | None = None
        while problem is None:
            try:
                problem = await asyncio.wait_for(_answer(actor.handle.ready.remote()), SILENT_S)
            except (self._ray.exceptions.RayError, TimeoutError):
                problem = NOT_READY
            if not actor.begun.done():
                actor.begun.set_result(problem)
            if problem is None:
                await asyncio.sleep(BEAT_S)
        self._lose(worker, actor)

    async def _follow(self, worker: int, actor: ActorWorker, order: Mapping[str, Any]) -> None:
        """Wait for the result of a task."""
        try:
            result = await _answer(actor.handle.run.remote(order))
        except self._ray.exceptions.RayError:
            # The actor has ended or cannot be reached: the record of the task has what it did.
            await asyncio.wait([actor.begun])
            self._lose(worker, actor)
            return
        if self._workers.get(worker) is actor:
            actor.numbers.discard(order["number"])
            self._events.put_nowait(TaskEnded(order["number"], result))

    def _lose(self, worker: int, actor: ActorWorker) -> None:
        """Report an actor as lost, once."""
        if self._workers.get(worker) is not actor:
            return
        del self._workers[worker]
        self._kill(actor)
        problem = actor.begun.result()
        numbers = tuple(sorted(actor.numbers))
        self._events.put_nowait(WorkerLost(worker, numbers, problem is None, problem or NOT_READY))

    def _kill(self, worker: ActorWorker) -> None:
        """Kill an actor. If it cannot be reached, the lock of its task keeps others out."""
        self._ray.kill(worker.handle, no_restart=True)

    def _keep(self, work: Any) -> None:
        task = asyncio.create_task(work)
        self._waits.add(task)
        task.add_done_callback(self._waits.discard)


def core_places(nodes: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return the ids of the living nodes in turn, each as often as it has cores. A node without
    cores gets no workers, because cluster heads are configured that way.
    """
    cores = {
        str(node["NodeID"]): int(node["Resources"].get("CPU", 0)) for node in nodes if node["Alive"]
    }
    rounds = range(max(cores.values(), default=0))
    return [name for number in rounds for name in sorted(cores) if cores[name] > number]


def _restore_signals() -> None:
    """Restore Python's handling of SIGTERM, which Ray replaces."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, signal.getsignal(signal.SIGTERM))


async def _answer(reference: Any) -> Any:
    return await reference
