"""Leases in the store: given to one owner at a time, with a number that is never given twice."""

import asyncio

import pytest
from tests.support.postgres import BOTH_ENGINES

from handrail.store.sqlite.store import open_store

pytestmark = BOTH_ENGINES
HOUR_NS = 3_600 * 10**9


@pytest.fixture
async def stores(path):
    now = [1_000]
    opened = [open_store(path, now_ns=lambda: now[0]) for _ in range(2)]
    yield *opened, now
    for store in opened:
        await store.aclose()


async def test_a_lease_is_denied_to_others_renewed_and_released(stores):
    one, two, now = stores

    first = await one.reserve("a", ["src/**"], HOUR_NS, "p")
    denied = await two.reserve("b", ["src/x.py", "docs/**"], HOUR_NS, "p")
    now[0] += 5
    again = await one.reserve("a", ["src/**"], HOUR_NS, "q")

    assert [(glob, by.owner) for glob, by in denied.denied] == [("src/x.py", "a")]
    assert [lease.glob for lease in denied.acquired] == ["docs/**"]
    assert again.acquired[0].token == first.acquired[0].token
    assert again.acquired[0].until_ns == first.acquired[0].until_ns + 5
    assert {lease.owner for lease in await two.leases()} == {"a", "b"}
    assert await two.release("b", [first.acquired[0].token]) == ()
    assert await one.release("a", [first.acquired[0].token]) == (first.acquired[0].token,)
    assert [lease.owner for lease in await one.leases()] == ["b"]


async def test_an_expired_lease_is_given_to_another_with_a_higher_fence(stores):
    one, two, now = stores
    old = await one.reserve("a", ["src/**"], 10, "p")
    now[0] += 10

    new = await two.reserve("b", ["src/**"], 10, "p")

    assert new.acquired[0].fence > old.acquired[0].fence
    assert await one.release("a", [old.acquired[0].token]) == ()


async def test_of_two_that_reserve_at_once_one_gets_it(stores):
    one, two, _ = stores
    for number in range(5):
        given = await asyncio.gather(
            one.reserve("a", [f"f{number}"], HOUR_NS, "p"),
            two.reserve("b", [f"f{number}"], HOUR_NS, "p"),
        )
        assert sorted(len(each.acquired) for each in given) == [0, 1]
