"""What `verify` sees, what it names, and what it cannot see."""

import contextlib
import sqlite3
import subprocess
import sys

import anyio
import pytest
from tests.support.postgres import BOTH_ENGINES
from tests.support.stores import forged_store

from handrail.core.ports.records import Row
from handrail.core.problems import ProblemRaised
from handrail.store.chain.encoding import row_hash
from handrail.store.chain.verify import verify
from handrail.store.sqlite.store import open_store


@pytest.fixture
async def filled(path, row):
    """Two closed sessions of three calls each, and one that was not closed."""
    store = open_store(path, now_ns=iter(range(1, 100)).__next__)
    for session in ("first", "second"):
        await store.open_session(session, {"mode": "default"})
        for number in range(1, 4):
            store.append(row(f"c{number}", session=session, text=f"asked {number}"))
            store.append(row(f"c{number}", "completed", session=session, text=f"done {number}"))
        await store.close_session(session)
    store.append(row("c1", session="live"))
    await store.aclose()
    return path


@BOTH_ENGINES
async def test_an_untouched_store_holds(filled):
    integrity = verify(filled)

    assert integrity._replace(head="", open_sessions={}) == integrity._replace(
        sessions=3,
        rows=13,
        broken=None,
        head="",
        open_sessions={},
        purged_payloads=0,
        anchored=None,
    )
    assert list(integrity.open_sessions) == ["live"]
    assert len(integrity.head) == 64


# One edit per column of every table that is record, and what must be named.
EDITS = [
    ("UPDATE ledger SET id = 99 WHERE id = 3", "ledger row 3: row missing"),
    ("UPDATE ledger SET session = 'x' WHERE id = 3", "ledger row 3 (open of session x): does not"),
    (
        "UPDATE ledger SET kind = 'close' WHERE id = 3",
        "ledger row 3 (close of session second): does",
    ),
    ("UPDATE ledger SET at_ns = 0 WHERE id = 3", "ledger row 3 (open of session second): does not"),
    ("UPDATE ledger SET rows = 5 WHERE id = 2", "ledger row 2 (close of session first): does not"),
    (
        "UPDATE ledger SET head = 'x' WHERE id = 2",
        "ledger row 2 (close of session first): does not",
    ),
    (
        "UPDATE ledger SET info = '{}' WHERE id = 1",
        "ledger row 1 (open of session first): does not",
    ),
    (
        "UPDATE ledger SET prev_hash = 'x' WHERE id = 2",
        "ledger row 2 (close of session first): does not",
    ),
    (
        "UPDATE ledger SET prev_hash = 'x' WHERE id = 3",
        "ledger row 3 (open of session second): chain",
    ),
    ("UPDATE ledger SET after_row = 5 WHERE id = 2", "ledger row 2 (close of session first): does"),
    ("UPDATE ledger SET owner = 'x' WHERE id = 2", "ledger row 2 (close of session first): does"),
    (
        "UPDATE ledger SET hash = 'x' WHERE id = 2",
        "ledger row 2 (close of session first): does not",
    ),
    ("UPDATE sessions SET id = 'x' WHERE ordinal = 2", "session x: not in the ledger"),
    (
        "UPDATE sessions SET ordinal = 9 WHERE ordinal = 2",
        "session second: does not match its lines",
    ),
    ("UPDATE sessions SET opened_ns = 0 WHERE ordinal = 2", "session second: does not match its"),
    (
        "UPDATE sessions SET closed_ns = NULL WHERE ordinal = 2",
        "session second: does not match its",
    ),
    (
        "UPDATE rows SET id = 99 WHERE id = 9",
        "session second, row 3 (requested of call c2): chain broken",
    ),
    ("UPDATE rows SET session = 'x' WHERE id = 9", "session second, row 3: row missing"),
    ("UPDATE rows SET seq = 99 WHERE id = 9", "session second, row 3: row missing"),
    (
        "UPDATE rows SET kind = 'intent' WHERE id = 9",
        "session second, row 3 (intent of call c2): does",
    ),
    (
        "UPDATE rows SET call_id = 'x' WHERE id = 9",
        "session second, row 3 (requested of call x): does",
    ),
    (
        "UPDATE rows SET turn = 9 WHERE id = 9",
        "session second, row 3 (requested of call c2): does not",
    ),
    (
        "UPDATE rows SET at_ns = 9 WHERE id = 9",
        "session second, row 3 (requested of call c2): does not",
    ),
    (
        "UPDATE rows SET payload_hash = 'x' WHERE id = 9",
        "session second, row 3 (requested of call c2)",
    ),
    (
        "UPDATE rows SET prev_hash = 'x' WHERE id = 9",
        "session second, row 3 (requested of call c2): chain",
    ),
    (
        "UPDATE rows SET hash = 'x' WHERE id = 9",
        "session second, row 3 (requested of call c2): does not",
    ),
    (
        "UPDATE payloads SET body = '{}' WHERE row = 4",
        "session first, row 4 (completed of call c2): payload does not match its hash",
    ),
    (
        "UPDATE payloads SET row = 99 WHERE row = 4",
        "session first, row 4 (completed of call c2): payload missing, and no purge of it",
    ),
    ("INSERT INTO payloads VALUES (99, '{}')", "payload 99: belongs to no row"),
    ("UPDATE chain_end SET one = 2", "end of the chain"),
    ("UPDATE chain_end SET rows = 12", "end of the chain"),
    ("UPDATE chain_end SET line = 4", "end of the chain"),
    ("UPDATE chain_end SET hash = 'x'", "end of the chain"),
    # Whole rows taken out, put in, or exchanged.
    ("DELETE FROM rows WHERE id = 3", "session first, row 3: row missing"),
    ("DELETE FROM rows WHERE id = 6", "session first, row 6: row missing, the ledger counted 6"),
    (
        "DELETE FROM rows WHERE session = 'first'",
        "session first, row 1: row missing, the ledger counted",
    ),
    ("DELETE FROM ledger WHERE id = 1", "ledger row 1: row missing"),
    ("DELETE FROM sessions WHERE id = 'first'", "ledger, session first: session removed"),
    (
        "INSERT INTO rows SELECT 99, 'x', 1, kind, call_id, turn, at_ns, payload_hash, prev_hash,"
        " hash FROM rows WHERE id = 1",
        "session x, row 1 (call c1): not in the ledger",
    ),
    (
        "INSERT INTO rows SELECT 99, session, 7, kind, call_id, turn, at_ns, payload_hash,"
        " prev_hash, hash FROM rows WHERE id = 6",
        "session first, row 7 (completed of call c3): chain broken",
    ),
    (
        "UPDATE rows SET seq = CASE seq WHEN 3 THEN 103 WHEN 4 THEN 104 END"
        " WHERE session = 'first' AND seq IN (3, 4);"
        "UPDATE rows SET seq = CASE seq WHEN 103 THEN 4 WHEN 104 THEN 3 END"
        " WHERE session = 'first' AND seq > 100",
        "session first, row 3 (completed of call c2): does not match its hash",
    ),
]

# Of another type, or no text at all; PostgreSQL takes none of them.
ODD_EDITS = [
    (
        "UPDATE payloads SET body = x'ff' WHERE row = 4",
        "session first, row 4 (completed of call c2): pay",
    ),
    (
        "UPDATE payloads SET body = CAST(x'ff' AS TEXT) WHERE row = 4",
        "session first, row 4 (completed",
    ),
    (
        "UPDATE rows SET turn = 'x' WHERE id = 9",
        "session second, row 3 (requested of call c2): does not",
    ),
    (
        "UPDATE rows SET turn = x'01' WHERE id = 9",
        "session second, row 3 (requested of call c2): does",
    ),
    (
        "UPDATE rows SET call_id = CAST(x'ff' AS TEXT) WHERE id = 9",
        "session second, row 3 (requested of",
    ),
]


@BOTH_ENGINES
@pytest.mark.parametrize(("edit", "named"), EDITS, ids=[edit[:60] for edit, _ in EDITS])
async def test_an_edit_in_place_is_named(filled, edit, named):
    with forged_store(filled) as db:
        for statement in edit.split(";"):
            db.execute(statement)

    broken = verify(filled).broken

    assert broken is not None
    assert broken.startswith(named)


@pytest.mark.parametrize(("edit", "named"), ODD_EDITS, ids=[edit[:60] for edit, _ in ODD_EDITS])
async def test_a_value_of_another_type_is_named(filled, edit, named):
    with forged_store(filled) as db:
        db.execute(edit)

    assert verify(filled).broken.startswith(named)


def test_every_column_of_the_record_is_among_the_edits(path):
    store = open_store(path)
    with contextlib.closing(sqlite3.connect(path)) as db:
        columns = {
            (table, column[1])
            for table in ("ledger", "sessions", "rows", "payloads", "chain_end")
            for column in db.execute(f"PRAGMA table_info({table})")
        }
    store._finalizer()

    edited = {tuple(edit.split()[1:4:2]) for edit, _ in EDITS if edit.startswith("UPDATE")}
    assert columns <= edited


@BOTH_ENGINES
async def test_a_row_rehashed_in_place_still_breaks_the_chain_after_it(filled):
    with forged_store(filled) as db:
        fields = db.execute(
            "SELECT session, seq, kind, call_id, turn, at_ns, payload_hash, prev_hash"
            " FROM rows WHERE id = 3"
        ).fetchone()
        forged = row_hash(*fields[:4], 77, *fields[5:])
        db.execute("UPDATE rows SET turn = 77, hash = ? WHERE id = 3", (forged,))

    broken = verify(filled).broken
    assert broken.startswith("session first, row 4 (completed")
    assert "call c2)" in broken
    assert "chain broken" in broken


@BOTH_ENGINES
async def test_a_cut_end_is_seen_only_with_an_anchor(filled):
    noted = verify(filled).open_sessions["live"]
    assert verify(filled, noted).anchored is True
    with forged_store(filled) as db:
        db.execute("DELETE FROM payloads WHERE row = 13")
        db.execute("DELETE FROM rows WHERE id = 13")
        line = db.execute("SELECT id, hash FROM ledger ORDER BY id DESC LIMIT 1").fetchone()
        db.execute("UPDATE chain_end SET rows = 12, line = ?, hash = ?", line)

    assert verify(filled).broken is None
    assert verify(filled, noted).anchored is False


@BOTH_ENGINES
async def test_a_cut_end_of_the_ledger_is_seen_only_with_an_anchor(filled):
    noted = verify(filled).head
    with forged_store(filled) as db:
        db.execute("DELETE FROM payloads WHERE row = 13")
        db.execute("DELETE FROM rows WHERE session = 'live'")
        db.execute("DELETE FROM sessions WHERE id = 'live'")
        db.execute("DELETE FROM ledger WHERE session = 'live'")
        line = db.execute("SELECT id, hash FROM ledger ORDER BY id DESC LIMIT 1").fetchone()
        db.execute("UPDATE chain_end SET rows = 12, line = ?, hash = ?", line)

    assert verify(filled).broken is None
    assert verify(filled, noted).anchored is False


@BOTH_ENGINES
async def test_an_anchor_stays_good_as_the_store_grows(filled, row):
    noted = [verify(filled).head, *verify(filled).open_sessions.values()]
    store = open_store(filled)
    await store.open_session("live", {})
    await store.commit(row("c2", session="live"), "process")
    await store.aclose()

    assert [verify(filled, hash_).anchored for hash_ in noted] == [True, True]
    assert verify(filled, noted[0].upper() + "\n").anchored is True
    assert verify(filled, "f" * 64).anchored is False


@BOTH_ENGINES
async def test_rows_after_the_last_close_are_fine_and_the_head_is_listed(path, row):
    one, two = open_store(path), open_store(path)
    await one.open_session("shared", {})
    await two.open_session("shared", {})
    one.append(row("c1", session="shared"))
    await one.aclose()
    await two.commit(row("c2", session="shared"), "process")

    live = verify(path)
    await two.aclose()

    assert (live.rows, live.broken, list(live.open_sessions)) == (2, None, ["shared"])
    assert verify(path).open_sessions == {}


@BOTH_ENGINES
async def test_a_store_is_verified_while_another_process_writes(path):
    script = (
        "import asyncio, sys\n"
        "from handrail.core.ports.records import Row\n"
        "from handrail.store.sqlite.store import open_store\n"
        "async def main():\n"
        "    store = open_store(sys.argv[1])\n"
        "    await store.open_session('s', {})\n"
        "    print('ready', flush=True)\n"
        "    for number in range(10**9):\n"
        "        await store.commit(Row('s', 'intent', str(number), 1, 1, {'n': number}), 'process')\n"
        "asyncio.run(main())\n"
    )
    writer = subprocess.Popen([sys.executable, "-c", script, path], stdout=subprocess.PIPE)
    seen = []
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
        with anyio.fail_after(30):
            while len(set(seen)) < 5:
                integrity = await anyio.to_thread.run_sync(verify, path)
                assert integrity.broken is None
                seen.append(integrity.rows)
    finally:
        writer.kill()
        writer.communicate(timeout=30)

    assert seen == sorted(seen)
    assert verify(path).broken is None


async def test_verify_leaves_the_file_as_it_is(filled):
    before = filled.read_bytes()

    verify(filled)

    assert filled.read_bytes() == before


@BOTH_ENGINES
def test_there_must_be_a_store_to_verify(path):
    for location in (path, ":memory:"):
        with pytest.raises(ProblemRaised) as caught:
            verify(location)
        assert caught.value.problem.code == "store_unavailable"


async def test_names_with_special_characters_do_not_redirect_the_check(tmp_path, row):
    path = tmp_path / "odd ?mode=rw&x#%41.db"
    store = open_store(path)
    await store.commit(row(), "process")
    await store.aclose()

    assert verify(path).rows == 1
    assert verify(str(path)).rows == 1
    assert sorted(file.name[:24] for file in tmp_path.iterdir())[0] == path.name[:24]


@pytest.mark.finding("F04")
@BOTH_ENGINES
@pytest.mark.parametrize(
    ("edit", "named"),
    [
        ("UPDATE session_state SET value = '2'", "does not match its hash in the chain"),
        ("UPDATE session_state SET key = 'other'", "not in the chain"),
        ("UPDATE session_state SET session = 'second'", "not in the chain"),
        ("DELETE FROM session_state", "removed"),
        ("INSERT INTO session_state VALUES ('first', 'more', '1')", "not in the chain"),
    ],
)
async def test_what_is_kept_with_a_session_is_in_the_chain(filled, edit, named):
    store = open_store(filled)
    store.save_state("first", "turn", 0)
    await store.flush()
    store.save_state("first", "turn", 1)
    await store.aclose()
    assert verify(filled).broken is None
    with forged_store(filled) as db:
        db.execute(edit)

    assert verify(filled).broken.startswith("session_state, ")
    assert verify(filled).broken.endswith(named)


@BOTH_ENGINES
async def test_names_that_imitate_the_encoding_do_not_collide(path):
    store = open_store(path)
    store.append(Row("s", "completed", "a,1:b", 1, 1, {}))
    await store.aclose()
    with forged_store(path) as db:
        db.execute("UPDATE rows SET kind = 'completed,5:a', call_id = 'b'")

    assert verify(path).broken is not None


@BOTH_ENGINES
async def test_a_session_rehashed_from_end_to_end_does_not_fit_the_ledger(filled):
    with forged_store(filled) as db:
        prev = db.execute("SELECT hash FROM ledger WHERE id = 1").fetchone()[0]
        rows = db.execute(
            "SELECT session, seq, kind, call_id, turn, at_ns, payload_hash FROM rows"
            " WHERE session = 'first' ORDER BY seq"
        ).fetchall()
        for session, seq, kind, call_id, _, *rest in rows:
            own = row_hash(session, seq, kind, call_id, 77, *rest, prev)
            db.execute(
                "UPDATE rows SET turn = 77, prev_hash = ?, hash = ? WHERE session = ? AND seq = ?",
                (prev, own, session, seq),
            )
            prev = own

    broken = verify(filled).broken
    assert broken.startswith("session first, row 6 (completed")
    assert "call c3)" in broken
    assert "the ledger counted" in broken


async def test_a_store_rebuilt_as_a_whole_is_seen_only_with_an_anchor(filled, tmp_path, row):
    noted = verify(filled).head
    rebuilt = open_store(tmp_path / "rebuilt.db")
    await rebuilt.open_session("first", {"mode": "default"})
    rebuilt.append(row("c1", session="first", text="a nicer story"))
    await rebuilt.aclose()

    assert verify(tmp_path / "rebuilt.db").broken is None
    assert verify(tmp_path / "rebuilt.db", noted).anchored is False


@BOTH_ENGINES
async def test_an_edited_payload_that_is_no_json_does_not_hide_its_call(filled):
    with forged_store(filled) as db:
        db.execute("UPDATE payloads SET body = 'no json' WHERE row = 3")
    store = open_store(filled)

    [call] = await store.calls(session="first", call_id="c2")

    assert list(call.requested) == ["unreadable"]
    assert call.completed == {"text": "done 2"}
    await store.aclose()
