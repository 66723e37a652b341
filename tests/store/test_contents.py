"""Results that are repeated are stored once, and are found, checked and purged like all others."""

import contextlib
import hashlib
import sqlite3
import zlib

import anyio
import pytest
from tests.support.postgres import BOTH_ENGINES
from tests.support.stores import forged_store, query

import handrail
from handrail.store.chain.verify import verify
from handrail.store.records.contents import expand_body
from handrail.store.records.purge import count_payloads, purge_payloads
from handrail.store.schema.migrations import list_migrations
from handrail.store.sqlite.store import open_store

pytestmark = pytest.mark.finding("F74")

LONG = "a line of a long result\n" * 500


async def record(store, row, names, text=LONG):
    """Record calls with this result, each with a time of its own."""
    for number, name in enumerate(names):
        store.append(row(name))
        store.append(row(name, "completed", text=text, meta={"duration_s": number}))
    await store.flush()


@pytest.fixture
def kept(path, row):
    """A store with three calls of one result, and one of another."""

    async def make():
        store = open_store(path)
        await store.open_session("s", {})
        await record(store, row, ["c1", "c2", "c3"])
        await record(store, row, ["other"], text=f"other {LONG}")
        await store.aclose()

    anyio.run(make)
    return path


@BOTH_ENGINES
def test_equal_results_are_stored_once_and_compressed(kept):
    assert query(kept, "SELECT count(*) FROM contents") == [(2,)]
    assert query(kept, "SELECT count(*) FROM content_uses") == [(4,)]
    assert query(kept, "SELECT sum(length(body)) FROM contents")[0][0] < len(LONG) // 10
    assert verify(kept).broken is None


@BOTH_ENGINES
async def test_a_result_is_read_as_it_was_recorded(kept):
    store = open_store(kept)
    found = [await store.find_completed("s", name) for name in ("c1", "c2", "c3", "other")]
    listed = await store.calls(session="s")
    await store.aclose()

    texts = [one.completed["text"] for one in found]
    assert texts == [LONG, LONG, LONG, f"other {LONG}"]
    assert [one.completed["meta"]["duration_s"] for one in found] == [0, 1, 2, 0]
    assert sorted(one.completed["text"] for one in listed) == sorted(texts)


@BOTH_ENGINES
@pytest.mark.parametrize("count", [1, 2, 3])
def test_a_purge_deletes_a_result_with_the_last_call_that_has_it(kept, count):
    for name in ["c1", "c2", "c3"][:count]:
        assert purge_payloads(kept, call_id=name).payloads == 2

    left = query(kept, "SELECT body FROM contents")
    assert len(left) == (1 if count == 3 else 2)
    assert len(query(kept, "SELECT * FROM content_uses")) == 4 - count
    assert verify(kept).broken is None


def test_a_purged_result_is_not_in_the_file(kept):
    needle = query(kept, "SELECT body FROM contents ORDER BY id LIMIT 1")[0][0]
    assert needle in kept.read_bytes()

    for name in ("c1", "c2", "c3"):
        purge_payloads(kept, call_id=name)

    assert needle not in kept.read_bytes()


def changed(text):
    return zlib.compress(text.encode())


@BOTH_ENGINES
@pytest.mark.parametrize(
    ("change", "values", "broken"),
    [
        ("UPDATE contents SET body = ? WHERE id = 1", [changed("{}")], "payload does not match"),
        ("UPDATE contents SET body = ? WHERE id = 1", [b"no zlib"], "payload does not match"),
        ("DELETE FROM contents WHERE id = 1", [], "payload does not match"),
        ("DELETE FROM content_uses WHERE content = 2", [], "content 2: belongs to no payload"),
        ("DELETE FROM content_uses WHERE row = 2", [], "payload 2: its content"),
        (
            "INSERT INTO contents VALUES (9, ?, ?)",
            [hashlib.sha256(b"x").digest(), changed("x")],
            "content 9: belongs to no payload",
        ),
        ("UPDATE contents SET hash = ? WHERE id = 1", [b"\0"], "content 1: does not match"),
        ("UPDATE content_uses SET content = 2 WHERE row = 2", [], "payload 2: its content"),
        ("INSERT INTO content_uses VALUES (99, 1)", [], "payload 99: there is no such"),
    ],
)
def test_a_result_that_was_changed_is_found(kept, change, values, broken):
    with forged_store(kept) as db:
        db.execute(change, values)

    assert broken in verify(kept).broken


@BOTH_ENGINES
async def test_a_call_whose_result_is_damaged_says_so_and_the_others_are_read(kept):
    with forged_store(kept) as db:
        db.execute("DELETE FROM contents WHERE id = 1")
    store = open_store(kept)
    calls = {one.call_id: one.completed for one in await store.calls(session="s")}
    await store.aclose()

    assert calls["other"]["text"] == f"other {LONG}"
    assert list(calls["c1"]) == ["unreadable"]


async def test_secrets_are_not_in_a_stored_result(path, row):
    store = open_store(path)
    await store.open_session("s", {})
    token = "ghp_" + "a1B2" * 9
    await record(store, row, ["c1"], text=f"{LONG}token {token}\n")
    found = await store.find_completed("s", "c1")
    await store.aclose()

    text = zlib.decompress(query(path, "SELECT body FROM contents")[0][0]).decode()
    assert token not in text
    assert token not in found.completed["text"]
    assert verify(path).broken is None


async def test_a_store_of_the_version_before_is_migrated_and_keeps_its_results(kept, row):
    with contextlib.closing(sqlite3.connect(kept)) as db:
        for number, body in db.execute("SELECT row, body FROM payloads").fetchall():
            whole = (expand_body(db, body), number)
            db.execute("UPDATE payloads SET body = ? WHERE row = ?", whole)
        db.executescript("DROP TABLE contents; DROP TABLE content_uses; PRAGMA user_version = 8;")
        assert count_payloads(db, before_ns=2_000)[1] > 4 * len(LONG)
    assert verify(kept).broken is None

    store = open_store(kept)
    await record(store, row, ["new"])
    texts = {one.call_id: one.completed["text"] for one in await store.calls()}
    await store.aclose()

    assert texts == {**dict.fromkeys(["c1", "c2", "c3", "new"], LONG), "other": f"other {LONG}"}
    assert query(kept, "PRAGMA user_version") == [(list_migrations()[-1].version,)]
    assert query(kept, "SELECT count(*) FROM contents") == [(1,)]
    assert verify(kept).broken is None


@BOTH_ENGINES
@pytest.mark.parametrize("before_ns", [1_000, 1_003, 1_006, 1_009])
async def test_the_bytes_that_a_purge_would_free_are_counted(kept, before_ns):
    store = open_store(kept)
    before = await store.sizes()
    count, size = await store._ask(lambda db: count_payloads(db, before_ns=before_ns))

    purged = purge_payloads(kept, before_ns=before_ns)

    after = await store.sizes()
    await store.aclose()
    assert (count, size) == (purged.payloads, before.payload_bytes - after.payload_bytes)


async def test_a_read_of_an_unchanged_file_adds_less_than_a_kilobyte(tmp_path):
    root = tmp_path / "workspace"
    root.mkdir()
    (root / "a.txt").write_text("".join(f"line {number} of a text\n" for number in range(1500)))
    store = tmp_path / "s.db"
    sizes = []
    async with handrail.open(root, store=store, config={"loop_guard": "off"}) as rt:
        first = await rt.call("read_file", {"path": "a.txt"}, id="first")
        for _ in range(2):
            await rt.store.flush()
            query(store, "PRAGMA wal_checkpoint(TRUNCATE)")
            sizes.append(store.stat().st_size)
            results = [await rt.call("read_file", {"path": "a.txt"}) for _ in range(100)]
        replayed = await rt.call("read_file", {"path": "a.txt"}, id="first")

    assert len(first.text) > 20_000
    assert {one.text for one in results} == {first.text}
    assert replayed.text == first.text
    assert (sizes[1] - sizes[0]) / 100 < 1000
    assert verify(store).broken is None
