"""Who may run the call of an id that its caller gave, and what the others are told."""

import asyncio
import contextlib
import itertools

import anyio
import pytest
from tests.support.waiting import wait_until_async

from handrail.core.call import ToolCall
from handrail.core.ports.records import Row
from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Status, ToolResult
from handrail.engine.prepare.prepared_call import ParsedArguments, PreparedCall
from handrail.engine.principal import Principal
from handrail.engine.recording import idempotency as answered_module
from handrail.engine.recording.idempotency import CallIdLedger
from handrail.engine.recording.recorder import requested_payload
from handrail.store.records.purge import purge_payloads
from handrail.store.sqlite.store import open_store


@pytest.fixture
def path(tmp_path):
    return tmp_path / "store.db"


@pytest.fixture
async def store(path):
    store = open_store(path, busy_timeout_s=0.05)
    yield store
    await store.aclose()


def prepared(call_id="1", agent="main", problem=None, **arguments):
    call = ToolCall(call_id, "append", arguments, 1, agent)
    parsed = ParsedArguments(arguments, object() if problem is None else None)
    return PreparedCall(call, Principal(None, None, agent), parsed=parsed, problem=problem)


class Runs:
    """Carries calls out as the runtime does, and counts how often one ran."""

    def __init__(self, answered, store, *, intent=False):
        self.answered = answered
        self.store = store
        self.intent = intent
        self.count = 0
        self.may_end = asyncio.Event()
        self.may_end.set()
        self.times = itertools.count(1)

    async def __call__(self, one):
        while True:
            claim = await self.answered.claim(one)
            if claim.conflict is not None:
                return claim.conflict
            if claim.previous is None:
                break
            earlier = await claim.previous()
            if earlier is not None:
                return earlier
        result = None
        try:
            result = await self.run(one)
        finally:
            self.answered.settle(one.call.id, result)
        return result

    async def run(self, one):
        self.count += 1
        self.row(one, "requested", requested_payload(one, "canonical"))
        if self.intent:
            self.row(one, "intent", {"runs": "append"})
        result = ToolResult(one.call.id, Status.OK, f"run {self.count}")
        try:
            await self.may_end.wait()
        except asyncio.CancelledError:
            problem = Problem("cancelled", "append was cancelled")
            self.complete(one, ToolResult(one.call.id, Status.INTERRUPTED, "", problem=problem))
            raise
        self.complete(one, result)
        return result

    def complete(self, one, result):
        problem = result.problem.to_dict() if result.problem else None
        payload = {"status": result.status, "text": result.text, "problem": problem}
        self.row(one, "completed", {**payload, "data": None, "changes": [], "meta": {}})

    def row(self, one, kind, payload):
        self.store.append(Row("s", kind, one.call.id, 1, next(self.times), payload))


def named(store, **more):
    return Runs(CallIdLedger("s", store, resumed=True, **more), store)


def unnamed(store):
    return Runs(CallIdLedger("s", store, resumed=False), store)


def code(told):
    return told.code if isinstance(told, Problem) else told.status.value


@pytest.mark.parametrize("kind", [named, unnamed])
async def test_the_same_call_runs_once_and_another_one_is_refused(store, kind):
    runs = kind(store)

    told = [await runs(one) for one in (prepared(n=1), prepared(n=1), prepared(n=2))]

    assert [code(one) for one in told] == ["ok", "ok", "duplicate_id"]
    assert told[1].meta["replayed"]
    assert runs.count == 1


async def test_two_runtimes_on_one_new_session_run_an_id_once(store, path):
    other = open_store(path)
    first, second = named(store), named(other)

    told = [await first(prepared(n=1)), await second(prepared(n=1)), await second(prepared(n=2))]

    assert [code(one) for one in told] == ["ok", "ok", "duplicate_id"]
    assert (first.count, second.count) == (1, 0)
    await other.aclose()


async def test_a_call_waits_for_its_first_time_in_another_runtime(store, path):
    other = open_store(path)
    first, second = named(store), named(other)
    first.may_end.clear()
    told = []

    async def call(runs):
        told.append(await runs(prepared(n=1)))

    with anyio.fail_after(5):
        async with anyio.create_task_group() as group:
            group.start_soon(call, first)
            while not first.count:
                await anyio.lowlevel.checkpoint()
            group.start_soon(call, second)
            while (await second.answered.claim(prepared(n=1))).previous is None:
                await anyio.lowlevel.checkpoint()
            first.may_end.set()

    assert [one.text for one in told] == ["run 1", "run 1"]
    assert (first.count, second.count) == (1, 0)
    await other.aclose()


async def test_a_first_time_elsewhere_that_does_not_end_is_told(store, path, monkeypatch):
    monkeypatch.setattr(answered_module, "OTHER_PROCESS_WAIT_S", 0.0)
    other = open_store(path)
    await named(store, owner="elsewhere").answered.claim(prepared(n=1))

    with pytest.raises(ProblemRaised) as caught:
        await named(other)(prepared(n=1))

    assert (caught.value.problem.code, caught.value.problem.retryable) == ("conflict", True)
    assert code(await named(other)(prepared(n=2))) == "duplicate_id"
    await other.aclose()


async def test_the_id_of_a_dead_process_is_taken_over_by_one(store, path):
    other = open_store(path)
    await named(store, owner="dead").answered.claim(prepared(n=1))
    heirs = [
        named(each, owner=owner, alive=lambda owner: owner != "dead")
        for each, owner in ((store, "a"), (other, "b"))
    ]

    with anyio.fail_after(5):
        told = await asyncio.gather(*[heir(prepared(n=1)) for heir in heirs])

    assert [one.text for one in told] == ["run 1", "run 1"]
    assert sorted(heir.count for heir in heirs) == [0, 1]
    await other.aclose()


async def test_what_a_dead_process_may_have_changed_is_not_run_again(store):
    dead = named(store, owner="dead")
    await dead.answered.claim(prepared(n=1))
    dead.row(prepared(n=1), "requested", requested_payload(prepared(n=1), "canonical"))
    dead.row(prepared(n=1), "intent", {"runs": "append"})
    heir = named(store, owner="heir", alive=lambda owner: owner != "dead")

    told = await heir(prepared(n=1))

    assert (code(told), heir.count) == ("conflict", 0)
    assert "may have changed something" in told.message


@pytest.mark.parametrize("kind", [named, unnamed])
async def test_of_three_that_wait_for_a_cancelled_call_one_runs(store, kind):
    runs = kind(store)
    runs.may_end.clear()
    first = asyncio.ensure_future(runs(prepared(n=1)))
    await wait_until_async(lambda: runs.count)
    waiters = [asyncio.ensure_future(runs(prepared(n=1))) for _ in range(3)]
    await asyncio.sleep(0)

    first.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await first
    runs.may_end.set()
    with anyio.fail_after(5):
        told = await asyncio.gather(*waiters)

    assert [one.text for one in told] == ["run 2"] * 3
    assert runs.count == 2
    assert (await runs(prepared(n=1))).text == "run 2"


async def test_a_cancelled_call_that_began_its_change_is_not_run_by_those_who_wait(store):
    runs = unnamed(store)
    runs.intent = True
    runs.may_end.clear()
    first = asyncio.ensure_future(runs(prepared(n=1)))
    await wait_until_async(lambda: runs.count)
    waiter = asyncio.ensure_future(runs(prepared(n=1)))
    await asyncio.sleep(0)

    first.cancel()
    with anyio.fail_after(5):
        told = await waiter

    assert (told.status, told.problem.code) == (Status.INTERRUPTED, "cancelled")
    assert runs.count == 1


@pytest.mark.parametrize("kind", [named, unnamed])
async def test_an_id_that_we_made_is_checked_like_any_other(store, kind):
    runs = kind(store)
    own = f"{runs.answered.prefix}.1"
    await runs.run(prepared(own, n=1))

    told = [
        await runs(prepared(own, n=1)),
        await runs(prepared(own, n=2)),
        await runs(prepared(f"{runs.answered.prefix}.99", n=1)),
    ]

    assert [code(one) for one in told] == ["ok", "duplicate_id", "duplicate_id"]
    assert runs.count == 1


@pytest.mark.parametrize("kind", [named, unnamed])
async def test_another_agent_is_not_given_the_recorded_result(store, kind):
    runs = kind(store)
    await runs(prepared(n=1))

    assert code(await runs(prepared(n=1, agent="sub"))) == "duplicate_id"


async def test_a_call_that_was_not_understood_is_not_the_one_without_arguments(store):
    runs = unnamed(store)
    await runs(prepared(problem=Problem("invalid_arguments", "NaN is not JSON")))

    assert code(await runs(prepared())) == "duplicate_id"


@pytest.mark.parametrize("claimed", [True, False], ids=["claimed", "from an older store"])
async def test_a_purged_result_is_said_to_be_purged(store, path, claimed):
    runs = named(store)
    await (runs(prepared(n=1)) if claimed else runs.run(prepared(n=1)))
    await store.flush()
    purge_payloads(path, session="s")

    for again in (runs, named(store)):
        try:
            problem = await again(prepared(n=1))
        except ProblemRaised as raised:
            problem = raised.problem

        assert problem.code == "not_found"
        assert "purged" in problem.message
    assert runs.count == 1


async def test_a_result_that_could_not_be_recorded_is_not_invented(store):
    runs = unnamed(store)
    runs.complete = lambda one, result: runs.row(one, "completed", {"unencodable": "x"})
    await runs(prepared(n=1))

    with pytest.raises(ProblemRaised, match="could not be recorded"):
        await runs(prepared(n=1))


async def test_a_call_without_any_record_runs_again_only_if_it_changed_nothing(store):
    reads, writes = unnamed(store), unnamed(store)
    writes.intent = True
    reads.complete = writes.complete = lambda one, result: None

    again = [await reads(prepared("r")), await reads(prepared("r"))]
    await writes(prepared("w"))
    with pytest.raises(ProblemRaised, match="may have changed something"):
        await writes(prepared("w"))

    assert [one.text for one in again] == ["run 1", "run 2"]
    assert writes.count == 1


async def test_a_locked_store_refuses_the_id_and_gives_it_back(store, path):
    import sqlite3

    runs = named(store)
    lock = sqlite3.connect(path, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")

    with pytest.raises(ProblemRaised) as caught:
        await runs(prepared(n=1))
    lock.execute("ROLLBACK")
    lock.close()

    assert caught.value.problem.code == "store_unavailable"
    with anyio.fail_after(5):
        assert (await runs(prepared(n=1))).text == "run 1"


async def test_ids_that_a_server_counts_anew_are_told_apart_by_the_response(store):
    runs = named(store)
    one = prepared("call_0", n=1)
    one.origin.response = "resp-1"
    assert await runs.answered.name_for("call_0", "resp-1") == "call_0"
    await runs(one)

    later = CallIdLedger("s", store, resumed=True)

    assert await later.name_for("call_0", "resp-1") == "call_0"
    assert (await later.name_for("call_0", "resp-2")).startswith("call_0~")
    assert await later.name_for("call_0", None) == "call_0"
