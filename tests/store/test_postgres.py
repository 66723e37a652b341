"""What only a store on a server has: a server that is killed, connections that are lost, logins."""

import asyncio
import os
import signal
import sys
import threading
from contextlib import closing, suppress
from urllib.parse import quote

import pytest
from tests.support.machine import ROOT
from tests.support.postgres_server import running_server
from tests.support.stores import forged_store, query
from tests.support.waiting import LIMIT_S, join_threads

from handrail.core.failed_calls import NewFailedCall
from handrail.core.ports.records import Row
from handrail.core.problems import ProblemRaised
from handrail.store.chain.verify import verify
from handrail.store.opening import open_database
from handrail.store.postgres import database
from handrail.store.postgres.dialect import TABLES, translate
from handrail.store.postgres.server_connection import PostgresConnection
from handrail.store.postgres.server_errors import lost_connection
from handrail.store.records.purge import purge_payloads
from handrail.store.schema.migrations import latest_version
from handrail.store.schema.postgres_migrations import list_steps
from handrail.store.sqlite.store import open_store

pytestmark = pytest.mark.needs_postgres


@pytest.fixture
def engine():
    return "postgresql"


def end_connections(db):
    return db.execute(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'handrail'"
        " AND pid != pg_backend_pid()"
    ).fetchall()


def test_its_schema_has_the_number_of_that_for_sqlite_and_the_tables_that_are_named(path):
    open_database(path, busy_timeout_s=5).close()

    found = query(
        path,
        "SELECT table_name FROM information_schema.tables WHERE table_schema = current_schema()",
    )

    assert list_steps()[-1].version == latest_version()
    assert sorted(name for (name,) in found) == sorted(TABLES)


def test_a_server_that_does_not_run_is_named_with_its_socket(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        open_database(f"postgresql://me@/db?host={tmp_path}", busy_timeout_s=0.1)

    message = raised.value.problem.message
    assert f"{tmp_path}/.s.PGSQL" in message
    assert message == " ".join(message.split())


async def test_a_lost_connection_is_made_again_and_no_row_is_lost_or_doubled(path, row, postgres):
    store = open_store(path)
    for number in range(6):
        store.append(row(f"c{number}"))
        await store.commit(row(f"c{number}", "intent"), "power")
        with closing(postgres.connect()) as db:
            end_connections(db)
        store.append(row(f"c{number}", "completed"))
    calls = await store.calls()
    await store.aclose()

    assert [one.call_id for one in reversed(calls)] == [f"c{number}" for number in range(6)]
    assert (verify(path).rows, verify(path).broken) == (18, None)


@pytest.mark.parametrize("committed", [True, False])
async def test_a_commit_whose_answer_is_lost_is_looked_up(path, row, monkeypatch, committed):
    store = open_store(path)
    await store.commit(row("first", "intent"), "power")
    connection = store._database._connection
    run = connection.run

    def cut_off(script):
        if script == "COMMIT":
            monkeypatch.undo()
            if committed:
                run(script)
            connection.close()
        return run(script)

    monkeypatch.setattr(connection, "run", cut_off)
    await store.commit(row("second", "intent"), "power")
    await store.aclose()

    assert query(path, "SELECT call_id FROM rows ORDER BY id") == [("first",), ("second",)]
    assert verify(path).broken is None


@pytest.mark.parametrize("committed", [True, False])
async def test_rows_that_were_accepted_wait_until_it_is_known_what_was_committed(
    path, row, monkeypatch, committed
):
    store = open_store(path, busy_timeout_s=0.2)
    await store.flush()
    database = store._database
    connection, run, connect = (
        database._connection,
        database._connection.run,
        database._open_connection,
    )
    away = threading.Event()

    def cut_off(script):
        if script == "COMMIT":
            if committed:
                run(script)
            away.set()
            connection.close()
        return run(script)

    def unreachable():
        if away.is_set():
            open_database("postgresql://nobody@127.0.0.1:1/x", busy_timeout_s=0.1)
        return connect()

    monkeypatch.setattr(connection, "run", cut_off)
    monkeypatch.setattr(database, "_open_connection", unreachable)
    store.append(row("held"))
    with pytest.raises(ProblemRaised) as refused:
        await store.commit(row("dropped", "intent"), "power")
    assert refused.value.problem.code == "store_unavailable"
    with pytest.raises(ProblemRaised):
        store.append(row("later"))
    away.clear()
    monkeypatch.undo()
    await store.flush()
    await store.aclose()

    found = [name for (name,) in query(path, "SELECT call_id FROM rows ORDER BY id")]
    # Of an intent whose commit was refused nothing is known, and its caller has done nothing.
    assert found == (["held", "dropped", "later"] if committed else ["held", "later"])
    assert verify(path).broken is None


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("postgresql://me:hunter22@127.0.0.1:1/x", "connection to its server"),
        ("postgresql://me:hunter22@127.0.0.1:1/x?password=hunter22", "connection to its server"),
        ("postgresql://me:hunter22@127.0.0.1:1/x?nonsense=hunter22", "URL cannot be read"),
        ("postgresql://me:hunter22%zz@127.0.0.1:1/x", "URL cannot be read"),
    ],
    ids=["in the url", "as a parameter", "beside a wrong parameter", "badly quoted"],
)
def test_no_message_contains_the_password(url, said):
    with pytest.raises(ProblemRaised, match=said) as caught:
        open_store(url, busy_timeout_s=0.1)

    raised = caught.value
    told = [str(raised), repr(raised), str(raised.__cause__), str(raised.problem.to_dict())]
    assert "hunter22" not in " ".join(told)
    assert raised.problem.code == "store_unavailable"


@pytest.mark.parametrize("name", ["Handrail", "my-schema", 'a "b" c'])
async def test_a_schema_may_have_any_name(postgres, row, name):
    with closing(postgres.connect()) as db:
        db.execute(f"DROP SCHEMA IF EXISTS {quoted(name)} CASCADE; CREATE SCHEMA {quoted(name)}")
    url = postgres.url(options=quote(f"-csearch_path={quoted(name)}".replace(" ", "\\ ")))
    store = open_store(url)
    await store.commit(row("c1", "intent"), "power")
    size = store._database.size_bytes()
    await store.aclose()

    assert (verify(url).rows, verify(url).broken) == (1, None)
    assert size > 0


def quoted(name):
    return '"{}"'.format(name.replace('"', '""'))


async def test_a_server_that_is_restarting_is_waited_for(path, monkeypatch):
    connect, tried = PostgresConnection._connect, []

    def refuse_at_first(self, url, timeout_s):
        tried.append(url)
        if len(tried) < 3:
            raise lost_connection(self.location)
        return connect(self, url, timeout_s)

    monkeypatch.setattr(PostgresConnection, "_connect", refuse_at_first)

    open_database(path, busy_timeout_s=5).close()

    assert len(tried) == 3


async def test_a_server_that_is_frozen_is_given_up_and_no_row_is_lost(path, row, monkeypatch):
    monkeypatch.setattr(database, "_SILENCE_S", 0.5)
    store = open_store(path, busy_timeout_s=0.5)
    await store.commit(row("first", "intent"), "power")
    connection = store._database._connection
    backend = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
    os.kill(backend, signal.SIGSTOP)
    try:
        store.append(row("first", "completed"))
        with suppress(ProblemRaised):
            await asyncio.wait_for(store.commit(row("second", "intent"), "power"), LIMIT_S)
    finally:
        os.kill(backend, signal.SIGCONT)

    await store.commit(row("third", "intent"), "power")
    await store.aclose()
    found = [call_id for (call_id,) in query(path, "SELECT call_id FROM rows ORDER BY id")]
    assert [one for one in found if one != "second"] == ["first", "first", "third"]
    assert verify(path).broken is None


def test_without_the_driver_it_says_what_to_install(path, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)

    with pytest.raises(ProblemRaised) as caught:
        open_store(path)

    assert "handrail[postgres]" in caught.value.problem.hint


def test_tables_of_others_are_not_touched(path, postgres):
    schema = path.rpartition("%3D")[2]
    with closing(postgres.connect()) as db:
        db.execute(f"CREATE TABLE {schema}.rows (mine integer)")

    with pytest.raises(ProblemRaised, match="tables of another program"):
        open_store(path)


async def test_a_trigger_on_the_record_is_named(path, row):
    store = open_store(path)
    await store.commit(row(), "process")
    await store.aclose()
    with forged_store(path) as db:
        db.execute(
            "CREATE FUNCTION quiet() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END'"
        )
        db.execute("CREATE TRIGGER quiet BEFORE INSERT ON rows EXECUTE FUNCTION quiet()")

    assert verify(path).broken.startswith("trigger 'quiet': ")


def test_parameters_are_numbered_and_functions_translated():
    assert translate("SELECT ?, instr(a, ?)") == "SELECT $1, strpos(a, $2)"
    assert translate("SELECT ?2, ?1") == "SELECT $2, $1"


async def _kill_the_server(kills, commits):
    """Writers go on while the server is killed; returns what they were told and what is there."""
    told, refusals = [], []
    with running_server(fsync=True) as server:
        path = server.new_store()
        ended = threading.Event()
        enough = threading.Semaphore(0)

        async def write(name):
            store = open_store(path, busy_timeout_s=LIMIT_S)
            number = 0
            while not ended.is_set():
                call = f"{name}-{number}"
                number += 1
                try:
                    store.append(Row("s", "requested", call, 1, number, {"n": number}))
                    await store.commit(Row("s", "intent", call, 1, number, {}), "power")
                    told.append(call)
                except ProblemRaised as raised:
                    refusals.append(raised.problem)
                enough.release()
            with suppress(ProblemRaised):
                await store.aclose()

        writers = [threading.Thread(target=asyncio.run, args=(write(n),)) for n in ("a", "b")]
        for writer in writers:
            writer.start()
        try:
            for kill in range(kills):
                for _ in range(commits):
                    assert enough.acquire(timeout=LIMIT_S)
                server.kill(signal.SIGKILL if kill % 2 else signal.SIGQUIT)
                server.start()
        finally:
            ended.set()
            join_threads(*writers, limit_s=2 * LIMIT_S)
        found = query(path, "SELECT call_id FROM rows WHERE kind = 'intent'")
        intact = verify(path)
    return told, refusals, [name for (name,) in found], intact


@pytest.mark.timeout(120)
async def test_a_server_that_is_killed_leaves_nothing_half_done():
    told, refusals, found, intact = await _kill_the_server(kills=3, commits=12)

    assert intact.broken is None
    assert len(found) == len(set(found))
    assert set(told) <= set(found)
    assert {one.code for one in refusals} <= {"store_unavailable"}


@pytest.mark.torture
async def test_a_server_that_is_killed_fifty_times_leaves_nothing_half_done():
    told, refusals, found, intact = await _kill_the_server(kills=50, commits=20)

    print(f"50 kills: {len(told)} commits, {len(refusals)} refusals, {len(found)} rows")
    assert intact.broken is None
    assert len(found) == len(set(found))
    assert set(told) <= set(found)
    assert {one.code for one in refusals} <= {"store_unavailable"}


def statements_of_the_page():
    """The statements that `docs/store.md` gives for the role that appends."""
    page = (ROOT / "docs" / "store.md").read_text("utf-8")
    return page.split("```sql\n")[1].split("```")[0]


@pytest.fixture
def append_only(path, postgres):
    """The URL of the store with the role of the page."""
    open_database(path, busy_timeout_s=5).close()
    schema = path.rpartition("%3D")[2]
    role = f"append_{schema}"
    script = statements_of_the_page().replace("SCHEMA public", f"SCHEMA {schema}")
    with closing(postgres.connect()) as db:
        db.execute(f"SET search_path = {schema}")
        db.execute(script.replace("handrail_append", role))
        db.execute(f"GRANT USAGE ON SCHEMA {schema} TO {role}")
    return path.replace("handrail@", f"{role}@", 1)


async def test_the_role_that_appends_can_do_all_that_a_runtime_does(append_only, row):
    store = open_store(append_only)
    await store.open_session("s", {}, "owner", lambda owner: False)
    for number in range(3):
        await store.claim("s", f"c{number}", "print", "owner")
        store.append(row(f"c{number}"))
        await store.commit(row(f"c{number}", "intent"), "power")
        store.append(row(f"c{number}", "completed", text="x" * 2_000, meta={"n": number}))
    store.save_state("s", "turn", 1)
    store.save_state("s", "turn", 2)
    await store.flush()
    given = await store.reserve("a", ["src/**"], 10**18, "p")
    await store.release("a", [given.acquired[0].token])
    await store.record_failed_call(NewFailedCall("s", "c1", "/w", "main", "x", {}, {}))
    await store.unfinished()
    await store.close_abandoned(lambda owner: False)
    await store.close_session("s")
    await store.aclose()

    assert (verify(append_only).rows, verify(append_only).broken) == (9, None)


@pytest.mark.parametrize(
    "statement",
    [
        *(
            f"DELETE FROM {table}"
            for table in ("rows", "ledger", "payloads", "sessions", "session_state", "contents")
        ),
        *(f"DELETE FROM {table}" for table in ("chain_end", "content_uses", "handrail_store")),
        "TRUNCATE rows",
        "UPDATE rows SET turn = 9",
        "UPDATE ledger SET info = ''",
        "UPDATE payloads SET body = ''",
        "UPDATE sessions SET opened_ns = 1",
        "UPDATE contents SET body = ''",
        "DROP TABLE rows",
        "ALTER TABLE rows ADD COLUMN x INTEGER",
    ],
)
def test_the_role_that_appends_cannot_change_what_is_recorded(append_only, statement):
    with (
        closing(open_database(append_only, busy_timeout_s=5)) as database,
        pytest.raises(ProblemRaised) as refused,
    ):
        database.db.execute(statement)

    assert refused.value.problem.code == "store_unavailable"
    assert "may not do this" in refused.value.problem.message


async def test_a_purge_by_the_role_that_appends_is_refused_as_a_whole(append_only, row):
    store = open_store(append_only)
    store.append(row("c1"))
    store.append(row("c1", "completed"))
    await store.aclose()

    with pytest.raises(ProblemRaised, match="may not do this"):
        purge_payloads(append_only, call_id="c1")

    assert (verify(append_only).broken, verify(append_only).purged_payloads) == (None, 0)
