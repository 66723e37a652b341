"""Payloads can go; the chain stays."""

import pytest
from tests.support.postgres import BOTH_ENGINES
from tests.support.stores import forged_store

from handrail.store.chain.verify import verify
from handrail.store.records.purge import count_payloads, purge_payloads
from handrail.store.sqlite.store import open_store


async def _filled(path, row, calls=40, size=8_000):
    store = open_store(path)
    await store.open_session("s", {})
    for number in range(calls):
        store.append(row(f"c{number}", secret=f"token-{number} " * (size // 10)))
        store.append(row(f"c{number}", "completed", text=f"answer-{number}"))
    store.append(row("open", secret="unfinished"))
    return store


async def test_old_payloads_are_dropped_and_the_chain_holds(path, row):
    store = await _filled(path, row)
    await store.aclose()
    size = path.stat().st_size

    purged = purge_payloads(path, before_ns=1_040)

    assert (purged.payloads, purged.erased) == (40, True)
    assert purged.before_bytes == size
    assert purged.after_bytes == path.stat().st_size < size * 0.72
    integrity = verify(path)
    assert (integrity.rows, integrity.broken, integrity.purged_payloads) == (81, None, 40)


@BOTH_ENGINES
@pytest.mark.parametrize("before_ns", [0, 1_040, 10_000])
async def test_what_would_be_dropped_is_counted_as_it_is_dropped(path, row, before_ns):
    store = await _filled(path, row)
    before = await store.sizes()

    count, size = await store._ask(lambda db: count_payloads(db, before_ns=before_ns))

    purged = purge_payloads(path, before_ns=before_ns)
    after = await store.sizes()
    assert (count, size) == (purged.payloads, before.payload_bytes - after.payload_bytes)
    await store.aclose()


async def test_a_secret_is_gone_from_all_files_after_its_call_is_purged(path, row):
    store = await _filled(path, row, calls=3)
    await store.flush()
    everything = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert b"token-1" in everything

    purged = purge_payloads(path, session="s", call_id="c1")

    everything = b"".join(file.read_bytes() for file in path.parent.iterdir())
    assert (purged.payloads, purged.erased) == (2, True)
    assert b"token-1" not in everything
    assert b"token-2" in everything
    [call] = await store.calls(call_id="c1")
    assert (call.requested, call.completed) == ({"purged": True}, {"purged": True})
    await store.commit(row("next"), "process")
    await store.aclose()
    assert verify(path).broken is None


@BOTH_ENGINES
async def test_a_call_without_completion_is_kept(path, row):
    store = await _filled(path, row, calls=1)
    await store.aclose()

    purge_payloads(path, session="s")

    store = open_store(path)
    [call] = await store.calls(call_id="open")
    assert call.requested == {"secret": "unfinished"}
    await store.aclose()


async def test_a_purge_must_say_what(path):
    with pytest.raises(ValueError, match="which payloads"):
        purge_payloads(path)
    assert not path.exists()


@pytest.mark.finding("F05")
@BOTH_ENGINES
@pytest.mark.parametrize(
    "taken", ["DELETE FROM payloads WHERE row = 3", "DELETE FROM payloads", None]
)
async def test_a_payload_may_be_missing_only_where_a_purge_is_on_record(path, row, taken):
    store = await _filled(path, row)
    await store.aclose()
    assert purge_payloads(path, call_id="c0").payloads == 2
    if taken is not None:
        with forged_store(path) as db:
            db.execute(taken)

    integrity = verify(path)

    if taken is None:
        assert (integrity.broken, integrity.purged_payloads) == (None, 2)
    else:
        assert "call c1): payload missing," in integrity.broken


@pytest.mark.finding("F05")
@BOTH_ENGINES
async def test_a_purge_is_in_the_chain_and_what_it_dropped_does_not_come_back(path, row):
    store = await _filled(path, row, calls=4)
    await store.aclose()
    with forged_store(path) as db:
        kept = db.execute("SELECT * FROM payloads WHERE row = 1").fetchone()
        before = verify(path).head
        purge_payloads(path, session="s")
        noted = verify(path).head
        assert purge_payloads(path, session="s").payloads == 0
        assert (verify(path, before).anchored, verify(path).head) == (True, noted)
        db.execute("INSERT INTO payloads VALUES (?, ?)", kept)

    assert verify(path).broken.endswith("and is there again")


@pytest.mark.finding("F05")
@BOTH_ENGINES
async def test_a_purge_beside_a_store_that_is_open_is_no_tampering(path, row):
    store = await _filled(path, row)
    await store.flush()

    purge_payloads(path, before_ns=1_040)
    store.append(row("later"))
    await store.aclose()

    assert (verify(path).broken, verify(path).purged_payloads) == (None, 40)
