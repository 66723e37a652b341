"""A disk that fails at every call there is: old or new content, nothing half done, nothing left."""

import errno
import logging
import shutil

import pytest

import handrail
from handrail import Status
from handrail.host.files import directory
from handrail.testing import SHORT, each_call

# Too large for the intent row: its old content goes to a file of its own.
LARGE = "x" * 70_000 + "\n"
NOTEBOOK = (
    '{"cells":[{"cell_type":"code","execution_count":null,"id":"a","metadata":{},"outputs":[],'
    '"source":["1"]}],"metadata":{},"nbformat":4,"nbformat_minor":5}'
)
START = {"a.txt": "one\ntwo\n", "d/b.txt": "bee\n", "large.txt": LARGE, "n.ipynb": NOTEBOOK}
PATCH = f"""*** Begin Patch
*** Update File: a.txt
@@
-one
+uno
*** Add File: new/deep/c.txt
+sea
*** Update File: large.txt
@@
-{LARGE.rstrip()}
+small
*** Delete File: d/b.txt
*** End Patch
"""
CALLS = {
    "create": ("write_file", {"path": "x/y/new.txt", "content": "hello\n"}),
    "overwrite": ("write_file", {"path": "large.txt", "content": "over\n"}),
    "append": ("write_file", {"path": "a.txt", "content": "more\n", "mode": "append"}),
    "edit": ("edit_file", {"path": "a.txt", "old_string": "one", "new_string": "uno"}),
    "patch": ("apply_patch", {"patch": PATCH}),
    "delete": ("delete_file", {"path": "large.txt"}),
    "notebook": ("notebook_edit", {"path": "n.ipynb", "cell": "a", "new_source": "2"}),
    "undo": None,
}
SETTINGS = {"loop_guard": "off", "freshness": "off", "commands": False}
WORDS = {
    errno.ENOSPC: ("disk", "No space left"),
    errno.EDQUOT: ("disk", "Disk quota"),
    errno.EIO: ("disk", "Input/output error"),
}


def tree(root):
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else None
        for path in sorted(root.rglob("*"))
    }


class Bench:
    """One workspace, laid anew for every fault; runtimes on it that follow each other."""

    def __init__(self, top, call):
        self.root, self.store, self._call = top / "work", top / "state" / "store.db", call
        self.root.mkdir()
        self.store.parent.mkdir()
        self.runtime = None

    async def open(self):
        await self.close()
        self.runtime = await handrail.open(
            self.root, store=self.store, mode="accept-edits", allow_delete=True, config=SETTINGS
        )

    async def close(self):
        if self.runtime is not None:
            await self.runtime.aclose()
        self.runtime = None

    async def lay(self):
        """The files as they are at the start; returns what is to be done to them."""
        for path in self.root.iterdir():
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        for name, text in START.items():
            (self.root / name).parent.mkdir(exist_ok=True)
            (self.root / name).write_text(text)
        # From what a broken disk left of the last one, nobody shall start.
        shutil.rmtree(self.store.with_name("store.db.d") / "blobs", ignore_errors=True)
        if self._call is None:
            patched = (await self.runtime.call("apply_patch", {"patch": PATCH})).unwrap()
            return lambda: self.runtime.undo(patched.call_id)
        return lambda: self.runtime.call(*self._call)

    async def recorded(self, call_id):
        (record,) = await self.runtime.store.calls(call_id=call_id)
        return record.completed and record.completed["status"]


async def fail_everywhere(top, call, failure, *, lasting=False):
    """How often the disk failed, and how the calls ended."""
    bench, ends = Bench(top, call), set()
    await bench.open()
    do = await bench.lay()
    before = tree(bench.root)
    (await do()).unwrap()
    after = tree(bench.root)
    assert before != after
    beneath = [bench.root, bench.store.with_name("store.db.d")]
    for fault in each_call(beneath, failure, lasting=lasting):
        do = await bench.lay()
        with fault:
            result = await do()
        ends.add(result.status)
        wanted = after if result.ok else before
        if tree(bench.root) != wanted:
            await bench.open()
            wanted = after if await bench.recorded(result.call_id) == "ok" else before
        assert tree(bench.root) == wanted, (fault, result.text)
        told = await bench.recorded(result.call_id)
        if result.status is Status.UNKNOWN:
            assert told in ("ok", "interrupted"), (fault, told)
        else:
            assert told == result.status, (fault, told)
        if not result.ok:
            assert result.problem.code == "unavailable", (fault, result.text)
            assert any(word in result.text for word in WORDS[failure]), (fault, result.text)
    assert await bench.runtime.store.unfinished() == []
    await bench.close()
    return fault.call - 1, ends


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL + 1)


@pytest.mark.parametrize("failure", [errno.ENOSPC, errno.EIO], ids=["full", "broken"])
@pytest.mark.parametrize("name", CALLS)
async def test_a_disk_that_fails_once_leaves_old_or_new_and_nothing_else(tmp_path, name, failure):
    number, ends = await fail_everywhere(tmp_path, CALLS[name], failure)

    assert number >= 4
    assert {Status.OK, Status.FAILED} <= ends


@pytest.mark.parametrize("name", CALLS)
async def test_a_disk_that_stays_full_leaves_what_the_next_opening_makes_whole(tmp_path, name):
    number, ends = await fail_everywhere(tmp_path, CALLS[name], errno.ENOSPC, lasting=True)

    assert number >= 4
    assert Status.UNKNOWN in ends or name == "create"


async def test_a_quota_that_is_used_up_is_told_like_a_full_disk(tmp_path):
    number, _ = await fail_everywhere(tmp_path, CALLS["patch"], errno.EDQUOT)

    assert number >= 4


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("name", [name for name in CALLS if name != "delete"])
async def test_writes_that_come_in_pieces_arrive_whole(tmp_path, name, lasting):
    number, ends = await fail_everywhere(tmp_path, CALLS[name], SHORT, lasting=lasting)

    assert number >= 1
    assert ends == {Status.OK}


def _no_exchange(monkeypatch):
    monkeypatch.setattr(directory, "_renameat2", lambda *arguments: False)


def _no_unnamed_files(monkeypatch):
    # Opening a directory to write is refused by every file system.
    monkeypatch.setattr(directory, "_UNNAMED", directory._CREATE | directory.os.O_DIRECTORY)


@pytest.mark.parametrize("lasting", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("lacks", [_no_exchange, _no_unnamed_files], ids=lambda one: one.__name__)
async def test_it_holds_on_file_systems_that_can_do_less(tmp_path, monkeypatch, lacks, lasting):
    lacks(monkeypatch)

    number, _ = await fail_everywhere(tmp_path, CALLS["patch"], errno.ENOSPC, lasting=lasting)

    assert number >= 4


@pytest.mark.torture
@pytest.mark.parametrize("failure", [errno.EDQUOT, errno.EIO], ids=["quota", "broken"])
@pytest.mark.parametrize("name", CALLS)
async def test_a_disk_that_stays_broken_leaves_what_the_next_opening_makes_whole(
    tmp_path, name, failure
):
    await fail_everywhere(tmp_path, CALLS[name], failure, lasting=True)


@pytest.mark.torture
@pytest.mark.parametrize("lacks", [_no_exchange, _no_unnamed_files], ids=lambda one: one.__name__)
@pytest.mark.parametrize("name", CALLS)
async def test_every_call_holds_on_file_systems_that_can_do_less(
    tmp_path, monkeypatch, name, lacks
):
    lacks(monkeypatch)

    for failure in (errno.ENOSPC, errno.EIO):
        for lasting in (False, True):
            place = tmp_path / f"{failure}{lasting}"
            place.mkdir()
            await fail_everywhere(place, CALLS[name], failure, lasting=lasting)


async def test_what_a_disk_kept_from_being_removed_goes_on_the_next_opening(tmp_path):
    bench = Bench(tmp_path, CALLS["edit"])
    await bench.open()
    left = None
    for fault in each_call(bench.root, errno.EIO):
        do = await bench.lay()
        with fault:
            result = await do()
        left = [path for path in tree(bench.root) if ".handrail-" in path]
        if left:
            break
    assert result.ok, fault

    await bench.open()

    assert tree(bench.root).keys() == {*START, "d"}
    assert await bench.runtime.store.load_state("") is not None
    await bench.close()
