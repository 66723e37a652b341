"""Rows that are written together, and who is told that they are there."""

import threading
from contextlib import closing, suppress

import pytest
from tests.support.postgres import BOTH_ENGINES

from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.store.opening import open_read_only
from handrail.store.sqlite.store import open_store


@pytest.mark.parametrize("number", [1, 2, 3, 4, 5, 16, 17, 64, 65, 130, 256, 300])
@BOTH_ENGINES
async def test_a_group_of_any_size_is_written_whole_and_in_order(path, row, number):
    store = open_store(path)
    for at in range(number):
        store.append(row(f"c{at}", session=f"s{at % 3}"))
    await store.flush()

    for at in range(min(3, number)):
        calls = await store.calls(session=f"s{at}", limit=200)
        own = [f"c{one}" for one in range(at, number, 3)]
        assert [one.call_id for one in reversed(calls)] == own
    await store.aclose()
    assert (verify(path).rows, verify(path).broken) == (number, None)


@BOTH_ENGINES
async def test_a_secret_is_taken_out_of_its_row_among_others_that_hold_none(path, row):
    store = open_store(path)
    token = "ghp_" + "Aa1" * 14
    for at in range(9):
        store.append(row(f"c{at}", text=token if at == 4 else "an ordinary text"))
    await store.flush()

    texts = [one.requested["text"] for one in reversed(await store.calls(limit=20))]

    assert texts == [*["an ordinary text"] * 4, "ghp_[redacted]", *["an ordinary text"] * 4]
    await store.aclose()


@BOTH_ENGINES
async def test_whoever_cannot_wait_for_the_loop_is_told_once_the_row_is_there(path, row):
    store, heard = open_store(path), []

    def at_once():
        heard.append((threading.current_thread().name, store_has(path, "c1")))

    await store.commit(row("c1", "intent"), "process", at_once)

    assert heard == [("handrail-store", True)]
    await store.aclose()


async def test_nobody_is_told_that_a_row_is_there_which_was_refused(path, row):
    store, heard = open_store(path), []
    path.with_name(path.name + "-wal").unlink()

    with pytest.raises(ProblemRaised):
        await store.commit(row("c1", "intent"), "process", lambda: heard.append("told"))

    assert heard == []
    with suppress(ProblemRaised):
        await store.aclose()


def store_has(path, call_id):
    with closing(open_read_only(path)) as db:
        return db.execute("SELECT 1 FROM rows WHERE call_id = ?", (call_id,)).fetchone() == (1,)
