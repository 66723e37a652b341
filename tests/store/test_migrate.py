"""Stores of other versions, and many processes that make one at once."""

import contextlib
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from handrail.store.chain.verify import verify
from handrail.store.schema.migrations import APPLICATION_ID, Migration, list_migrations, upgrade
from handrail.store.sqlite.connection import Database
from handrail.store.sqlite.store import open_store

# Frozen when version 1 was current: it also pins how rows are hashed.
V1 = Path(__file__).parent / "data" / "v1.sql"
V1_HEAD = "5b00705dcb84e0d2702ca951e144499735bb7ab5080265545796dcfd160fc627"


@pytest.fixture
def v1_store(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(V1.read_text("utf-8"))
        assert db.execute("PRAGMA user_version").fetchone() == (1,)
    return path


def edit(path, script):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.executescript(script)


def test_an_older_store_verifies_before_it_is_migrated(v1_store):
    integrity = verify(v1_store, V1_HEAD)

    assert (integrity.sessions, integrity.rows, integrity.broken) == (2, 5, None)
    assert integrity.anchored is True


async def test_an_older_store_is_migrated_and_goes_on(v1_store, row):
    store = open_store(v1_store)
    resumed = await store.open_session("cli", {})
    store.save_state("cli", "turn", 3)
    await store.commit(row("c9", session="cli"), "process")

    found = await store.find_completed("cli", "c1")
    state = await store.load_state("cli")
    await store.aclose()

    assert resumed is True
    assert found is not None
    assert found.completed == {"text": "größer", "status": "ok"}
    assert state == {"turn": 3}
    integrity = verify(v1_store, V1_HEAD)
    assert (integrity.rows, integrity.broken, integrity.anchored) == (6, None, True)
    with contextlib.closing(sqlite3.connect(v1_store)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (list_migrations()[-1].version,)


@pytest.mark.finding("F05")
async def test_what_is_missing_when_a_store_is_migrated_is_noted_and_no_more(v1_store, row):
    """Nobody recorded purges then: what is missing may have been taken away as well."""
    edit(v1_store, "DELETE FROM payloads WHERE row = 4")
    old = verify(v1_store)
    await open_store(v1_store).aclose()

    integrity = verify(v1_store, V1_HEAD)

    assert (old.broken, old.purged_payloads, old.missing_payloads) == (None, 1, 0)
    assert (integrity.broken, integrity.anchored) == (None, True)
    assert (integrity.purged_payloads, integrity.missing_payloads) == (0, 1)
    edit(v1_store, "DELETE FROM payloads WHERE row = 5")
    assert verify(v1_store).broken.endswith("it is on record")


@pytest.mark.finding("F04")
@pytest.mark.parametrize(
    "tampering",
    [
        "DELETE FROM rows WHERE id = 5; DELETE FROM payloads WHERE row = 5",
        "UPDATE rows SET turn = 9 WHERE id = 2",
        "DELETE FROM ledger WHERE kind = 'migrate'",
        "UPDATE ledger SET info = '{}' WHERE kind = 'migrate'",
        "UPDATE session_state SET value = '4'",
        "DELETE FROM session_state",
    ],
)
async def test_what_a_store_held_when_it_was_migrated_is_covered_since(v1_store, row, tampering):
    store = open_store(v1_store)
    store.save_state("other", "turn", 3)
    await store.commit(row("c9", session="other"), "process")
    await store.aclose()
    assert verify(v1_store, V1_HEAD).broken is None

    edit(v1_store, tampering)

    assert verify(v1_store).broken is not None


@pytest.mark.finding("F04")
@pytest.mark.parametrize(
    "tampering",
    [
        "UPDATE session_state SET value = '4' WHERE key = 'turn'",
        "DELETE FROM session_state WHERE key = 'turn'",
        "DELETE FROM rows; DELETE FROM payloads",
        None,
    ],
)
async def test_values_kept_before_the_migration_are_covered_since(v1_store, tampering):
    with contextlib.closing(sqlite3.connect(v1_store, isolation_level=None)) as db:
        upgrade(db, str(v1_store), [step for step in list_migrations() if step.version < 8])
        db.execute("INSERT INTO session_state VALUES ('cli', 'turn', '3')")
    assert verify(v1_store).broken is None
    await open_store(v1_store).aclose()
    if tampering is not None:
        edit(v1_store, tampering)

    assert (verify(v1_store).broken is None) is (tampering is None)


async def test_sessions_that_an_older_store_left_open_are_closed(v1_store):
    store = open_store(v1_store)

    closed = await store.close_abandoned(lambda owner: True)
    await store.aclose()

    integrity = verify(v1_store, V1_HEAD)
    assert closed == ["other"]
    assert (integrity.broken, integrity.anchored, integrity.open_sessions) == (None, True, {})


def test_a_step_that_fails_half_way_leaves_the_version_before(v1_store):
    db = sqlite3.connect(v1_store, isolation_level=None)
    bad = Migration(2, "CREATE TABLE fine (x TEXT);\nCREATE TABLE ledger (x TEXT);\n")

    with pytest.raises(sqlite3.OperationalError, match="already exists"):
        upgrade(db, str(v1_store), [bad])

    tables = {name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    assert tables == {"ledger", "sessions", "rows", "payloads"}
    assert db.execute("PRAGMA user_version").fetchone() == (1,)
    db.close()
    assert verify(v1_store).broken is None


def test_the_steps_are_numbered_without_gaps():
    assert [step.version for step in list_migrations()] == list(
        range(1, len(list_migrations()) + 1)
    )
    assert len(list_migrations()) >= 2


def test_a_new_store_carries_our_mark_and_the_newest_version(path):
    database = Database(str(path), busy_timeout_s=1)

    found = [
        database.db.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("application_id", "user_version", "journal_mode", "auto_vacuum")
    ]

    database.db.close()
    assert found == [APPLICATION_ID, list_migrations()[-1].version, "wal", 2]


def test_eight_processes_may_make_the_store_at_once(path):
    script = (
        "import asyncio, sys\n"
        "from handrail.store.sqlite.store import open_store\n"
        "sys.stdin.read()\n"
        "async def main():\n"
        "    store = open_store(sys.argv[1])\n"
        "    await store.open_session(sys.argv[2], {})\n"
        "    await store.aclose()\n"
        "asyncio.run(main())\n"
    )
    processes = [
        subprocess.Popen([sys.executable, "-c", script, path, f"s{n}"], stdin=subprocess.PIPE)
        for n in range(8)
    ]
    for process in processes:
        assert process.stdin is not None
        process.stdin.close()

    assert [process.wait(60) for process in processes] == [0] * 8
    assert (verify(path).sessions, verify(path).broken) == (8, None)
