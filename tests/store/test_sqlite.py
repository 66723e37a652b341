"""The store as the engine uses it: appending, committing, reading back."""

import asyncio
import statistics
import threading
import time
from pathlib import Path
from types import MappingProxyType

import anyio
import anyio.lowlevel
import pytest
from tests.support.postgres import BOTH_ENGINES
from tests.support.waiting import join_threads

from handrail.core.ports.records import CallRecord, Row, SessionRecord, Store
from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import check_integrity, verify
from handrail.store.sqlite.store import open_store


@BOTH_ENGINES
async def test_a_call_is_read_back_as_it_was_appended(path, row):
    store: Store = open_store(path)
    await store.open_session("s", {"mode": "default"})
    store.append(row("c1", "requested", tool="edit_file", args={"path": "ä.py"}))
    await store.commit(row("c1", "intent", before="x"), "power")
    store.append(row("c1", "completed", text="done", ok=True))

    [found] = await store.calls()

    assert found == CallRecord(
        session="s",
        call_id="c1",
        turn=1,
        requested_ns=1_000,
        requested={"tool": "edit_file", "args": {"path": "ä.py"}},
        intent={"before": "x"},
        completed={"text": "done", "ok": True},
        completed_ns=1_002,
    )
    assert await store.find_completed("s", "c1") == found
    await store.aclose()


@BOTH_ENGINES
async def test_calls_come_newest_first_and_can_be_filtered_and_paged(path, row):
    store = open_store(path)
    for session in ("a", "b"):
        for number in range(3):
            store.append(row(f"c{number}", session=session))

    async def ids(**filters):
        return [f"{call.session}/{call.call_id}" for call in await store.calls(**filters)]

    assert await ids() == ["b/c2", "b/c1", "b/c0", "a/c2", "a/c1", "a/c0"]
    assert await ids(session="a") == ["a/c2", "a/c1", "a/c0"]
    assert await ids(call_id="c1") == ["b/c1", "a/c1"]
    assert await ids(limit=2) == ["b/c2", "b/c1"]
    assert await ids(limit=2, before_ns=1_004) == ["b/c0", "a/c2"]
    await store.aclose()


@BOTH_ENGINES
async def test_a_call_without_completion_is_listed_but_not_found_as_completed(path, row):
    store = open_store(path)
    store.append(row("c1"))

    [listed] = await store.calls()

    assert listed.completed is None
    assert listed.completed_ns is None
    assert await store.find_completed("s", "c1") is None
    assert await store.find_completed("s", "never") is None
    await store.aclose()


@BOTH_ENGINES
async def test_a_repeated_id_answers_with_the_last_call_and_lists_both(path, row):
    store = open_store(path)
    for answer in ("first", "second"):
        store.append(row("c1", asked=answer))
        store.append(row("c1", "completed", text=answer))

    found = await store.find_completed("s", "c1")

    assert found is not None
    assert (found.requested, found.completed) == ({"asked": "second"}, {"text": "second"})
    assert [call.completed for call in await store.calls()] == [
        {"text": "second"},
        {"text": "first"},
    ]
    await store.aclose()


@BOTH_ENGINES
async def test_two_hundred_tasks_at_once_lose_and_double_nothing(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    in_flight = 0
    most = 0

    async def one_call(number):
        nonlocal in_flight, most
        store.append(row(f"c{number}", "requested"))
        in_flight += 1
        most = max(most, in_flight)
        await store.commit(row(f"c{number}", "intent"), "power" if number % 2 else "process")
        in_flight -= 1
        store.append(row(f"c{number}", "completed", number=number))

    async with anyio.create_task_group() as group:
        for number in range(200):
            group.start_soon(one_call, number)

    calls = await store.calls(limit=1_000)
    assert most > 100
    assert sorted(call.call_id for call in calls) == sorted(f"c{n}" for n in range(200))
    assert all(call.completed == {"number": int(call.call_id[1:])} for call in calls)
    await store.aclose()
    assert (verify(path).rows, verify(path).broken) == (600, None)


@BOTH_ENGINES
async def test_a_committed_row_carries_all_rows_before_it_into_the_file(path, row):
    store = open_store(path)
    for number in range(300):
        store.append(row(f"c{number}"))
    await store.commit(row("last", "intent"), "process")

    assert verify(path).rows == 301
    await store.aclose()


@BOTH_ENGINES
async def test_flush_returns_when_earlier_rows_are_in_the_file(path, row):
    store = open_store(path)
    store.append(row())
    await store.flush()

    assert verify(path).rows == 1
    await store.aclose()


@BOTH_ENGINES
async def test_rows_reach_the_file_without_anybody_waiting_for_them(path, row):
    store = open_store(path)
    store.append(row())

    with anyio.fail_after(5):
        while verify(path).rows == 0:
            await anyio.lowlevel.checkpoint()
    await store.aclose()


@BOTH_ENGINES
async def test_a_cancelled_waiter_disturbs_nobody(path, row):
    store = open_store(path)
    tasks = [
        asyncio.ensure_future(store.commit(row(f"c{n}", "intent"), "power")) for n in range(20)
    ]
    await asyncio.sleep(0)
    for task in tasks[::2]:
        task.cancel()

    ends = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(end) for end in ends[::2]] == [asyncio.CancelledError] * 10
    assert ends[1::2] == [None] * 10
    await store.aclose()
    assert verify(path).broken is None


@BOTH_ENGINES
async def test_one_store_serves_loops_in_several_threads(path, row):
    store = open_store(path)
    rows = [[row(f"t{thread}-{n}", "intent") for n in range(20)] for thread in range(4)]

    async def commit_all(mine):
        for each in mine:
            await store.commit(each, "process")

    threads = [threading.Thread(target=asyncio.run, args=(commit_all(mine),)) for mine in rows]
    for thread in threads:
        thread.start()
    await anyio.to_thread.run_sync(lambda: join_threads(*threads))

    await store.aclose()
    assert (verify(path).rows, verify(path).broken) == (80, None)


@BOTH_ENGINES
async def test_a_loop_that_is_gone_before_its_answer_harms_nobody(path, row):
    store = open_store(path)

    async def walk_away():
        waiting = asyncio.ensure_future(store.commit(row("gone", "intent"), "process"))
        await asyncio.sleep(0)
        waiting.cancel()

    await anyio.to_thread.run_sync(lambda: asyncio.run(walk_away()))
    await store.commit(row("here", "intent"), "process")

    assert verify(path).rows == 2
    await store.aclose()


@BOTH_ENGINES
async def test_more_rows_than_the_queue_holds_slow_the_caller_instead_of_losing_any(path, row):
    store = open_store(path)
    for number in range(12_000):
        store.append(row(f"c{number}"))
    await store.aclose()

    assert (verify(path).rows, store.refused_rows) == (12_000, 0)


async def test_appending_costs_the_caller_microseconds(path, row):
    store = open_store(path)
    costs = []
    for number in range(2_000):
        one = row(f"c{number}", text="x" * 1_000)
        start = time.thread_time_ns()
        store.append(one)
        costs.append(time.thread_time_ns() - start)
    await store.aclose()

    # The caller's own processor time, so that a busy machine does not fail the test.
    assert statistics.median(costs) < 5_000


async def test_a_store_in_memory_does_the_same_and_leaves_no_file(tmp_path, monkeypatch, row):
    monkeypatch.chdir(tmp_path)
    store = open_store(":memory:")
    await store.open_session("s", {})
    store.append(row("c1"))
    await store.commit(row("c1", "intent"), "power")
    store.append(row("c1", "completed", text="ok"))

    found = await store.find_completed("s", "c1")

    assert found is not None
    assert found.completed == {"text": "ok"}
    assert (await store._ask(lambda db: check_integrity(db, None))).broken is None
    await store.aclose()
    assert list(tmp_path.iterdir()) == []


@BOTH_ENGINES
async def test_a_session_is_opened_resumed_and_closed(path, row):
    store = open_store(path, now_ns=iter(range(1, 100)).__next__)
    first = await store.open_session("cli", {"mode": "plan"})
    store.append(row(session="cli"))
    await store.open_session("other", {})
    await store.close_session("cli")
    await store.close_session("cli")
    again = await store.open_session("cli", {"mode": "default"})
    store.append(row(session="cli"))

    assert (first, again) == (False, True)
    assert await store.sessions() == [
        SessionRecord("cli", 1, 1, None, 2, {"mode": "default"}),
        SessionRecord("other", 2, 2, None, 0, {}),
    ]
    await store.aclose()
    reopened = open_store(path)
    assert [session.closed_ns is None for session in await reopened.sessions()] == [False, False]
    assert len(await reopened.sessions(limit=1)) == 1
    await reopened.aclose()
    assert verify(path).broken is None


@BOTH_ENGINES
async def test_a_row_of_a_session_that_nobody_opened_is_recorded_all_the_same(path, row):
    store = open_store(path)
    store.append(row(session="stranger"))
    await store.aclose()

    integrity = verify(path)
    assert (integrity.rows, integrity.broken, list(integrity.open_sessions)) == (
        1,
        None,
        ["stranger"],
    )


@BOTH_ENGINES
async def test_state_is_kept_as_it_was_when_saved(path):
    store = open_store(path)
    reads = {"a.py": [1, 2]}
    store.save_state("cli", "reads", reads)
    reads["a.py"].append(3)
    store.save_state("cli", "turn", 1)
    store.save_state("cli", "turn", 2)
    store.save_state("other", "turn", 9)
    await store.aclose()

    reopened = open_store(path)
    assert await reopened.load_state("cli") == {"reads": {"a.py": [1, 2]}, "turn": 2}
    assert await reopened.load_state("never") == {}
    await reopened.aclose()


@pytest.mark.parametrize(
    ("payload", "read_back"),
    [
        ({"text": "half \ud800 pair"}, {"text": "half \ud800 pair"}),
        ({"text": "zero \x00 and ü"}, {"text": "zero \x00 and ü"}),
        ({"raw": b"\xff"}, {"raw": "b'\\xff'"}),
        (MappingProxyType({"a": MappingProxyType({"b": 1})}), {"a": {"b": 1}}),
        ({"kind": ValueError("x")}, {"kind": "ValueError('x')"}),
        ({}, {}),
    ],
)
@BOTH_ENGINES
async def test_any_payload_is_recorded_and_verifies(path, payload, read_back):
    store = open_store(path)
    store.append(Row("s", "requested", "c1", 1, 1, payload))

    [found] = await store.calls()

    assert found.requested == read_back
    await store.aclose()
    assert verify(path).broken is None


@BOTH_ENGINES
async def test_a_payload_without_any_json_form_is_noted_but_refused_as_intent(path, row):
    store = open_store(path)
    circle: dict = {}
    circle["self"] = circle
    store.append(row("c1")._replace(payload=circle))

    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c2", "intent")._replace(payload=circle), "power")

    assert caught.value.problem.code == "internal"
    assert "'c2'" in caught.value.problem.message
    [found] = await store.calls()
    assert list(found.requested) == ["unencodable"]
    await store.aclose()
    assert verify(path).rows == 1


class Hostile:
    def __init__(self, error):
        self.error = error

    def __repr__(self):
        raise self.error


class Speechless(Exception):
    def __str__(self):
        raise RuntimeError("no words either")


@pytest.mark.parametrize(
    ("error", "noted"),
    [(RuntimeError("evil"), "RuntimeError: evil"), (Speechless(), "Speechless")],
)
@BOTH_ENGINES
async def test_a_value_whose_own_code_fails_does_not_end_the_record(path, row, error, noted):
    store = open_store(path)
    hostile = {"data": Hostile(error)}
    store.append(row("c1")._replace(payload=hostile))

    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c2", "intent")._replace(payload=hostile), "power")
    store.append(row("c3"))

    assert caught.value.problem.code == "internal"
    assert noted in caught.value.problem.message
    found = {call.call_id: call.requested for call in await store.calls()}
    assert found == {"c1": {"unencodable": noted}, "c3": {"tool": "read_file"}}
    await store.aclose()
    assert verify(path).broken is None


@BOTH_ENGINES
async def test_what_is_recorded_cannot_be_changed_by_the_caller_afterwards(path):
    store = open_store(path)
    arguments = {"paths": ["secret.txt"]}
    meta = {"tool": "read_file"}
    store.append(Row("s", "requested", "c1", 1, 1, {"arguments": arguments}))
    store.append(Row("s", "completed", "c1", 1, 3, {"meta": MappingProxyType(meta)}))
    intent = store.commit(Row("s", "intent", "c1", 1, 2, {"arguments": arguments}), "process")
    waiting = asyncio.ensure_future(intent)
    await asyncio.sleep(0)

    arguments["paths"][:] = ["innocent.txt"]
    meta["tool"] = "forged"
    await waiting

    [found] = await store.calls()
    assert (found.requested, found.intent, found.completed) == (
        {"arguments": {"paths": ["secret.txt"]}},
        {"arguments": {"paths": ["secret.txt"]}},
        {"meta": {"tool": "read_file"}},
    )
    await store.aclose()


@BOTH_ENGINES
async def test_odd_session_and_call_names_are_stored_and_found(path, row):
    store = open_store(path)
    await store.open_session("s\ud800", {})
    store.append(row("c\udfff", session="s\ud800"))
    store.append(row("c\udfff", "completed", session="s\ud800"))

    assert await store.find_completed("s\ud800", "c\udfff") is not None
    assert len(await store.calls(session="s\ud800", call_id="c\udfff")) == 1
    await store.aclose()
    assert verify(path).broken is None


@BOTH_ENGINES
@pytest.mark.parametrize(
    "name",
    ["with \0 in it", "\0", "x" * 5_000, "ä\ud800" * 3_000, "".join(map(chr, range(40, 9_000)))],
    ids=["nul inside", "nul alone", "long", "long and odd", "long and varied"],
)
async def test_names_that_a_database_refuses_are_stored_and_found(path, row, name):
    store = open_store(path)
    for call in (name, name + "1"):
        await store.open_session(name, {})
        assert await store.claim(name, call, "print", "owner") is None
        store.append(row(call, session=name))
        store.append(row(call, "completed", session=name))
        store.save_state(name, call, call[-1:])

    assert await store.find_completed(name, name) is not None
    assert len(await store.calls(session=name)) == 2
    assert len(await store.calls(session=name, call_id=name + "1")) == 1
    assert len(await store.load_state(name)) == 2
    await store.aclose()
    assert (verify(path).rows, verify(path).broken) == (4, None)


@BOTH_ENGINES
async def test_sizes_count_what_there_is(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    store.append(row(text="x"))
    store.append(row("c1", "completed", text="y"))

    sizes = await store.sizes()

    assert (sizes.sessions, sizes.calls, sizes.rows, sizes.payloads) == (1, 1, 2, 2)
    assert sizes.payload_bytes == len('{"text":"x"}') * 2
    assert sizes.file_bytes >= (path.stat().st_size if isinstance(path, Path) else 1 << 16)
    await store.aclose()


async def test_an_intent_is_synced_to_the_disk_at_level_power_only(path, row):
    store = open_store(path)
    levels = []
    for durability in ("power", "process", "power"):
        await store.commit(row(kind="intent"), durability)
        levels += await store._ask(lambda db: db.execute("PRAGMA synchronous").fetchone())

    assert levels == [2, 1, 2]
    await store.aclose()
