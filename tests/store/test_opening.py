"""Files that cannot be a store are refused in words and left alone."""

import asyncio
import contextlib
import os
import sqlite3

import pytest

from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.store.schema.migrations import APPLICATION_ID, list_migrations
from handrail.store.sqlite.store import open_store


def problem_of(caught):
    problem = caught.value.problem
    assert problem.code == "store_unavailable"
    assert problem.hint
    return problem


def test_a_missing_directory_is_refused(tmp_path):
    with pytest.raises(ProblemRaised) as caught:
        open_store(tmp_path / "nowhere" / "store.db")

    assert "directory" in problem_of(caught).hint


def test_a_parent_that_is_a_file_is_refused(tmp_path):
    (tmp_path / "file").write_text("x")

    with pytest.raises(ProblemRaised) as caught:
        open_store(tmp_path / "file" / "store.db")

    assert problem_of(caught).hint


@pytest.mark.parametrize("kind", ["directory", "fifo"])
def test_what_is_not_a_regular_file_is_refused_without_hanging(path, kind):
    path.mkdir() if kind == "directory" else os.mkfifo(path)

    with pytest.raises(ProblemRaised, match="not a regular file"):
        open_store(path)


async def _filled(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    for number in range(200):
        store.append(row(f"c{number}", text="x" * 500))
    await store.aclose()


async def test_a_file_damaged_at_its_schema_is_refused_and_left_alone(path, row):
    await _filled(path, row)
    damaged = bytearray(path.read_bytes())
    damaged[100:4096] = b"\xa5" * 3996
    path.write_bytes(damaged)

    for attempt in (lambda: open_store(path), lambda: verify(path)):
        with pytest.raises(ProblemRaised) as caught:
            attempt()
        problem = problem_of(caught)
        assert str(path) in problem.message
        assert "damaged" in problem.message
        assert "move the file" in problem.hint
    assert path.read_bytes() == damaged


async def test_damage_deeper_in_the_file_is_told_when_met(path, row):
    await _filled(path, row)
    with contextlib.closing(sqlite3.connect(path)) as db:
        root = db.execute("SELECT rootpage FROM sqlite_master WHERE name = 'rows'").fetchone()[0]
    damaged = bytearray(path.read_bytes())
    damaged[(root - 1) * 4096 : root * 4096] = b"\xa5" * 4096
    path.write_bytes(damaged)

    assert "damaged" in (verify(path).broken or "")
    store = open_store(path)
    with pytest.raises(ProblemRaised) as caught:
        await store.commit(row("c1", "intent"), "process")
    assert "damaged" in problem_of(caught).message
    with pytest.raises(ProblemRaised):
        await store.calls()
    with contextlib.suppress(ProblemRaised):
        await store.aclose()


async def test_a_cut_file_is_refused_or_told_when_met(path, row):
    await _filled(path, row)
    path.write_bytes(path.read_bytes()[:10_000])

    with pytest.raises(ProblemRaised) as caught:
        store = open_store(path)
        await store.commit(row("c1", "intent"), "process")

    assert "damaged" in problem_of(caught).message


@pytest.mark.parametrize(
    "content", [b"just some text, long enough to be no header" * 20, b"SQLite"]
)
def test_a_file_that_is_no_database_is_refused_and_left_alone(path, content):
    path.write_bytes(content)

    with pytest.raises(ProblemRaised) as caught:
        open_store(path)

    assert "not a Handrail store" in problem_of(caught).message
    assert path.read_bytes() == content


def test_another_programs_database_is_refused_and_left_alone(path):
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute("CREATE TABLE bookmarks (url TEXT)")
    before = path.read_bytes()

    for attempt in (lambda: open_store(path), lambda: verify(path)):
        with pytest.raises(ProblemRaised, match="not a Handrail store"):
            attempt()
    assert path.read_bytes() == before


def test_a_newer_store_is_refused_with_both_versions(path):
    with contextlib.closing(sqlite3.connect(path)) as other:
        other.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        other.execute("PRAGMA user_version = 999")
    before = path.read_bytes()

    for attempt in (lambda: open_store(path), lambda: verify(path)):
        with pytest.raises(ProblemRaised) as caught:
            attempt()
        problem = problem_of(caught)
        assert "version 999" in problem.message
        assert f"version {list_migrations()[-1].version}" in problem.message
        assert "upgrade Handrail" in problem.hint
        assert not problem.retryable
    assert path.read_bytes() == before


def test_an_empty_file_becomes_a_store(path):
    path.touch()

    store = open_store(path)

    assert store.path == str(path)
    asyncio.run(store.aclose())
    assert verify(path).sessions == 0
