"""Of several processes that use one id in one session, one gets it."""

import subprocess
import sys

import anyio
from tests.support.postgres import BOTH_ENGINES

from handrail.core.ports.records import CallClaim
from handrail.store.sqlite.store import open_store

pytestmark = BOTH_ENGINES

CLAIM = """
import asyncio, sys
from handrail.store.sqlite.store import open_store

async def main(path, owner):
    store = open_store(path, busy_timeout_s=60)
    print("ready", flush=True)
    sys.stdin.read()
    held = [await store.claim("s", f"c{number}", "same", owner) for number in range(30)]
    await store.aclose()
    print(*[number for number, one in enumerate(held) if one is None], flush=True)

asyncio.run(main(*sys.argv[1:]))
"""


async def test_the_first_has_the_id_in_its_session_and_later_ones_hear_of_it(path):
    one, two = open_store(path), open_store(path)

    assert await one.claim("s", "c1", "print", "one") is None
    assert await two.claim("s", "c1", "other", "two") == CallClaim("print", "one")
    assert await one.claim("s", "c1", "print", "one") == CallClaim("print", "one")
    assert await two.claim("t", "c1", "other", "two") is None
    assert await two.claim("s\ud800", "c\ud800", "other", "two") is None
    await one.aclose()
    await two.aclose()


async def test_an_id_that_is_on_record_without_a_claim_is_not_given_away(path, row):
    store = open_store(path)
    store.append(row("done"))
    store.append(row("done", "completed"))
    store.append(row("cut short"))

    assert await store.claim("s", "done", "print", "one") == CallClaim(None, "")
    assert await store.claim("s", "cut short", "print", "one") is None
    await store.aclose()


async def test_a_dead_owners_id_is_taken_over_once(path):
    store = open_store(path)
    await store.claim("s", "c1", "print", "dead")
    taken = {}

    async def take(owner):
        taken[owner] = await store.take_over("s", "c1", "dead", owner)

    async with anyio.create_task_group() as group:
        group.start_soon(take, "a")
        group.start_soon(take, "b")

    assert sorted(taken.values()) == [False, True]
    held = await store.claim("s", "c1", "print", "c")
    assert held is not None
    assert taken[held.owner]
    await store.aclose()


def test_four_processes_claim_every_id_once(path):
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", CLAIM, path, f"p{number}"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        for number in range(4)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == b"ready\n"
    for worker in workers:
        assert worker.stdin is not None
        worker.stdin.close()
        worker.stdin = None
    told = [worker.communicate(timeout=60)[0] for worker in workers]

    assert sorted(int(number) for one in told for number in one.split()) == list(range(30))
