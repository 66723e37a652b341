"""A change that is cancelled when it has just been told to go on: what happened is what is told."""

import asyncio
import errno

import anyio
import pytest
from tests.support import internals

import handrail
from handrail.core.problems import ProblemRaised
from handrail.host.files.staged_change import StagedChange
from handrail.store.sqlite.store import RecordStore


@pytest.fixture
def cancelled_once_announced(monkeypatch):
    """Ends every running call between the moment at which the thread that writes is told that
    the next intent is on disk, and that at which the loop is.
    """
    real = RecordStore.commit

    def install(rt):
        async def commit(store, row, durability, at_once=None):
            if row.kind != "intent":
                return await real(store, row, durability, at_once)
            monkeypatch.setattr(RecordStore, "commit", real)
            loop = asyncio.get_running_loop()

            def once():
                at_once()
                for timer in internals.running_calls(rt):
                    loop.call_soon_threadsafe(timer.end)

            return await real(store, row, durability, once)

        monkeypatch.setattr(RecordStore, "commit", commit)

    return install


async def test_what_was_written_is_told(workspace, open_runtime, cancelled_once_announced):
    workspace.write("a.txt", "old\n")
    async with open_runtime() as rt:
        cancelled_once_announced(rt)
        with anyio.fail_after(10):
            result = await rt.call("write_file", {"path": "a.txt", "content": "new\n"})

    assert workspace.read("a.txt") == b"new\n"
    assert result.status is handrail.Status.INTERRUPTED
    assert [one.path for one in result.changes] == ["a.txt"]
    assert "its changes had happened already" in result.text


async def test_what_was_written_is_known_to_the_agent(
    workspace, open_runtime, cancelled_once_announced
):
    workspace.write("a.txt", "old\n")
    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        cancelled_once_announced(rt)
        result = await rt.call("write_file", {"path": "a.txt", "content": "new\n"})
        edit = {"path": "a.txt", "old_string": "new", "new_string": "newer"}
        edited = await rt.call("edit_file", edit)

    assert result.status is handrail.Status.INTERRUPTED
    assert edited.ok, edited.text
    assert workspace.read("a.txt") == b"newer\n"


@pytest.mark.needs_sandbox
async def test_what_was_written_is_not_attributed_to_a_job(
    workspace, open_runtime, cancelled_once_announced
):
    async with open_runtime(mode="sandboxed", approver=lambda request: True) as rt:
        await rt.call("run_command", {"command": "sleep 309", "background": True})
        cancelled_once_announced(rt)
        result = await rt.call("write_file", {"path": ".envrc", "content": "new\n"})
        command = await rt.call("run_command", {"command": "touch b.txt"})

    assert result.status is handrail.Status.INTERRUPTED
    assert "background job" not in command.text
    assert workspace.read(".envrc") == b"new\n"


async def test_what_is_torn_is_told(workspace, open_runtime, cancelled_once_announced, monkeypatch):
    workspace.write("a.txt", "old\n")

    def sync(staged):
        raise OSError(errno.EIO, "Input/output error")

    def revert(staged):
        raise ProblemRaised("unavailable", "the disk failed")

    async with open_runtime() as rt:
        cancelled_once_announced(rt)
        monkeypatch.setattr(StagedChange, "_sync", sync)
        monkeypatch.setattr(StagedChange, "revert", revert)
        with anyio.fail_after(10):
            result = await rt.call("write_file", {"path": "a.txt", "content": "new\n"}, id="w")
        monkeypatch.undo()
        [record] = await rt.store.calls(call_id="w")

    assert result.status is handrail.Status.UNKNOWN
    assert "nor reverted" in result.text
    assert record.completed is None


async def test_a_call_that_waits_for_another_does_not_wait_longer_than_it_may(open_runtime):
    started, over = asyncio.Event(), asyncio.Event()

    @handrail.tool
    async def holds() -> str:
        """May touch anything."""
        started.set()
        await over.wait()
        return "held"

    @handrail.tool(timeout_s=0.2)
    async def waits() -> str:
        """May touch anything."""
        return "ran"

    async with open_runtime(mode="bypass") as rt:
        rt.register(holds)
        rt.register(waits)
        with anyio.fail_after(10):
            holding = asyncio.create_task(rt.call("holds"))
            await started.wait()
            result = await rt.call("waits")
            over.set()
            await holding

    assert result.problem.code == "timeout"
