"""A disk that fails while links, folders and permissions are taken back: all of it or nothing."""

import errno
import logging

import pytest
from tests.support.entries import COMMAND, lay, tree

import handrail
from handrail.host.files import directory
from handrail.testing import each_call


class Bench:
    """A workspace in which one command has run, and runtimes on it that follow each other."""

    def __init__(self, top):
        self.root, self.store = top / "work", top / "state" / "store.db"
        self.root.mkdir(parents=True)
        self.store.parent.mkdir()
        self.runtime = None

    async def open(self):
        await self.close()
        self.runtime = await handrail.open(
            self.root, store=self.store, mode="sandboxed", approver=lambda request: True
        )

    async def close(self):
        if self.runtime is not None:
            await self.runtime.aclose()
        self.runtime = None


async def fail_everywhere(top, failure, *, lasting):
    """How often the disk failed while the command was undone."""
    bench = Bench(top)
    lay(bench.root)
    before = tree(bench.root)
    await bench.open()
    ran = (await bench.runtime.call("run_command", {"command": COMMAND}, id="run")).unwrap()
    after = tree(bench.root)
    assert (ran.meta["undo"], before == after) == ("full", False)
    for fault in each_call(bench.root, failure, lasting=lasting):
        with fault:
            undone = await bench.runtime.undo("run")
        if tree(bench.root) != (before if undone.ok else after):
            await bench.open()
        found = tree(bench.root)
        assert found in (before, after), (fault, undone.text, found)
        assert undone.ok or undone.problem.code in ("unavailable", "stale"), (fault, undone.text)
        if found == before:
            redone = await bench.runtime.redo("run")
            assert redone.ok, (fault, redone.text)
            assert tree(bench.root) == after, fault
    assert await bench.runtime.store.unfinished() == []
    await bench.close()
    return fault.call - 1


@pytest.fixture(autouse=True)
def _quiet(caplog):
    caplog.set_level(logging.CRITICAL + 1)


BROKEN = pytest.param(errno.EIO, id="broken", marks=pytest.mark.torture)


@pytest.mark.needs_sandbox
@pytest.mark.parametrize("failure", [pytest.param(errno.ENOSPC, id="full"), BROKEN])
async def test_a_disk_that_fails_once_leaves_all_as_it_was_or_all_taken_back(tmp_path, failure):
    assert await fail_everywhere(tmp_path, failure, lasting=False) > 20


@pytest.mark.needs_sandbox
async def test_a_disk_that_stays_full_leaves_what_the_next_opening_makes_whole(tmp_path):
    assert await fail_everywhere(tmp_path, errno.ENOSPC, lasting=True) > 20


@pytest.mark.needs_sandbox
@pytest.mark.torture
@pytest.mark.parametrize("lasting", [False, True], ids=["once", "always"])
@pytest.mark.parametrize("failure", [errno.EDQUOT, errno.EIO], ids=["quota", "broken"])
async def test_it_holds_on_file_systems_without_an_exchange(
    tmp_path, monkeypatch, failure, lasting
):
    monkeypatch.setattr(directory, "_renameat2", lambda *arguments: False)

    assert await fail_everywhere(tmp_path, failure, lasting=lasting) > 20
