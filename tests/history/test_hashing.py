"""Large contents are hashed once, beside other work, and never hold up a change for ever."""

import asyncio
import hashlib
import threading
from pathlib import Path

import anyio
import pytest
from tests.support.waiting import join_threads

import handrail
from handrail.core.plan import Change, Plan
from handrail.core.text.content import Content
from handrail.history.before_images import hash_ahead
from handrail.host.files.local_files import LocalFiles
from handrail.host.state.blobs import MemoryBlobs

LARGE = 300_000


@pytest.fixture
def place(tmp_path):
    local = LocalFiles([tmp_path])
    yield local.locate("a.txt")
    local.close()


def test_threads_that_ask_at_once_get_the_same_hash():
    content = Content(b"x" * 5_000_000, b"y")
    together = threading.Barrier(4)
    found = []

    def ask():
        together.wait(30)
        found.append(content.digest)

    threads = [threading.Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        join_threads(thread)

    assert found == [hashlib.sha256(b"x" * 5_000_000 + b"y").hexdigest()] * 4


async def test_large_contents_of_few_changes_are_hashed_ahead(place):
    change = Change(place, Content(b"a" * LARGE), Content(b"b" * LARGE))

    hashing = hash_ahead(Plan((change,), "done"), MemoryBlobs())
    await asyncio.wait(hashing)

    assert len(hashing) == 2
    assert (change.before.hashed, change.after.hashed) == (True, True)
    assert hash_ahead(Plan((change,), "done"), MemoryBlobs()) == []


@pytest.mark.parametrize(("size", "count"), [(1_000, 1), (LARGE, 3)])
async def test_small_contents_and_many_changes_are_not(place, size, count):
    changes = [Change(place, None, Content(b"a" * size)) for _ in range(count)]

    assert hash_ahead(Plan(tuple(changes), "done"), MemoryBlobs()) == []
    assert not any(one.after.hashed for one in changes)


async def test_many_large_edits_at_once_are_all_made_and_can_all_be_undone(tmp_path):
    root = tmp_path / "work"
    root.mkdir()
    files = [root / f"{number}.txt" for number in range(24)]
    for file in files:
        file.write_text("old word\n" + "line\n" * 80_000)
    words = {"old_string": "old word", "new_string": "new word"}
    edits = [{"name": "edit_file", "arguments": {"path": one.name, **words}} for one in files]

    store = tmp_path / "store.db"
    async with handrail.open(root, store=store, mode="accept-edits") as rt:
        with anyio.fail_after(60):
            made = await rt.batch(edits)
        edited = {_first_line(file) for file in files}
        undone = await rt.call("undo", {"scope": "turn"})

    assert [one.ok for one in made] == [True] * len(files)
    assert edited == {"new word"}
    assert undone.ok
    assert {_first_line(file) for file in files} == {"old word"}


def _first_line(path: Path) -> str:
    with path.open() as file:
        return file.readline().strip()
