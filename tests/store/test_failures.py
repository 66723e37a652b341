"""A store that cannot do its work says so, holds what it took, and heals."""

import contextlib
import os
import shutil
import sqlite3
import tempfile
import threading
from pathlib import Path

import anyio
import anyio.lowlevel
import pytest

from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.store.sqlite import writer as writer_module
from handrail.store.sqlite.store import open_store


@pytest.fixture
def locked(path):
    """Takes and gives back the write lock as another program would."""

    @contextlib.contextmanager
    def hold():
        other = sqlite3.connect(path, isolation_level=None)
        other.execute("BEGIN EXCLUSIVE")
        try:
            yield
        finally:
            other.execute("ROLLBACK")
            other.close()

    return hold


def problem_of(caught):
    problem = caught.value.problem
    assert problem.code == "store_unavailable"
    assert problem.hint
    return problem


async def test_a_locked_store_refuses_in_time_and_heals_without_loss_or_doubles(path, row, locked):
    store = open_store(path, busy_timeout_s=0.2)
    await store.open_session("s", {})
    with locked(), anyio.fail_after(5):
        store.append(row("before"))
        with pytest.raises(ProblemRaised) as caught:
            await store.commit(row("refused", "intent"), "power")
        with pytest.raises(ProblemRaised):
            store.append(row("held", "completed"))

    problem = problem_of(caught)
    assert str(path) in problem.message
    assert "locked" in problem.message
    assert problem.retryable

    await store.commit(row("after", "intent"), "power")
    found = await store._ask(
        lambda db: db.execute("SELECT call_id FROM rows ORDER BY seq").fetchall()
    )
    assert found == [("before",), ("held",), ("after",)]
    store.append(row("fine"))
    await store.aclose()
    assert (verify(path).rows, verify(path).broken, store.refused_rows) == (4, None, 0)


async def test_nobody_waits_longer_than_the_first_in_line(path, row, locked, monkeypatch):
    store = open_store(path, busy_timeout_s=0.3)
    writer = store._writer
    failures = []
    fail = writer._fail
    monkeypatch.setattr(writer, "_fail", lambda *told: (failures.append(told), fail(*told)))
    ended = []

    async def wait_for_it(number):
        asked = (
            store.commit(row(f"c{number}", "intent"), "process") if number % 2 else store.flush()
        )
        with pytest.raises(ProblemRaised):
            await asked
        ended.append(number)

    with locked(), anyio.fail_after(10):
        async with anyio.create_task_group() as group:
            group.start_soon(wait_for_it, 1)
            await anyio.lowlevel.checkpoint()
            while writer.backlog():
                await anyio.lowlevel.checkpoint()
            for number in range(40):
                group.start_soon(wait_for_it, number)
        assert len(failures) == 1

    assert len(ended) == 41
    await store.aclose()
    assert verify(path).rows == 0


async def test_a_failed_store_heals_by_itself_when_the_lock_goes(path, row, locked, monkeypatch):
    monkeypatch.setattr(writer_module, "RETRY_S", 0.01)
    store = open_store(path, busy_timeout_s=0.05)
    with locked():
        store.append(row("held"))
        with pytest.raises(ProblemRaised):
            await store.flush()

    with anyio.fail_after(5):
        while store._writer.trouble:
            await anyio.lowlevel.checkpoint()
    store.append(row("next"))
    await store.aclose()
    assert verify(path).rows == 2


async def test_a_read_on_a_locked_store_works_while_nothing_waits_to_be_written(path, row, locked):
    store = open_store(path, busy_timeout_s=0.05)
    await store.commit(row("c1"), "process")
    with locked():
        assert len(await store.calls()) == 1
        with pytest.raises(ProblemRaised):
            await store.commit(row("c2", "intent"), "process")
        assert len(await store.calls()) == 1

        other = open_store(path, busy_timeout_s=0.05)
        assert len(await other.calls()) == 1
        with pytest.raises(ProblemRaised):
            await other.open_session("s", {})
        await other.aclose()
    await store.aclose()


async def test_held_rows_are_bounded_and_the_rest_counted(path, row, locked, monkeypatch):
    monkeypatch.setattr(writer_module, "MAX_HELD_ROWS", 50)
    store = open_store(path, busy_timeout_s=0.05)
    await store.commit(row("first"), "process")
    with locked():
        with pytest.raises(ProblemRaised):
            await store.commit(row("intent", "intent"), "process")
        for number in range(80):
            with pytest.raises(ProblemRaised):
                store.append(row(f"c{number}"))
    await store.flush()
    await store.aclose()

    assert store.refused_rows >= 1
    assert verify(path).rows + store.refused_rows == 81
    assert verify(path).rows >= 51


async def test_held_rows_are_bounded_in_bytes_too(path, row, locked, monkeypatch):
    monkeypatch.setattr(writer_module, "MAX_HELD_BYTES", 10_000)
    store = open_store(path, busy_timeout_s=0.05)
    with locked():
        for number in range(3):
            store.append(row(f"c{number}", text="x" * 6_000))
        with pytest.raises(ProblemRaised):
            await store.flush()
        with pytest.raises(ProblemRaised):
            store.append(row("too much", text="x"))
    await store.flush()
    await store.aclose()

    assert (verify(path).rows, store.refused_rows) == (3, 1)


async def test_closing_a_locked_store_says_what_is_lost_and_lets_go(path, row, locked):
    store = open_store(path, busy_timeout_s=0.05)
    await store.open_session("s", {})
    with locked():
        store.append(row("c1"))
        store.append(row("c2"))
        with pytest.raises(ProblemRaised, match="2 rows are lost"):
            await store.aclose()
        await store.aclose()

    store._writer.join(5)
    assert not store._writer._thread.is_alive()
    assert verify(path).rows == 0


async def test_a_full_disk_refuses_and_heals(path, row):
    store = open_store(path)
    await store.commit(row("c1"), "process")
    await store._ask(lambda db: _limit_pages(db, extra=0))
    store.append(row("c2", text="x" * 100_000))

    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c3", "intent", text="y" * 100_000), "power")

    assert "no space" in problem_of(caught).message
    with pytest.raises(ProblemRaised):
        await store.flush()
    store._writer._database.db.execute("PRAGMA max_page_count = 100000")
    await store.flush()
    store.append(row("c4"))
    await store.aclose()
    assert (verify(path).rows, verify(path).broken) == (3, None)


def _limit_pages(db, extra):
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    db.execute(f"PRAGMA max_page_count = {pages + extra}")


@contextlib.contextmanager
def someone_else():
    """A user who owns nothing here; root may write everywhere."""
    if os.geteuid():
        yield
        return
    os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def shared_directory():
    """One that other users can enter, unlike pytest's own."""
    folder = Path(tempfile.mkdtemp(prefix="handrail-test-"))
    yield folder
    folder.chmod(0o700)
    shutil.rmtree(folder)


async def test_a_read_only_store_can_be_read_and_refuses_to_write(shared_directory, row):
    path = shared_directory / "store.db"
    owner = open_store(path)
    await owner.commit(row("c1"), "process")
    for file in shared_directory.iterdir():
        file.chmod(0o444)
    shared_directory.chmod(0o555)

    with someone_else():
        reader = open_store(path)
        assert len(await reader.calls()) == 1
        with pytest.raises(ProblemRaised) as caught:
            await reader.commit(row("c2", "intent"), "process")
        await reader.aclose()
        live = verify(path)

    assert "read-only" in problem_of(caught).message
    assert (live.rows, live.broken) == (1, None)
    await owner.aclose()
    with someone_else():
        assert verify(path).rows == 1


def test_a_store_that_may_not_be_read_is_refused(shared_directory):
    path = shared_directory / "store.db"
    path.touch(0o000)
    shared_directory.chmod(0o555)

    with someone_else(), pytest.raises(ProblemRaised) as caught:
        open_store(path)

    assert str(path) in problem_of(caught).message


async def test_a_file_that_was_taken_away_is_noticed_and_heals_when_put_back(path, row):
    store = open_store(path)
    await store.commit(row("c1"), "process")
    away = path.with_name("away.db")
    path.rename(away)

    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c2", "intent"), "process")

    assert "removed or replaced" in problem_of(caught).message
    away.rename(path)
    await store.commit(row("c3", "intent"), "process")
    await store.aclose()
    assert verify(path).rows == 2


async def test_nothing_is_claimed_or_reserved_in_a_file_that_was_taken_away(path):
    store = open_store(path)
    await store.claim("s", "c1", "print", "dead")
    away = path.with_name("away.db")
    path.rename(away)

    for act in (
        lambda: store.claim("s", "c2", "print", "me"),
        lambda: store.take_over("s", "c1", "dead", "me"),
        lambda: store.reserve("me", ["/w"], 10**12, ""),
    ):
        with pytest.raises(ProblemRaised) as caught:
            await act()
        assert "removed or replaced" in problem_of(caught).message
    away.rename(path)

    assert await store.take_over("s", "c1", "dead", "me")
    assert await store.claim("s", "c2", "print", "me") is None
    assert not await store.leases()
    await store.aclose()


@pytest.mark.parametrize("suffix", ["-wal", "-shm"])
async def test_a_log_that_was_taken_away_is_noticed_and_heals_when_put_back(path, row, suffix):
    store = open_store(path)
    await store.commit(row("c1"), "process")
    log = path.with_name(path.name + suffix)
    away = path.with_name("away")
    log.rename(away)

    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c2", "intent"), "process")
    log.write_bytes(b"")
    with pytest.raises(ProblemRaised):
        await store.commit(row("c2", "intent"), "process")

    assert f"{log.name!r} was removed or replaced" in problem_of(caught).message
    away.rename(log)
    await store.commit(row("c3", "intent"), "process")
    await store.aclose()
    assert (verify(path).rows, verify(path).broken) == (2, None)


async def test_a_rollback_that_fails_is_made_up_for(path, row):
    store = open_store(path)
    await store.commit(row("c1"), "process")
    await store._ask(lambda db: db.execute("BEGIN"))

    await store.commit(row("c2", "intent"), "power")

    await store.aclose()
    assert verify(path).rows == 2


async def test_a_directory_that_vanished_is_noticed(tmp_path, row):
    folder = tmp_path / "state"
    folder.mkdir()
    store = open_store(folder / "store.db")
    await store.commit(row("c1"), "process")
    shutil.rmtree(folder)

    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c2", "intent"), "process")
    assert "removed or replaced" in problem_of(caught).message
    await store.aclose()


async def test_a_bug_in_the_writer_ends_in_refusals_not_in_waiting(path, row, monkeypatch):
    monkeypatch.setattr(threading, "excepthook", lambda args: None)
    store = open_store(path)

    def bug(db):
        raise ZeroDivisionError

    with anyio.fail_after(5):
        with pytest.raises(ProblemRaised, match="bug of Handrail"):
            await store._ask(bug)
        with pytest.raises(ProblemRaised):
            await store.commit(row(), "process")
    with pytest.raises(ProblemRaised):
        store.append(row())
    await store.aclose()
    # Until the thread has told its exception, while that is still caught here.
    store._writer.join(5)


async def test_a_transaction_that_fails_at_any_step_is_repeated_whole(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    db = store._writer._database.db
    interrupted = 0
    for step in range(1, 400, 7):
        # SQLite asks after so many instructions whether to go on; the answer is no.
        db.set_progress_handler(lambda: 1, step)
        store.append(row(f"c{step}"))
        with contextlib.suppress(ProblemRaised):
            await store.commit(row(f"c{step}", "intent"), "process")
        interrupted += store._writer.trouble is not None
        with contextlib.suppress(ProblemRaised):
            store.append(row(f"c{step}", "completed"))
        db.set_progress_handler(None, 0)
        await store.flush()
    found = [call.call_id for call in await store.calls(limit=1_000)]
    done = [call.completed is not None for call in await store.calls(limit=1_000)]
    await store.aclose()

    assert interrupted > 10
    assert found == [f"c{step}" for step in reversed(range(1, 400, 7))]
    assert all(done)
    assert verify(path).broken is None
