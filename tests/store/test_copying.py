"""A record is copied between stores of both engines, and its chain goes on in the copy."""

import pytest
from tests.support.stores import forged_store, query

from handrail.core.failed_calls import NewFailedCall
from handrail.core.problems import ProblemRaised
from handrail.store import copying
from handrail.store.chain.verify import verify
from handrail.store.copying import copy_store
from handrail.store.records.purge import purge_payloads
from handrail.store.sqlite.store import open_store

LONG = "a line of a long result\n" * 500


async def fill(path, row):
    """A store with something in each table, and gaps in the numbers."""
    store = open_store(path)
    await store.open_session("s", {"mode": "default"}, "owner")
    for number in range(7):
        store.append(row(f"c{number}"))
        store.append(row(f"c{number}", "completed", text=LONG, meta={"n": number}))
    store.save_state("s", "turn", 3)
    await store.claim("s", "mine", "print", "owner")
    lease = await store.reserve("a", ["src/**"], 10**18, "p")
    await store.release("a", [lease.acquired[0].token])
    await store.record_failed_call(NewFailedCall("s", "c1", "/w", "main", "x", {}, {}))
    await store.close_session("s")
    await store.aclose()
    purge_payloads(path, call_id="c0")


@pytest.fixture
def places(tmp_path, request):
    """Two locations by the engines that a test names."""

    def place(engine, name):
        if engine == "postgresql":
            return request.getfixturevalue("postgres").new_store()
        return tmp_path / f"{name}.db"

    return lambda *engines: [place(one, f"n{at}") for at, one in enumerate(engines)]


@pytest.mark.needs_postgres
@pytest.mark.parametrize(
    "engines",
    [("sqlite", "postgresql", "sqlite"), ("postgresql", "postgresql")],
    ids=["there and back", "between databases"],
)
async def test_a_copy_holds_the_same_and_goes_on(places, row, engines, monkeypatch):
    monkeypatch.setattr(copying, "_PAGE", 3)
    first, *others = places(*engines)
    await fill(first, row)
    noted = verify(first)

    for source, target in zip([first, *others], others, strict=False):
        copied = copy_store(source, target)
        assert (copied.head, copied.rows, copied.anchored) == (noted.head, 14, True)

    last = others[-1]
    assert verify(last) == noted
    for table in ("payloads", "session_state", "claims", "dead_letters", "content_uses"):
        wanted = query(first, f"SELECT * FROM {table} ORDER BY 1, 2")
        assert query(last, f"SELECT * FROM {table} ORDER BY 1, 2") == wanted
    store = open_store(last)
    assert (await store.calls(call_id="c3"))[0].completed["text"] == LONG
    store.append(row("later"))
    given = await store.reserve("b", ["src/**"], 10**18, "p")
    await store.record_failed_call(NewFailedCall("s", "c2", "/w", "main", "y", {}, {}))
    assert [one.id for one in await store.failed_calls()] == [1, 2]
    await store.aclose()
    # The number of the first lease is not given again.
    assert given.acquired[0].fence == 2
    assert (verify(last, noted.head).broken, verify(last, noted.head).anchored) == (None, True)


async def test_nothing_is_copied_over_a_record_or_from_a_broken_one(tmp_path, row):
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    await fill(one, row)
    await fill(two, row)
    before = verify(two)

    with pytest.raises(ProblemRaised) as occupied:
        copy_store(one, two)
    with forged_store(one) as db:
        db.execute("UPDATE rows SET turn = 9 WHERE id = 3")
    with pytest.raises(ProblemRaised) as broken:
        copy_store(one, tmp_path / "three.db")

    assert occupied.value.problem.code == "conflict"
    assert broken.value.problem.code == "store_unavailable"
    assert verify(two) == before
    assert not (tmp_path / "three.db").exists()


async def test_a_copy_that_does_not_match_is_not_kept(tmp_path, row, monkeypatch):
    one, two = tmp_path / "one.db", tmp_path / "two.db"
    await fill(one, row)
    tables = dict(copying._TABLES)
    del tables["payloads"]
    monkeypatch.setattr(copying, "_TABLES", tables)

    with pytest.raises(ProblemRaised, match="does not match its source"):
        copy_store(one, two)

    assert verify(two).rows == 0


def test_a_copy_in_memory_is_refused(tmp_path):
    with pytest.raises(ProblemRaised) as raised:
        copy_store(tmp_path / "store.db", ":memory:")

    assert raised.value.problem.code == "invalid_arguments"


def test_every_table_of_the_record_is_copied(tmp_path):
    open_store(tmp_path / "a.db")._finalizer()
    found = query(
        tmp_path / "a.db",
        "SELECT name FROM sqlite_master WHERE type = 'table' AND name != 'sqlite_sequence'",
    )

    assert {name for (name,) in found} == {*copying._TABLES, "chain_end"}
    for table, (_, columns) in copying._TABLES.items():
        known = query(tmp_path / "a.db", f"SELECT name FROM pragma_table_info('{table}')")
        assert {name for (name,) in known} == set(columns.replace(" ", "").split(","))
