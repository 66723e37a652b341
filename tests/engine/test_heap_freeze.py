"""Long batches keep old objects out of garbage collections, and leave the collector as it was."""

import gc

import pytest

import handrail
from handrail.engine.batch.pacing import HeapFreeze

pytestmark = [pytest.mark.finding("F70"), pytest.mark.usefixtures("nothing_frozen")]


def test_objects_are_frozen_while_any_long_batch_runs():
    with HeapFreeze(5_000) as outer:
        before = gc.get_freeze_count()
        with HeapFreeze(5_000):
            assert gc.get_freeze_count() >= before > 0
        made = [[] for _ in range(100)]
        assert gc.get_freeze_count() > 0
        outer.extend()
        assert gc.get_freeze_count() >= before + len(made)

    assert gc.get_freeze_count() == 0


def test_a_short_batch_freezes_nothing():
    with HeapFreeze(10) as heap:
        heap.extend()
        assert gc.get_freeze_count() == 0


def test_what_the_program_has_frozen_stays_frozen():
    gc.freeze()
    frozen = gc.get_freeze_count()
    with HeapFreeze(5_000):
        pass

    assert 0 < gc.get_freeze_count() <= frozen


async def test_a_batch_leaves_nothing_frozen(tmp_path):
    (tmp_path / "a.txt").write_text("text\n")
    calls = [{"name": "read_file", "arguments": {"path": "a.txt"}}] * 600
    async with handrail.open(tmp_path, store=":memory:", config={"loop_guard": "off"}) as rt:
        results = await rt.batch(calls)

    assert len(results) == 600
    assert gc.get_freeze_count() == 0
