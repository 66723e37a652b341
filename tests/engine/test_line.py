"""Calls that end in any order are heard of in the order in which they were made."""

import asyncio

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from handrail.engine.line import ranks_of


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.permutations(range(8)), st.sets(st.integers(0, 7)))
def test_any_order_of_ends_is_heard_in_the_order_of_calls(ends, gone):
    ranks = ranks_of(range(8))
    heard, said = [], {}

    for number in ends:
        if number in gone:
            ranks[number].leave()
        else:
            said[number] = ranks[number].tell(lambda n=number: heard.append(n) or f"words {n}")

    assert heard == [number for number in range(8) if number not in gone]
    for place, number in enumerate(ends):
        last = set(range(number)) <= set(ends[:place])
        assert said.get(number) == (f"words {number}" if last and number not in gone else None)


def test_who_has_left_is_heard_at_once_and_who_was_heard_cannot_leave():
    first, second, third = ranks_of("abc")
    heard = []

    third.leave()
    third.tell(lambda: heard.append("third"))
    second.tell(lambda: heard.append("second"))
    second.leave()
    first.leave()

    assert heard == ["third", "second"]


async def test_who_leaves_waits_no_longer():
    _, second = ranks_of("ab")
    waiting = asyncio.create_task(second.reached())
    await asyncio.sleep(0)
    second.leave()

    await asyncio.wait_for(waiting, 5)
    await asyncio.wait_for(second.reached(), 5)


def test_equal_calls_know_how_many_were_made_before_them():
    assert [one.same for one in ranks_of("abaab")] == [0, 0, 1, 2, 1]
