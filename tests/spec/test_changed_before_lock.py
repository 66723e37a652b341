"""Files that change after a call was allowed and before it holds its locks: the plan that is made
again is judged and locked like the first, and may use what was granted for the first.
"""

import asyncio
from pathlib import Path

import anyio
import pytest

import handrail
from handrail.tools.files.edit_file import EditFile

EDIT = {"path": "a.txt", "old_string": "one", "new_string": "1"}
LINES = "one\ntwo\nthree\n"


class Lock:
    """The lock of a file, held by a running call until `release`."""

    def __init__(self, rt, path):
        self._rt, self._path = rt, path
        self._held, self._over = asyncio.Event(), asyncio.Event()

    async def __aenter__(self):
        @handrail.tool(name=f"hold_{Path(self._path).stem}")
        async def hold(path: handrail.WritePath) -> str:
            """Holds the lock of a file."""
            self._held.set()
            await self._over.wait()
            return "held"

        self._rt.register(hold)
        call = self._rt.call(hold.name, {"path": self._path}, agent="other")
        self._call = asyncio.create_task(call)
        with anyio.fail_after(10):
            await self._held.wait()
        return self

    async def release(self):
        self._over.set()
        assert (await self._call).ok

    async def __aexit__(self, *_):
        await self.release()


async def edit_after_change(rt, change):
    """Edit a.txt; `change` is called once the edit is allowed and waits for the lock of a.txt."""
    async with Lock(rt, "a.txt") as lock:
        asked = asyncio.create_task(rt.call("edit_file", EDIT, id="e"))
        await pause()
        assert not asked.done()
        change()
        await lock.release()
        with anyio.fail_after(10):
            return await asked


async def pause():
    """Let running calls go on until they wait for a lock."""
    for _ in range(100):
        await anyio.sleep(0.001)


async def completed(rt, call_id):
    (record,) = await rt.store.calls(call_id=call_id)
    return record.completed


@pytest.fixture
def linked(workspace):
    """Makes a.txt a link to c.txt."""
    workspace.write("a.txt", LINES)
    workspace.write("c.txt", LINES)

    def link():
        (workspace.root / "a.txt").unlink()
        (workspace.root / "a.txt").symlink_to("c.txt")

    return link


async def test_the_file_to_which_a_new_link_leads_is_locked(workspace, open_runtime, linked):
    async with open_runtime(mode="bypass") as rt, Lock(rt, "c.txt") as lock:
        edit = asyncio.create_task(edit_after_change(rt, linked))
        await pause()
        await pause()
        await pause()
        meanwhile = workspace.read("c.txt")
        await lock.release()
        result = await edit

    assert meanwhile == LINES.encode()
    assert result.ok, result.text
    assert workspace.read("c.txt") == b"1\ntwo\nthree\n"


async def test_the_file_to_which_a_new_link_leads_may_be_denied(workspace, open_runtime, linked):
    config = {"permissions": {"deny": ["edit_file(c.txt)"]}}
    async with open_runtime(mode="bypass", config=config) as rt:
        result = await edit_after_change(rt, linked)

    assert result.problem.code == "denied"
    assert workspace.read("c.txt") == LINES.encode()


async def test_an_approved_call_waits_for_its_lock_no_longer_than_its_tool_may_take(
    workspace, open_runtime, monkeypatch
):
    workspace.write("a.txt", LINES)
    monkeypatch.setattr(EditFile, "timeout_s", 0.05)
    config = {"permissions": {"allow": ["hold_a(**)"]}}
    opened = open_runtime(mode="default", config=config, approver=lambda _: True)
    async with opened as rt, Lock(rt, "a.txt"):
        result = await asyncio.wait_for(rt.call("edit_file", EDIT), 10)

    assert result.problem.code == "timeout"
    assert workspace.read("a.txt") == LINES.encode()


async def test_the_record_names_the_rule_that_allowed_what_was_written(open_runtime, linked):
    config = {"permissions": {"allow": ["edit_file(a.txt)", "edit_file(c.txt)", "hold_a(**)"]}}
    async with open_runtime(mode="default", config=config) as rt:
        result = await edit_after_change(rt, linked)
        record = await completed(rt, "e")

    assert result.ok, result.text
    assert record["cleared"] == ["allow", "rule:user:allow edit_file(c.txt)"]


async def test_a_grant_for_one_call_is_good_for_a_plan_that_is_made_again(workspace, open_runtime):
    workspace.write("a.txt", LINES)
    config = {"permissions": {"allow": ["hold_a(**)"]}}
    async with open_runtime(mode="default", config=config) as rt:
        rt.grants.grant("edit_file", "a.txt", scope="once")
        result = await edit_after_change(rt, lambda: workspace.write("a.txt", f"{LINES}four\n"))
        again = await rt.call("edit_file", {**EDIT, "old_string": "two"})

    assert result.ok, result.text
    assert workspace.read("a.txt") == b"1\ntwo\nthree\nfour\n"
    assert again.problem.code == "needs_approval"


async def test_a_grant_for_one_call_outlives_a_call_that_wrote_nothing(workspace, open_runtime):
    workspace.write("a.txt", LINES)
    config = {"permissions": {"allow": ["hold_a(**)"]}}
    async with open_runtime(mode="default", config=config) as rt:
        rt.grants.grant("edit_file", "a.txt", scope="once")
        failed = await edit_after_change(rt, lambda: workspace.write("a.txt", "other\n"))
        workspace.write("a.txt", LINES)
        result = await rt.call("edit_file", EDIT)
        again = await rt.call("edit_file", {**EDIT, "old_string": "two"})

    assert failed.problem.code == "no_match"
    assert result.ok, result.text
    assert again.problem.code == "needs_approval"


@pytest.mark.parametrize("revoked", [False, True])
async def test_a_grant_for_one_call_is_good_for_one_of_two(workspace, open_runtime, revoked):
    workspace.write("a.txt", LINES)
    config = {"permissions": {"allow": ["hold_a(**)"]}}
    async with open_runtime(mode="default", config=config) as rt:
        rt.grants.grant("edit_file", "a.txt", scope="once")
        other = {}

        def change():
            workspace.write("a.txt", f"{LINES}four\n")
            other["call"] = asyncio.create_task(rt.call("edit_file", EDIT))
            if revoked:
                assert rt.grants.revoke("edit_file(a.txt)")

        first = await edit_after_change(rt, change)
        second = await other["call"]

    assert second.problem.code == "needs_approval"
    assert first.ok is not revoked


@pytest.mark.parametrize("effect", ["deny", "ask"])
async def test_an_approval_of_the_same_change_is_no_answer_to_another_rule(
    workspace, open_runtime, effect
):
    """The file is as it was when its plan is made again; a rule concerns the way to it now."""
    workspace.write("real/a.txt", LINES)
    (workspace.root / "link").symlink_to("real")
    asked = []

    class OwnEdit(EditFile):
        name = "own_edit"

        async def plan(self, args, ctx):
            workspace.write("real/a.txt", LINES)
            return await super().plan(args, ctx)

    def approver(request):
        asked.append(request.reason)
        if len(asked) > 1:
            return False
        workspace.write("real/a.txt", "changed\n")
        (workspace.root / "locked").symlink_to("real")
        (workspace.root / "link").unlink()
        (workspace.root / "link").symlink_to("locked")
        return True

    config = {"permissions": {effect: ["edit_file(locked/**)"]}}
    async with open_runtime(mode="default", config=config, approver=approver) as rt:
        rt.register(OwnEdit(rt.files))
        result = await rt.call("own_edit", {**EDIT, "path": "link/a.txt"})

    assert result.problem.code == "denied"
    assert len(asked) == (2 if effect == "ask" else 1)
    assert workspace.read("real/a.txt") == LINES.encode()


async def test_an_approval_of_the_same_change_is_an_answer_to_the_same_rule(
    workspace, open_runtime
):
    workspace.write("a.txt", LINES)
    asked = []

    class OwnEdit(EditFile):
        name = "own_edit"

        async def plan(self, args, ctx):
            workspace.write("a.txt", LINES)
            return await super().plan(args, ctx)

    def approver(request):
        asked.append(request)
        workspace.write("a.txt", "changed\n")
        return True

    async with open_runtime(mode="default", approver=approver) as rt:
        rt.register(OwnEdit(rt.files))
        result = await rt.call("own_edit", EDIT, id="e")
        record = await completed(rt, "e")

    assert result.ok, result.text
    assert len(asked) == 1
    assert record["cleared"] == ["ask", "mode:default"]
