"""Several processes on one store, and processes that are killed."""

import contextlib
import json
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress

import pytest
from tests.support.postgres import BOTH_ENGINES
from tests.support.stores import query
from tests.support.waiting import wait_exit

from handrail.store.chain import verify as chain_verify
from handrail.store.chain.verify import verify
from handrail.store.schema.migrations import check_identity, list_migrations, upgrade
from handrail.store.sqlite.store import open_store

WRITE = """
import asyncio, sys, time
from handrail.core.ports.records import Row
from handrail.store.sqlite.store import open_store

async def main(path, session, name, count):
    store = open_store(path, busy_timeout_s=60)
    await store.open_session(session, {})
    print("ready", flush=True)
    sys.stdin.read()
    for number in range(int(count)):
        call = f"{name}-{number}"
        store.append(Row(session, "requested", call, 1, time.time_ns(), {"n": number}))
        await store.commit(Row(session, "intent", call, 1, time.time_ns(), {}), "process")
        store.append(Row(session, "completed", call, 1, time.time_ns(), {"n": number}))
    await store.aclose()

asyncio.run(main(*sys.argv[1:]))
"""

COMMIT = """
import asyncio, sys
from handrail.core.ports.records import Row
from handrail.store.sqlite.store import open_store

async def main(path, first):
    store = open_store(path)
    await store.open_session("s", {})
    for number in range(int(first), 10**9):
        await store.commit(Row("s", "intent", str(number), 1, 1, {"n": number}), "process")
        print(number, flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


def write_from_processes(path, sessions, count):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITE, path, session, f"p{number}", str(count)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number, session in enumerate(sessions)
    ]
    # All are running before any may begin.
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
    codes = [worker.wait(120) for worker in workers]
    for worker in workers:
        assert worker.stdout is not None
        worker.stdout.close()
    assert codes == [0] * len(workers)


def recorded(path):
    return Counter(query(path, "SELECT session, call_id, kind FROM rows"))


@BOTH_ENGINES
@pytest.mark.parametrize("shared", [True, False], ids=["one session", "own sessions"])
def test_eight_processes_lose_and_double_nothing(path, shared):
    sessions = ["shared" if shared else f"s{number}" for number in range(8)]

    write_from_processes(path, sessions, 40)

    assert recorded(path) == Counter(
        (session, f"p{worker}-{number}", kind)
        for worker, session in enumerate(sessions)
        for number in range(40)
        for kind in ("requested", "intent", "completed")
    )
    integrity = verify(path)
    assert (integrity.rows, integrity.broken, integrity.open_sessions) == (960, None, {})


async def _kill_and_look(path, kills, commits):
    told = []
    for _ in range(kills):
        worker = subprocess.Popen(
            [sys.executable, "-c", COMMIT, path, str(len(told))], stdout=subprocess.PIPE
        )
        assert worker.stdout is not None
        told += [int(worker.stdout.readline()) for _ in range(commits)]
        worker.kill()
        # Not `communicate`, which would leave out what `readline` has already buffered.
        rest = worker.stdout.read()
        wait_exit(worker)
        worker.stdout.close()
        told += [
            int(line) for line in rest.decode().splitlines(keepends=True) if line.endswith("\n")
        ]

        store = open_store(path)
        found = await store._ask(
            lambda db: [
                json.loads(body)["n"] for (body,) in db.execute("SELECT body FROM payloads")
            ]
        )
        await store.aclose()

        assert set(told) <= set(found)
        # The last one may be in the store before its writer could tell.
        assert len(found) - len(set(told)) <= kills
        assert verify(path).broken is None


@BOTH_ENGINES
async def test_what_was_committed_survives_a_kill(path):
    await _kill_and_look(path, kills=4, commits=10)


@pytest.mark.torture
@BOTH_ENGINES
async def test_what_was_committed_survives_many_kills(path):
    await _kill_and_look(path, kills=100, commits=25)


def test_a_store_that_another_process_makes_just_now_is_not_a_strangers(path):
    plan = list_migrations()
    other = sqlite3.connect(path, isolation_level=None, timeout=0)

    class Slow(sqlite3.Connection):
        """Between its questions somebody else makes the store."""

        def execute(self, sql, *rest):
            answer = super().execute(sql, *rest)
            if sql == "PRAGMA application_id":
                with suppress(sqlite3.OperationalError):
                    upgrade(other, str(path), plan)
            return answer

    db = sqlite3.connect(path, factory=Slow, isolation_level=None, timeout=0)
    try:
        assert check_identity(db, str(path), plan[-1].version) in (0, plan[-1].version)
        upgrade(other, str(path), plan)
        assert check_identity(db, str(path), plan[-1].version) == plan[-1].version
    finally:
        db.close()
        other.close()


async def test_the_rows_of_others_are_checked_while_others_can_write(path, row, monkeypatch):
    find_break, held_up = chain_verify.find_break, []

    def check(location, size):
        with contextlib.closing(sqlite3.connect(location, timeout=0, isolation_level=None)) as db:
            try:
                db.execute("BEGIN IMMEDIATE")
            except sqlite3.OperationalError:
                held_up.append(True)
            else:
                held_up.append(False)
                db.execute("ROLLBACK")
        return find_break(location, size)

    monkeypatch.setattr(chain_verify, "find_break", check)
    own, other = open_store(path), open_store(path)
    await own.commit(row("a"), "process")
    await other.commit(row("b"), "process")
    # That there are others is found in a transaction, once.
    await own.commit(row("c"), "process")
    await other.commit(row("d"), "process")
    held_up.clear()
    own._writer._guard._next_s = time.monotonic()
    await own.commit(row("e"), "process")
    await own.aclose()
    await other.aclose()

    assert held_up == [False]
