"""Every way to change the record from outside, for every table and column of the schema, in open,
killed and closed sessions: `verify` finds it, and a store that is open refuses to go on.
"""

import contextlib
import os
import shutil
import sqlite3
import subprocess
import sys

import pytest

from handrail.core.ports.records import Row
from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.store.records.contents import drop_unused_contents
from handrail.store.records.purge import purge_payloads
from handrail.store.schema.migrations import list_migrations, upgrade
from handrail.store.sqlite.store import open_store

pytestmark = pytest.mark.finding("F04")

# Which rows of a table belong to a session; every table of the record must be here.
RECORD = {
    "ledger": "session = :session",
    "sessions": "id = :session",
    "rows": "session = :session",
    "payloads": "row IN (SELECT id FROM rows WHERE session = :session)",
    "contents": "id IN (SELECT content FROM content_uses JOIN rows ON rows.id = content_uses.row"
    " WHERE session = :session)",
    "content_uses": "row IN (SELECT id FROM rows WHERE session = :session)",
    "session_state": "session = :session",
    "chain_end": "1",
}
# Not record: nothing in it says what happened. Why it need not be covered:
WORKING_MEMORY = {
    "claims": "who may run the call of an id; what ran is in the rows",
    "leases": "paths that are reserved for a while",
    "dead_letters": "failed calls that wait for the user; that they failed is in the rows",
    "sqlite_sequence": "SQLite's own, for the numbers of leases and dead letters",
}
SESSIONS = ("open", "killed", "closed")


def schema():
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        upgrade(db, ":memory:", list_migrations())
        names = [
            name for (name,) in db.execute("SELECT name FROM sqlite_master WHERE type='table'")
        ]
        return {name: list(db.execute(f"PRAGMA table_info({name})")) for name in names}


TABLES = schema()
COLUMNS = [(table, column[1]) for table in TABLES if table in RECORD for column in TABLES[table]]


def test_every_table_is_either_record_or_working_memory():
    assert set(TABLES) == {*RECORD, *WORKING_MEMORY}


def edit_column(db, table, where, session, column):
    """Another value in one row, of the type that the column has."""
    kind = next(one[2] for one in TABLES[table] if one[1] == column)
    key = pick_last(db, table, where, session)
    other = f"coalesce({column}, 0) + 1000" if kind == "INTEGER" else f"{column} || 'x'"
    db.execute(f"UPDATE {table} SET {column} = {other} WHERE rowid = ?", (key,))


def delete_row(db, table, where, session):
    db.execute(f"DELETE FROM {table} WHERE rowid = ?", (pick_last(db, table, where, session),))


def delete_first(db, table, where, session):
    key = db.execute(f"SELECT min(rowid) FROM {table} WHERE {where}", {"session": session})
    db.execute(f"DELETE FROM {table} WHERE rowid = ?", key.fetchone())


def delete_all(db, table, where, session):
    db.execute(f"DELETE FROM {table} WHERE {where}", {"session": session})


def insert_row(db, table, where, session):
    """A copy of a row under a number or name that is free."""
    names = [one[1] for one in TABLES[table]]
    key = pick_last(db, table, where, session)
    values = list(db.execute(f"SELECT * FROM {table} WHERE rowid = ?", (key,)).fetchone())
    for at, column in enumerate(TABLES[table]):
        if column[5] or column[1] in ("seq", "ordinal"):
            values[at] = values[at] + 1000 if column[2] == "INTEGER" else f"{values[at]}x"
        elif column[2] == "BLOB":
            values[at] += b"x"
    marks = ", ".join("?" * len(names))
    db.execute(f"INSERT INTO {table} VALUES ({marks})", values)


def swap_rows(db, table, where, session):
    """Two rows change places: each gets the other's key."""
    order = "DESC LIMIT 2"
    found = db.execute(
        f"SELECT rowid, * FROM {table} WHERE {where} ORDER BY rowid {order}", {"session": session}
    ).fetchall()
    if len(found) < 2:
        # Of one row per session: change places with the row of another session.
        found = db.execute(f"SELECT rowid, * FROM {table} ORDER BY rowid {order}").fetchall()
    if len(found) < 2:
        return False
    keys = [at for at, column in enumerate(TABLES[table]) if column[5]]
    (_, *one), (_, *other) = found
    for at in keys:
        one[at], other[at] = other[at], one[at]
    db.execute(f"DELETE FROM {table} WHERE rowid IN (?, ?)", (found[0][0], found[1][0]))
    marks = ", ".join("?" * len(one))
    db.executemany(f"INSERT INTO {table} VALUES ({marks})", [one, other])
    return True


def truncate_tail(db, table, where, session):
    """The last two rows and what hangs on them."""
    keys = db.execute(
        f"SELECT rowid FROM {table} WHERE {where} ORDER BY rowid DESC LIMIT 2", {"session": session}
    ).fetchall()
    db.executemany(f"DELETE FROM {table} WHERE rowid = ?", keys)
    if table == "rows":
        db.executemany("DELETE FROM payloads WHERE row = ?", keys)


def pick_last(db, table, where, session):
    found = db.execute(f"SELECT max(rowid) FROM {table} WHERE {where}", {"session": session})
    return found.fetchone()[0]


ACTS = [delete_row, delete_first, delete_all, insert_row, swap_rows, truncate_tail]


@pytest.fixture(scope="module")
def template(tmp_path_factory):
    """A store with a closed session and one whose process was killed, and a purge."""
    path = tmp_path_factory.mktemp("template") / "store.db"
    script = (
        "import asyncio, os, sys\n"
        "from handrail.core.ports.records import Row\n"
        "from handrail.host.state.identities import this_process\n"
        "from handrail.store.sqlite.store import open_store\n"
        "async def use(store, session):\n"
        "    await store.open_session(session, {'mode': 'default'}, this_process())\n"
        "    for number in range(3):\n"
        "        for at, kind in enumerate(('requested', 'intent', 'completed')):\n"
        "            store.append(Row(session, kind, f'c{number}', 1, number * 10 + at, {'n': at}))\n"
        "        result = {'text': f'{session} {number} ' * 99, 'meta': {'n': number}}\n"
        "        store.append(Row(session, 'completed', f'c{number}', 1, number * 10 + 3, result))\n"
        "    store.save_state(session, 'one', 1)\n"
        "    store.save_state(session, 'two', 2)\n"
        "    await store.flush()\n"
        "async def main():\n"
        "    store = open_store(sys.argv[1])\n"
        "    for name in ('open', 'killed', 'closed'):\n"
        "        await use(store, name)\n"
        "        await store.close_session(name)\n"
        "    await use(store, 'killed')\n"
        "    os._exit(9)\n"
        "asyncio.run(main())\n"
    )
    done = subprocess.run([sys.executable, "-c", script, path], timeout=60, check=False)
    assert done.returncode == 9
    purge_payloads(path, session="closed", call_id="c0")
    return path


@pytest.fixture
async def live(template, path):
    """A store that is open on a copy of it, in the session "open"."""
    for end in ("", "-wal", "-shm"):
        if os.path.exists(f"{template}{end}"):
            shutil.copy(f"{template}{end}", f"{path}{end}")
    store = open_store(path)
    await store.open_session("open", {}, "somebody")
    for number in range(3):
        for kind in ("requested", "intent", "completed"):
            store.append(Row("open", kind, f"d{number}", 1, number, {"kind": kind}))
        result = {"text": f"d{number} " * 200, "meta": {"n": number}}
        store.append(Row("open", "completed", f"d{number}", 1, number, result))
    store.save_state("open", "one", 3)
    store.save_state("open", "two", 4)
    await store.flush()
    yield store
    with contextlib.suppress(ProblemRaised):
        await store.aclose()


@contextlib.contextmanager
def forger(path):
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA ignore_check_constraints = ON")
        yield db
        db.commit()


async def assert_refused(store):
    with pytest.raises(ProblemRaised) as caught:
        await store.commit(Row("open", "intent", "next", 2, 99, {}), "process")
    assert caught.value.problem.code == "store_unavailable"
    assert "changed from outside while" in caught.value.problem.message
    with pytest.raises(ProblemRaised):
        await store.flush()
    with pytest.raises(ProblemRaised):
        store.append(Row("open", "requested", "after", 2, 99, {}))


async def test_the_untouched_store_holds_and_goes_on(live, path):
    noted = verify(path)
    assert (noted.broken, list(noted.open_sessions)) == (None, ["open", "killed"])
    with forger(path) as db:
        db.execute("INSERT INTO claims VALUES ('open', 'x', 'f', 'o', 1)")

    await live.commit(Row("open", "intent", "next", 2, 99, {}), "process")

    found = verify(path, noted.head)
    assert (found.broken, found.anchored, found.rows) == (None, True, noted.rows + 1)


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize(("table", "column"), COLUMNS)
async def test_a_changed_column_is_found(live, path, table, column, session):
    with forger(path) as db:
        edit_column(db, table, RECORD[table], session, column)

    assert verify(path).broken is not None
    await assert_refused(live)


@pytest.mark.parametrize("session", SESSIONS)
@pytest.mark.parametrize("table", RECORD)
@pytest.mark.parametrize("act", ACTS, ids=lambda act: act.__name__)
async def test_rows_taken_out_put_in_or_exchanged_are_found(live, path, act, table, session):
    with forger(path) as db:
        done = act(db, table, RECORD[table], session)
    if done is False:
        # Of a table with one row there are no two to exchange.
        assert table == "chain_end"
        return

    assert verify(path).broken is not None
    await assert_refused(live)


def cut(db, row, line):
    """Take all that was written after a row and a line out of every table, and note that end
    as the end of the chain: only hashes that were noted elsewhere can show it.
    """
    db.execute("DELETE FROM rows WHERE id > ?", (row,))
    db.execute("DELETE FROM payloads WHERE row > ?", (row,))
    drop_unused_contents(db)
    db.execute("DELETE FROM ledger WHERE id > ?", (line,))
    after, own = db.execute("SELECT after_row, hash FROM ledger WHERE id = ?", (line,)).fetchone()
    if after != row:
        own = db.execute("SELECT hash FROM rows WHERE id = ?", (row,)).fetchone()[0]
    db.execute("UPDATE chain_end SET rows = ?, line = ?, hash = ?", (row, line, own))


@pytest.mark.parametrize("rows", [1, 2, 9])
async def test_an_end_that_was_cut_with_care_is_found_with_the_noted_head(live, path, rows):
    with forger(path) as db:
        # The values were kept after the rows: they go back to what they were before.
        row, line = db.execute("SELECT rows, line FROM chain_end").fetchone()
        db.execute("UPDATE session_state SET value = value - 2 WHERE session = 'open'")
        noted = verify(path)
        cut(db, row - rows, line - 1)

    found = verify(path, noted.head)

    assert (found.broken, found.anchored) == (None, False)
    await assert_refused(live)


@pytest.mark.parametrize("how", ["replace", "write", "backup"])
async def test_an_older_copy_in_its_place_is_found_with_the_noted_head(live, path, tmp_path, how):
    older = tmp_path / "older.db"
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        with contextlib.closing(sqlite3.connect(older)) as copy:
            db.backup(copy)
            copy.execute("PRAGMA journal_mode = DELETE")
    live.append(Row("open", "requested", "later", 2, 98, {}))
    await live.flush()
    noted = verify(path).head
    with contextlib.closing(sqlite3.connect(path)) as db:
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")

    if how == "replace":
        os.replace(older, path)
    elif how == "write":
        path.write_bytes(older.read_bytes())
    else:
        with contextlib.closing(sqlite3.connect(older)) as copy, forger(path) as db:
            copy.backup(db)

    with pytest.raises(ProblemRaised) as caught:
        await live.commit(Row("open", "intent", "next", 2, 99, {}), "process")
    assert caught.value.problem.code == "store_unavailable"
    found = verify(path, noted)
    assert found.broken is not None or found.anchored is False


async def test_the_store_goes_on_once_it_is_put_back(live, path):
    with forger(path) as db:
        db.execute("UPDATE rows SET turn = 7 WHERE id = 1")
    await assert_refused(live)

    with forger(path) as db:
        db.execute("UPDATE rows SET turn = 1 WHERE id = 1")
    await live.commit(Row("open", "intent", "next", 2, 99, {}), "process")

    assert verify(path).broken is None


async def test_a_break_from_before_stays_to_be_seen(live, path):
    noted = verify(path).head
    with forger(path) as db:
        truncate_tail(db, "rows", "session = :session", "open")
    again = open_store(path)

    await again.commit(Row("open", "intent", "next", 2, 99, {}), "process")
    await again.aclose()

    assert verify(path).broken is not None
    assert verify(path, noted).broken is not None


@pytest.mark.parametrize("act", [delete_row, delete_first, delete_all, truncate_tail])
@pytest.mark.parametrize("session", SESSIONS)
async def test_in_a_large_store_rows_that_are_missing_are_noticed(
    live, path, monkeypatch, act, session
):
    monkeypatch.setattr("handrail.store.chain.verify._WHOLE_BYTES", 0)
    purge_payloads(path, session="killed")
    await live.flush()
    with forger(path) as db:
        act(db, "rows", RECORD["rows"], session)

    await assert_refused(live)


ADDED_TO_THE_SCHEMA = {
    "trigger on payloads": "CREATE TRIGGER t AFTER INSERT ON payloads"
    " BEGIN UPDATE payloads SET body = '{}' WHERE row = new.row; END",
    "trigger on the end": "CREATE TRIGGER t AFTER INSERT ON chain_end"
    " BEGIN DELETE FROM payloads; END",
    "trigger on claims": "CREATE TRIGGER t BEFORE INSERT ON claims BEGIN SELECT RAISE(IGNORE); END",
    "view": "CREATE VIEW v AS SELECT * FROM rows",
}


@pytest.mark.parametrize("whole_bytes", [0, 4 << 20])
@pytest.mark.parametrize("script", ADDED_TO_THE_SCHEMA.values(), ids=ADDED_TO_THE_SCHEMA)
async def test_triggers_and_views_are_found_before_they_act(
    live, path, monkeypatch, script, whole_bytes
):
    monkeypatch.setattr("handrail.store.chain.verify._WHOLE_BYTES", whole_bytes)
    with forger(path) as db:
        db.execute(script)

    assert "not part of a store" in verify(path).broken
    await assert_refused(live)
