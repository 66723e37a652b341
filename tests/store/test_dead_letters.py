"""Failed calls that wait for a person: kept, moved by one at a time, purged when they are over."""

import sqlite3
from dataclasses import replace

import pytest

from handrail.core.dead_letters import LetterMove, LetterState, NewLetter
from handrail.store.records import failed_calls
from handrail.store.records.failed_calls import KEPT_NS, count_expired, purge_failed_calls
from handrail.store.sqlite.store import open_store

ERROR = {"code": "internal", "message": "it broke"}
LETTER = NewLetter("s", "c1", "/w", "main", "tool:fetch", {"page": "home"}, ERROR)
TOKEN = "ghp_" + "a1B2" * 9


@pytest.fixture
async def store(path):
    times = iter(range(1, 100_000))
    opened = open_store(path, now_ns=lambda: next(times))
    yield opened
    await opened.aclose()


@pytest.mark.feature("R-04")
async def test_a_letter_is_kept_with_all_that_is_known(store):
    await store.keep_letter(LETTER)

    (letter,) = await store.letters()

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


async def test_the_same_call_that_fails_again_is_one_letter(store):
    await store.keep_letter(LETTER)
    await store.keep_letter(LETTER._replace(call_id="c2", error={**ERROR, "message": "again"}))
    await store.keep_letter(LETTER._replace(arguments={"page": "other"}))
    await store.keep_letter(LETTER._replace(session="t"))
    await store.keep_letter(LETTER._replace(workspace="/x"))

    first, *others = await store.letters()

    assert (first.attempts, first.call_id, first.error["message"]) == (2, "c2", "again")
    assert [one.attempts for one in others] == [1, 1, 1]


async def test_secrets_are_not_kept_and_that_is_said(store, path):
    error = {**ERROR, "message": f"401 with Bearer {TOKEN}"}
    await store.keep_letter(LETTER._replace(arguments={"token": TOKEN}, error=error))

    (letter,) = await store.letters()

    assert letter.redacted
    assert letter.arguments == {"token": "ghp_[redacted]"}
    assert TOKEN not in str(letter.error)
    await store.flush()
    assert TOKEN.encode() not in path.read_bytes() + path.with_name("store.db-wal").read_bytes()


async def test_of_two_who_move_a_letter_one_comes_first(store, path):
    await store.keep_letter(LETTER)
    other = open_store(path)
    seen, same = await store.letter(1), await other.letter(1)

    assert await store.move_letter(seen, LetterMove(LetterState.RETRYING, "me"))
    assert not await other.move_letter(same, LetterMove(LetterState.RETRYING, "you"))

    taken = await other.letter(1)
    await other.aclose()
    assert (taken.state, taken.owner, taken.attempts) == ("retrying", "me", 1)
    failed = {**ERROR, "message": "still"}
    assert await store.move_letter(taken, LetterMove(LetterState.PENDING, error=failed))
    back = await store.letter(1)
    assert (back.state, back.owner, back.attempts, back.error) == ("pending", "", 2, failed)


async def test_letters_are_listed_by_state_oldest_first(store):
    for number in range(3):
        await store.keep_letter(LETTER._replace(arguments={"page": number}))
    await store.move_letter(await store.letter(2), LetterMove(LetterState.ABANDONED))

    assert [one.id for one in await store.letters(LetterState.PENDING)] == [1, 3]
    assert [one.id for one in await store.letters(LetterState.ABANDONED)] == [2]
    assert await store.letter(9) is None


async def test_only_so_many_wait_and_the_oldest_goes(store, monkeypatch):
    monkeypatch.setattr(failed_calls, "MOST_PENDING", 5)
    await store.keep_letter(LETTER)
    await store.move_letter(await store.letter(1), LetterMove(LetterState.RESOLVED))
    for number in range(8):
        await store.keep_letter(LETTER._replace(arguments={"page": number}))

    kept = await store.letters()

    assert [one.state for one in kept] == ["resolved"] + ["pending"] * 5
    assert [one.arguments["page"] for one in kept[1:]] == [3, 4, 5, 6, 7]


@pytest.mark.feature("R-04")
async def test_what_is_over_goes_after_seven_days_and_what_waits_stays(path):
    now = [1_000]
    store = open_store(path, now_ns=lambda: now[0])
    for state in LetterState:
        await store.keep_letter(LETTER._replace(arguments={"page": state.value}))
        (letter,) = await store.letters(LetterState.PENDING)
        await store.move_letter(replace(letter), LetterMove(state))
        if state is LetterState.PENDING:
            await store.move_letter(await store.letter(1), LetterMove(LetterState.RETRYING, "x"))
    await store.aclose()

    with sqlite3.connect(path) as db:
        assert count_expired(db, now_ns=1_000 + KEPT_NS) == 0
        assert count_expired(db, now_ns=1_001 + KEPT_NS) == 2
    db.close()
    assert purge_failed_calls(path, now_ns=1_000 + KEPT_NS) == 0
    assert purge_failed_calls(path, now_ns=1_001 + KEPT_NS) == 2

    store = open_store(path)
    assert [one.state for one in await store.letters()] == ["retrying", "retrying"]
    await store.aclose()


async def test_a_store_from_before_there_were_any_has_none_to_drop(tmp_path):
    with sqlite3.connect(":memory:") as db:
        assert count_expired(db, now_ns=KEPT_NS * 2) == 0
    db.close()
