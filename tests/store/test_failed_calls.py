"""Failed calls that wait for a person: kept, moved by one at a time, purged when they are over."""

import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest
from tests.support.postgres import BOTH_ENGINES

from handrail.core.failed_calls import FailedCallChange, FailedCallState, NewFailedCall
from handrail.store.opening import open_read_only
from handrail.store.records import failed_calls
from handrail.store.records.failed_calls import KEPT_NS, count_expired, purge_failed_calls
from handrail.store.sqlite.store import open_store

ERROR = {"code": "internal", "message": "it broke"}
LETTER = NewFailedCall("s", "c1", "/w", "main", "tool:fetch", {"page": "home"}, ERROR)
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
async def store(path):
    times = iter(range(1, 100_000))
    opened = open_store(path, now_ns=lambda: next(times))
    yield opened
    await opened.aclose()


@pytest.mark.feature("R-04")
@BOTH_ENGINES
async def test_a_letter_is_kept_with_all_that_is_known(store):
    await store.record_failed_call(LETTER)

    (letter,) = await store.failed_calls()

    assert letter.to_dict() == {
        "id": 1,
        "session": "s",
        "call_id": "c1",
        "workspace": "/w",
        "agent": "main",
        "operation": "tool:fetch",
        "arguments": {"page": "home"},
        "redacted": False,
        "error": ERROR,
        "state": "pending",
        "attempts": 1,
        "created_ns": 1,
        "changed_ns": 1,
    }
    assert (letter.tool, letter.owner) == ("fetch", "")


@BOTH_ENGINES
async def test_the_same_call_that_fails_again_is_one_letter(store):
    await store.record_failed_call(LETTER)
    await store.record_failed_call(
        LETTER._replace(call_id="c2", error={**ERROR, "message": "again"})
    )
    await store.record_failed_call(LETTER._replace(arguments={"page": "other"}))
    await store.record_failed_call(LETTER._replace(session="t"))
    await store.record_failed_call(LETTER._replace(workspace="/x"))

    first, *others = await store.failed_calls()

    assert (first.attempts, first.call_id, first.error["message"]) == (2, "c2", "again")
    assert [one.attempts for one in others] == [1, 1, 1]


@BOTH_ENGINES
async def test_secrets_are_not_kept_and_that_is_said(store, path):
    error = {**ERROR, "message": f"401 with Bearer {TOKEN}"}
    await store.record_failed_call(LETTER._replace(arguments={"token": TOKEN}, error=error))

    (letter,) = await store.failed_calls()

    assert letter.redacted
    assert letter.arguments == {"token": "ghp_[redacted]"}
    assert TOKEN not in str(letter.error)
    await store.flush()
    if isinstance(path, Path):
        written = path.read_bytes() + path.with_name("store.db-wal").read_bytes()
        assert TOKEN.encode() not in written


@BOTH_ENGINES
async def test_of_two_who_move_a_letter_one_comes_first(store, path):
    await store.record_failed_call(LETTER)
    other = open_store(path)
    seen, same = await store.failed_call(1), await other.failed_call(1)

    assert await store.change_failed_call(seen, FailedCallChange(FailedCallState.RETRYING, "me"))
    assert not await other.change_failed_call(
        same, FailedCallChange(FailedCallState.RETRYING, "you")
    )

    taken = await other.failed_call(1)
    await other.aclose()
    assert (taken.state, taken.owner, taken.attempts) == ("retrying", "me", 1)
    failed = {**ERROR, "message": "still"}
    assert await store.change_failed_call(
        taken, FailedCallChange(FailedCallState.PENDING, error=failed)
    )
    back = await store.failed_call(1)
    assert (back.state, back.owner, back.attempts, back.error) == ("pending", "", 2, failed)


@BOTH_ENGINES
async def test_letters_are_listed_by_state_oldest_first(store):
    for number in range(3):
        await store.record_failed_call(LETTER._replace(arguments={"page": number}))
    await store.change_failed_call(
        await store.failed_call(2), FailedCallChange(FailedCallState.ABANDONED)
    )

    assert [one.id for one in await store.failed_calls(FailedCallState.PENDING)] == [1, 3]
    assert [one.id for one in await store.failed_calls(FailedCallState.ABANDONED)] == [2]
    assert await store.failed_call(9) is None


@BOTH_ENGINES
async def test_only_so_many_wait_and_the_oldest_goes(store, monkeypatch):
    monkeypatch.setattr(failed_calls, "MOST_PENDING", 5)
    await store.record_failed_call(LETTER)
    await store.change_failed_call(
        await store.failed_call(1), FailedCallChange(FailedCallState.RESOLVED)
    )
    for number in range(8):
        await store.record_failed_call(LETTER._replace(arguments={"page": number}))

    kept = await store.failed_calls()

    assert [one.state for one in kept] == ["resolved"] + ["pending"] * 5
    assert [one.arguments["page"] for one in kept[1:]] == [3, 4, 5, 6, 7]


@pytest.mark.feature("R-04")
@BOTH_ENGINES
async def test_what_is_over_goes_after_seven_days_and_what_waits_stays(path):
    now = [1_000]
    store = open_store(path, now_ns=lambda: now[0])
    for state in FailedCallState:
        await store.record_failed_call(LETTER._replace(arguments={"page": state.value}))
        (letter,) = await store.failed_calls(FailedCallState.PENDING)
        await store.change_failed_call(replace(letter), FailedCallChange(state))
        if state is FailedCallState.PENDING:
            await store.change_failed_call(
                await store.failed_call(1), FailedCallChange(FailedCallState.RETRYING, "x")
            )
    await store.aclose()

    with closing(open_read_only(path)) as db:
        assert count_expired(db, now_ns=1_000 + KEPT_NS) == 0
        assert count_expired(db, now_ns=1_001 + KEPT_NS) == 2
    db.close()
    assert purge_failed_calls(path, now_ns=1_000 + KEPT_NS) == 0
    assert purge_failed_calls(path, now_ns=1_001 + KEPT_NS) == 2

    store = open_store(path)
    assert [one.state for one in await store.failed_calls()] == ["retrying", "retrying"]
    await store.aclose()


async def test_a_store_from_before_there_were_any_has_none_to_drop(tmp_path):
    with sqlite3.connect(":memory:") as db:
        assert count_expired(db, now_ns=KEPT_NS * 2) == 0
    db.close()
