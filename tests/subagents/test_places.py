"""The slots of subagents: held while they work, free while they wait."""

import asyncio

import pytest

from handrail.subagents.places import WorkingPlace


def free(places):
    """How many slots are free."""
    return places._value


async def settle():
    """Let every task go on until it waits."""
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_slot_is_held_during_the_work_and_free_during_a_wait():
    places = asyncio.Semaphore(1)
    place = WorkingPlace(places)

    async with place.occupied():
        assert free(places) == 0
        async with place.lent():
            assert free(places) == 1
        assert free(places) == 0
    assert free(places) == 1


async def test_work_begins_when_a_slot_is_free():
    places = asyncio.Semaphore(1)
    began = []

    async def work():
        async with WorkingPlace(places).occupied():
            began.append(True)

    async with WorkingPlace(places).occupied():
        task = asyncio.create_task(work())
        await settle()
        assert not began
    await asyncio.wait_for(task, 5)
    assert began


async def test_the_slot_is_free_from_the_first_wait_to_the_end_of_the_last():
    places = asyncio.Semaphore(1)
    place = WorkingPlace(places)

    async with place.occupied():
        async with place.lent():
            async with place.lent():
                assert free(places) == 1
            assert free(places) == 1
        assert free(places) == 0


async def test_a_wait_that_fails_has_its_slot_again():
    places = asyncio.Semaphore(1)
    place = WorkingPlace(places)

    async with place.occupied():
        with pytest.raises(ValueError, match="why"):
            async with place.lent():
                raise ValueError("why")
        assert free(places) == 0
        async with place.lent():
            assert free(places) == 1
        assert free(places) == 0


async def test_a_cancelled_wait_is_without_a_slot_until_it_regains_one():
    places = asyncio.Semaphore(1)
    place = WorkingPlace(places)

    async with place.occupied():
        with pytest.raises(asyncio.CancelledError):
            async with place.lent():
                raise asyncio.CancelledError
        assert free(places) == 1
        await place.regain()
        assert free(places) == 0
        await place.regain()
        assert free(places) == 0
    assert free(places) == 1
    await place.regain()
    assert free(places) == 1


async def test_a_slot_that_comes_after_the_work_has_ended_is_given_back():
    places = asyncio.Semaphore(1)
    place, other = WorkingPlace(places), WorkingPlace(places)

    async with place.occupied():
        with pytest.raises(asyncio.CancelledError):
            async with place.lent():
                raise asyncio.CancelledError
        taken = other.occupied()
        await taken.__aenter__()
        regaining = asyncio.create_task(place.regain())
        await settle()
    await taken.__aexit__(None, None, None)
    await asyncio.wait_for(regaining, 5)
    assert free(places) == 1


async def test_a_slot_that_comes_during_another_wait_is_given_back():
    places = asyncio.Semaphore(1)
    place, other = WorkingPlace(places), WorkingPlace(places)

    async with place.occupied():
        with pytest.raises(asyncio.CancelledError):
            async with place.lent():
                raise asyncio.CancelledError
        taken = other.occupied()
        await taken.__aenter__()
        regaining = asyncio.create_task(place.regain())
        await settle()
        async with place.lent():
            await taken.__aexit__(None, None, None)
            await asyncio.wait_for(regaining, 5)
            assert free(places) == 1
        assert free(places) == 0
    assert free(places) == 1
