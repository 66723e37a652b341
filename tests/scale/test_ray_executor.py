"""The actors of a fleet without a cluster: where they are placed, and what is told about them."""

import asyncio
import sys
from types import ModuleType, SimpleNamespace

import pytest

from handrail.core.problems import ProblemRaised
from handrail.scale import ray_executor
from handrail.scale.executor import NOT_READY, TaskEnded, WorkerLost
from handrail.scale.ray_executor import RayExecutor, core_places
from handrail.scale.ray_worker import RayWorker

LIMIT_S = 20


def node(name, cores, *, alive=True):
    return {"NodeID": name, "Resources": {"CPU": cores} if cores else {}, "Alive": alive}


class RayError(Exception):
    pass


class FakeActor:
    """An actor whose answers are futures: one for `ready`, one for each task."""

    def __init__(self, arguments):
        self.arguments = arguments
        loop = asyncio.get_running_loop()
        self.readiness, self.results = loop.create_future(), {}
        self.ready = SimpleNamespace(remote=lambda: self.readiness)
        self.run = SimpleNamespace(remote=self._start)

    def _start(self, order):
        return self.results.setdefault(order["number"], asyncio.get_running_loop().create_future())


class FakeRay(ModuleType):
    """A cluster; `nodes_now` are its nodes."""

    def __init__(self, *nodes, connected=True):
        super().__init__("ray")
        self.exceptions = SimpleNamespace(RayError=RayError)
        self.nodes_now, self.connected = list(nodes), connected
        self.actors, self.options, self.killed, self.calls = [], [], [], []

    def is_initialized(self):
        return self.connected

    def init(self, **options):
        assert options["log_to_driver"] is False
        self.calls.append(("init", options["address"]))

    def shutdown(self):
        self.calls.append("shutdown")

    def nodes(self):
        return self.nodes_now

    def kill(self, handle, *, no_restart):
        assert no_restart is True
        self.killed.append(self.actors.index(handle))

    def remote(self, kind):
        assert kind is RayWorker

        def options(**given):
            self.options.append(given)
            return SimpleNamespace(remote=self._make)

        return SimpleNamespace(options=options)

    def _make(self, *arguments):
        self.actors.append(FakeActor(arguments))
        return self.actors[-1]


@pytest.fixture
def cluster(monkeypatch):
    """Put a fake cluster in place of the real one."""
    strategies = ModuleType("ray.util.scheduling_strategies")
    strategies.NodeAffinitySchedulingStrategy = lambda name, soft: (name, soft)

    def install(*nodes, **given):
        ray = FakeRay(*nodes, **given)
        monkeypatch.setitem(sys.modules, "ray", ray)
        monkeypatch.setitem(sys.modules, "ray.util", ModuleType("ray.util"))
        monkeypatch.setitem(sys.modules, "ray.util.scheduling_strategies", strategies)
        return ray

    return install


async def started(executor):
    await executor.start(None, 5, {"state": "/state", "lock": 5})
    return executor


async def told(executor):
    return await asyncio.wait_for(executor.next_event(), LIMIT_S)


async def settle():
    """Let every task that can go on do so."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_there_is_an_actor_for_each_core_in_turn(cluster):
    ray = cluster(node("b", 1), node("a", 2), node("head", 0), node("gone", 4, alive=False))

    executor = RayExecutor(agents=3)
    assert (executor.processes, RayExecutor(4).processes, RayExecutor(0).processes) == (1, 4, 1)
    assert (RayExecutor(agents=0).agents, executor.agents) == (1, 3)
    await started(executor)

    assert executor.processes == 3
    assert [one["scheduling_strategy"] for one in ray.options] == [
        ("a", True),
        ("b", True),
        ("a", True),
    ]
    assert {(one["num_cpus"], one["max_concurrency"]) for one in ray.options} == {(0, 4)}
    assert {(one["max_restarts"], one["max_task_retries"]) for one in ray.options} == {(0, 0)}
    assert ray.actors[0].arguments[0] == {"state": "/state", "lock": -1}
    await executor.aclose()
    assert (sorted(ray.killed), ray.calls) == ([0, 1, 2], [])


@pytest.mark.parametrize(
    ("asked", "nodes", "count"),
    [(2, 3, 2), (None, 0, 1), (0, 3, 3), (-1, 3, 1), (9, 1, 4)],
)
async def test_the_number_of_actors_can_be_chosen(cluster, monkeypatch, asked, nodes, count):
    monkeypatch.setattr(ray_executor, "_MAX_ACTORS", 4)
    cluster(*(node(str(number), 1) for number in range(nodes)))

    executor = await started(RayExecutor(asked))

    assert executor.processes == count
    await executor.aclose()


async def test_a_connection_that_was_made_is_closed(cluster):
    ray = cluster(node("a", 1), connected=False)

    executor = await started(RayExecutor(1, address="here"))
    await executor.aclose()
    await executor.aclose()

    assert ray.calls == [("init", "here"), "shutdown"]


@pytest.mark.parametrize("error", [ConnectionError, OSError, ValueError, RuntimeError])
async def test_without_a_cluster_nothing_is_started(cluster, error):
    ray = cluster(connected=False)

    def fail(**_):
        raise error("nobody")

    ray.init = fail

    with pytest.raises(ProblemRaised, match="nobody") as raised:
        await started(RayExecutor(1))
    assert raised.value.problem.code == "unavailable"
    with pytest.raises(RuntimeError):
        await RayExecutor(1).submit(0, {"number": 1})


async def test_results_are_told(cluster):
    ray = cluster(node("a", 1))
    executor = await started(RayExecutor(1))
    ray.actors[0].readiness.set_result(None)

    for number in (1, 2):
        await executor.submit(0, {"number": number})
    await settle()
    ray.actors[0].results[2].set_result({"a": 1})

    assert await told(executor) == TaskEnded(2, {"a": 1})
    assert executor._workers[0].numbers == {1}
    await executor.aclose()


async def test_an_actor_that_fails_is_told_once_with_its_tasks_and_replaced(cluster):
    ray = cluster(node("a", 1))
    executor = await started(RayExecutor(1))
    lost = ray.actors[0]
    lost.readiness.set_result(None)
    for number in (3, 1, 2):
        await executor.submit(0, {"number": number})
    await settle()

    lost.results[3].set_exception(RayError())
    lost.results[1].set_exception(RayError())

    assert await told(executor) == WorkerLost(0, (1, 2, 3), True, NOT_READY)
    lost.results[2].set_result({})
    await settle()
    assert executor._events.empty()
    assert (ray.killed, executor._workers) == ([0], {})
    await executor.submit(0, {"number": 4})
    await settle()
    ray.actors[1].results[4].set_result({"b": 2})
    assert await told(executor) == TaskEnded(4, {"b": 2})
    await executor.aclose()


@pytest.mark.parametrize(
    ("answer", "reason"),
    [("no room", "no room"), (RayError(), NOT_READY), (TimeoutError(), NOT_READY)],
)
async def test_an_actor_that_never_works_is_told_with_the_reason(cluster, answer, reason):
    ray = cluster(node("a", 1))
    executor = await started(RayExecutor(1))
    await executor.submit(0, {"number": 7})
    readiness = ray.actors[0].readiness

    if isinstance(answer, Exception):
        readiness.set_exception(answer)
    else:
        readiness.set_result(answer)

    assert await told(executor) == WorkerLost(0, (7,), False, reason)
    assert ray.killed == [0]
    await executor.aclose()


async def test_an_actor_that_stops_answering_is_lost(cluster, monkeypatch):
    monkeypatch.setattr(ray_executor, "BEAT_S", 0)
    ray = cluster(node("a", 1))
    executor = await started(RayExecutor(1))
    await settle()
    first = ray.actors[0].readiness
    ray.actors[0].readiness = asyncio.get_running_loop().create_future()
    ray.actors[0].readiness.set_exception(RayError())

    first.set_result(None)

    assert await told(executor) == WorkerLost(0, (), True, NOT_READY)
    await executor.aclose()


def test_places_are_the_cores_of_living_nodes():
    assert core_places([]) == []
    assert core_places([node("b", 2), node("a", 1), node("c", 3, alive=False)]) == ["a", "b", "b"]
