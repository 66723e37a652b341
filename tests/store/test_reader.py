"""What is reserved is asked beside the writer, and is never older than the question."""

import asyncio
import sqlite3
import subprocess
import sys

import pytest
from tests.support.waiting import running

from handrail.core.problems import ProblemRaised
from handrail.store.sqlite.store import open_store

HOUR_NS = 3_600_000_000_000

RESERVE = """
import asyncio, sys
from handrail.store.sqlite.store import open_store

async def main(path):
    store = open_store(path)
    await store.reserve("other", ["/w/a"], 3_600_000_000_000, "")
    print("reserved", flush=True)
    sys.stdin.readline()
    await store.release("other", [one.token for one in await store.leases()])
    print("released", flush=True)
    sys.stdin.readline()
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


async def globs(store):
    return [one.glob for one in await store.leases()]


async def test_what_another_process_has_committed_is_seen_at_once(path):
    store = open_store(path)
    assert await globs(store) == []
    command = [sys.executable, "-c", RESERVE, str(path)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with running(subprocess.Popen(command, **pipes)) as other:
        assert other.stdout.readline() == "reserved\n"
        assert await globs(store) == ["/w/a"]

        print(file=other.stdin, flush=True)
        assert other.stdout.readline() == "released\n"
        assert await globs(store) == []
        print(file=other.stdin, flush=True)
        assert other.wait(timeout=30) == 0
    await store.aclose()


async def test_what_this_store_has_reserved_is_seen_at_once(path):
    store = open_store(path)

    for number in range(20):
        reserved = await store.reserve("me", [f"/w/{number}"], HOUR_NS, "")
        assert await globs(store) == [f"/w/{number}"]
        await store.release("me", [one.token for one in reserved.acquired])

    assert await globs(store) == []
    await store.aclose()


async def test_the_question_waits_for_no_row_that_is_being_written(path, row):
    store = open_store(path, busy_timeout_s=60)
    await store.reserve("me", ["/w/a"], HOUR_NS, "")
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    store.append(row())
    writing = asyncio.create_task(store.flush())
    await asyncio.sleep(0)

    assert await globs(store) == ["/w/a"]
    assert not writing.done()
    blocker.execute("ROLLBACK")
    blocker.close()
    await writing
    await store.aclose()


async def test_asked_from_several_threads_it_answers_the_same(path):
    store = open_store(path)
    await store.reserve("me", ["/w/a"], HOUR_NS, "")

    def ask():
        return [asyncio.run(globs(store)) for _ in range(50)]

    answers = await asyncio.gather(*(asyncio.to_thread(ask) for _ in range(4)))

    assert answers == [[["/w/a"]] * 50] * 4
    await store.aclose()


async def test_a_store_in_memory_answers_too():
    store = open_store(":memory:")
    await store.reserve("me", ["/w/a"], HOUR_NS, "")

    assert await globs(store) == ["/w/a"]
    await store.aclose()


async def test_a_store_that_was_closed_says_so_and_leaves_one_file(path):
    store = open_store(path)
    await store.reserve("me", ["/w/a"], HOUR_NS, "")
    assert await globs(store) == ["/w/a"]

    await store.aclose()

    assert [one.name for one in path.parent.iterdir()] == [path.name]
    with pytest.raises(ProblemRaised) as refusal:
        await store.leases()
    assert refusal.value.problem.code == "store_unavailable"


async def test_a_store_that_fails_says_so_instead_of_what_it_knew(path, row):
    store = open_store(path, busy_timeout_s=0.01)
    await store.reserve("me", ["/w/a"], HOUR_NS, "")
    blocker = sqlite3.connect(path, isolation_level=None)
    blocker.execute("BEGIN IMMEDIATE")
    store.append(row())
    with pytest.raises(ProblemRaised):
        await store.flush()

    with pytest.raises(ProblemRaised) as refusal:
        await store.leases()

    assert refusal.value.problem.code == "store_unavailable"
    blocker.execute("ROLLBACK")
    blocker.close()
    assert await globs(store) == ["/w/a"]
    await store.aclose()
