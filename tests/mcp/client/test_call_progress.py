"""The time limit of a call while the user is asked, and reports of its progress."""

import asyncio
from types import SimpleNamespace

import pytest

from handrail.mcp.client.call_progress import PausedLimit, ProgressReports


async def test_the_limit_is_paused_until_the_last_question_is_answered():
    async with asyncio.timeout(100) as limit:
        now, until = asyncio.get_running_loop().time(), limit.when()
        paused = PausedLimit(limit)
        with paused:
            assert limit.when() is None
            with paused:
                assert limit.when() is None
            assert limit.when() is None
            await asyncio.sleep(0.02)
        assert limit.when() >= until + 0.02
        assert limit.when() - asyncio.get_running_loop().time() <= until - now


async def test_a_call_without_a_limit_has_none_afterwards():
    async with asyncio.timeout(None) as limit:
        with PausedLimit(limit):
            pass
        assert limit.when() is None


async def test_a_question_may_be_answered_after_the_call_has_ended():
    async with asyncio.timeout(100) as limit:
        paused = PausedLimit(limit)
        paused.__enter__()
    paused.__exit__()


@pytest.mark.parametrize(
    ("progress", "total", "message", "shown"),
    [
        (1.0, None, None, "1"),
        (0.5, 2.0, "", "0.5 of 2"),
        (3, 4, "half\ndone", "3 of 4: half\\ndone"),
        (3, 0, "x" * 300, f"3 of 0: {'x' * 200}"),
    ],
)
async def test_progress_is_one_line(progress, total, message, shown):
    reported = []
    await ProgressReports(SimpleNamespace(report=reported.append))(progress, total, message)

    assert reported == [shown]


def test_two_hundred_messages_are_reported():
    reported = []
    reports = ProgressReports(SimpleNamespace(report=reported.append))
    for number in range(203):
        reports.pass_on(number, None, None)

    assert (len(reported), reported[-1]) == (200, "199")
