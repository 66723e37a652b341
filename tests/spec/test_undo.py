"""Always a way back: undo, redo, and what a crash leaves behind."""

import errno
import os
import stat
import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.support import internals

import handrail
import handrail.sync
from handrail.store.chain.verify import verify

LARGE = b"0123456789abcdef" * 10_000


@pytest.mark.feature("T01")
async def test_a_call_is_undone_and_redone_byte_exactly(workspace, open_runtime):
    target = workspace.write("a.txt", b"\xff\xfeold\r\n")
    target.chmod(0o640)
    workspace.write("large.bin", LARGE)

    async with open_runtime(allow_delete=True) as rt:
        await rt.call("write_file", {"path": "a.txt", "content": "new"}, id="w")
        await rt.call("delete_file", {"path": "large.bin"}, id="d")
        await rt.call("write_file", {"path": "fresh/b.txt", "content": "b"}, id="c")
        after = workspace.tree()
        undone = [await rt.undo(call) for call in ("c", "d", "w")]
        before = workspace.tree()
        redone = [await rt.redo(call) for call in ("w", "d", "c")]

    assert [one.ok for one in undone] == [True] * 3, [one.text for one in undone]
    assert before == {"a.txt": b"\xff\xfeold\r\n", "large.bin": LARGE}
    assert stat.S_IMODE(target.stat().st_mode) == 0o640
    assert [one.ok for one in redone] == [True] * 3, [one.text for one in redone]
    assert workspace.tree() == after


async def test_without_a_name_the_last_change_that_stands_is_taken_back(workspace, open_runtime):
    workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        for number in (1, 2, 3):
            edit = {"path": "a.txt", "old_string": str(number - 1), "new_string": str(number)}
            await rt.call("edit_file", edit)
        seen = []
        for step in (rt.undo, rt.undo, rt.redo, rt.undo, rt.undo):
            assert (await step()).ok
            seen.append(workspace.read("a.txt"))
        nothing = await rt.undo()

    assert seen == [b"2\n", b"1\n", b"2\n", b"1\n", b"0\n"]
    assert nothing.problem.code == "not_found"


async def test_an_undo_never_overwrites_somebody_elses_work(workspace, open_runtime):
    workspace.write("a.txt", "old\n")
    workspace.write("b.txt", "old\n")

    async with open_runtime() as rt:
        for name in ("a.txt", "b.txt"):
            edit = {"path": name, "old_string": "old", "new_string": "new"}
            await rt.call("edit_file", edit, id=name)
        workspace.write("a.txt", "mine\n")
        refused = await rt.undo("a.txt")
        fine = await rt.undo("b.txt")
        twice = await rt.undo("b.txt")
        unknown = await rt.undo("nowhere")

    assert refused.problem.code == "conflict"
    assert "'a.txt'" in refused.text
    assert fine.ok
    assert twice.problem.code == "already_applied"
    assert unknown.problem.code == "not_found"
    assert workspace.tree() == {"a.txt": b"mine\n", "b.txt": b"old\n"}


async def test_a_model_takes_back_only_calls_of_its_own_session_and_is_asked(workspace, tmp_path):
    workspace.write("a.txt", "old\n")
    store = tmp_path / "store.db"
    edit = {"path": "a.txt", "old_string": "old", "new_string": "new"}

    async with handrail.open(workspace.root, store=store, mode="accept-edits") as one:
        await one.call("edit_file", edit, id="e1")
    async with handrail.open(workspace.root, store=store, mode="accept-edits") as two:
        foreign = await two.call("undo", {"target": "e1"})
        mine = await two.undo("e1")
    async with handrail.open(workspace.root, store=store) as three:
        await three.redo()
        asked = await three.call("undo", {})

    assert foreign.problem.code == "not_found"
    assert mine.ok
    assert not asked.ok
    assert verify(store).broken is None


async def test_an_undo_shows_its_diff_and_is_on_record_as_the_persons(workspace, open_runtime):
    workspace.write("a.txt", "old\n")

    async with open_runtime(mode="plan") as rt:
        pass
    async with open_runtime() as rt:
        await rt.call("edit_file", {"path": "a.txt", "old_string": "old", "new_string": "new"})
        result = await rt.undo()
        record = (await rt.store.calls(limit=1))[0]

    assert "-new\n+old\n" in result.display
    assert record.requested["agent"] == "person"
    assert record.completed["cleared"] == ["allow", "person"]


CONTENT = st.binary(max_size=300)


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(
    old=st.one_of(st.none(), CONTENT),
    new=st.text(max_size=300),
    mode=st.sampled_from([0o600, 0o755]),
)
def test_apply_then_undo_restores_bytes_mode_and_name(tmp_path, old, new, mode):
    import shutil

    root = tmp_path / "w"
    shutil.rmtree(root, ignore_errors=True)
    root.mkdir()
    target = root / "f"
    if old is not None:
        target.write_bytes(old)
        target.chmod(mode)

    with handrail.sync.open(root, store=":memory:", mode="accept-edits") as rt:
        wrote = rt.call("write_file", {"path": "f", "content": new})
        after = target.read_bytes() if target.exists() else None
        if wrote.changes:
            assert rt.undo().ok
            assert (target.read_bytes() if target.exists() else None) == old
            assert old is None or stat.S_IMODE(target.stat().st_mode) == mode
            assert rt.redo().ok
        assert (target.read_bytes() if target.exists() else None) == after
        assert os.listdir(root) == (["f"] if after is not None else [])


PATCH = "\n".join(
    [
        "*** Begin Patch",
        *(line for n in "abcde" for line in (f"*** Update File: {n}.txt", "-old", "+new")),
        "*** End Patch",
    ]
)


@pytest.mark.parametrize("call", ["writev", "fsync"])
@pytest.mark.parametrize("number", range(1, 6))
async def test_a_disk_that_is_full_in_the_middle_of_a_patch_changes_nothing(
    workspace, open_runtime, monkeypatch, call, number
):
    for name in "abcde":
        workspace.write(f"{name}.txt", "old\n")
    before, real, seen = workspace.tree(), getattr(os, call), []

    def full(*args):
        seen.append(args)
        if len(seen) == number:
            raise OSError(errno.ENOSPC, "no space left on device")
        return real(*args)

    async with open_runtime() as rt:
        monkeypatch.setattr(os, call, full)
        refused = await rt.call("apply_patch", {"patch": PATCH})
        monkeypatch.undo()
        after = workspace.tree()
        worked = await rt.call("apply_patch", {"patch": PATCH})
        undone = await rt.undo()

    assert not refused.ok
    assert refused.problem.code == "unavailable"
    assert after == before
    assert worked.ok
    assert undone.ok
    assert workspace.tree() == before


async def test_a_bad_hunk_in_one_of_five_files_changes_none(workspace, open_runtime):
    for name in "abcde":
        workspace.write(f"{name}.txt", "old\n")
    workspace.write("d.txt", "different\n")
    before = workspace.tree()

    async with open_runtime() as rt:
        refused = await rt.call("apply_patch", {"patch": PATCH})

    assert not refused.ok
    assert "d.txt" in refused.text
    assert workspace.tree() == before


async def test_a_change_whose_old_content_found_no_room_says_so(
    workspace, open_runtime, monkeypatch
):
    workspace.write("a.bin", LARGE)

    async with open_runtime() as rt:
        monkeypatch.setattr(internals.blobs(rt), "has_room", lambda size: False)
        result = await rt.call("write_file", {"path": "a.bin", "content": "x"})
        undone = await rt.undo()

    assert result.ok
    assert "cannot be undone" in result.text
    assert undone.problem.code == "not_found"
    assert workspace.read("a.bin") == b"x"


async def test_redo_walks_forward_through_all_that_was_undone(workspace, open_runtime):
    workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        for number in (1, 2, 3):
            await rt.call("write_file", {"path": "a.txt", "content": f"{number}\n"})
        seen = []
        for step in (rt.undo, rt.undo, rt.undo, rt.redo, rt.redo, rt.redo):
            assert (await step()).ok
            seen.append(workspace.read("a.txt"))
        nothing = await rt.redo()
        again = await rt.undo()

    assert seen == [b"2\n", b"1\n", b"0\n", b"1\n", b"2\n", b"3\n"]
    assert nothing.problem.code == "not_found"
    assert again.ok
    assert workspace.read("a.txt") == b"2\n"


async def test_a_change_that_somebody_put_back_does_not_block_the_one_before(
    workspace, open_runtime
):
    workspace.write("f", "0")
    workspace.write("g", "0")

    async with open_runtime() as rt:
        for name in ("f", "g"):
            await rt.call("write_file", {"path": name, "content": "1"})
        workspace.write("g", "0")
        result = await rt.undo()

    assert result.ok
    assert workspace.tree() == {"f": b"0", "g": b"0"}


async def test_permissions_that_a_person_set_since_are_not_taken_back(workspace, open_runtime):
    target = workspace.write("a.sh", "old\n")
    target.chmod(0o644)

    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "a.sh", "content": "new\n"})
        target.chmod(0o700)
        result = await rt.undo()

    assert result.ok
    assert workspace.read("a.sh") == b"old\n"
    assert stat.S_IMODE(target.stat().st_mode) == 0o700


CRASH = """
import asyncio, os, sys
import handrail
from handrail.host.files import staged_change

async def main(root, store, calls, publishes):
    real, count = staged_change.StagedChange.publish, 0
    def publish(self):
        nonlocal count
        real(self)
        count += 1
        if count == int(publishes):
            os._exit(9)
    staged_change.StagedChange.publish = publish
    async with handrail.open(root, store=store, mode="accept-edits") as rt:
        for call in calls.split(","):
            if call == "undo":
                await rt.undo()
            elif call == "patch":
                await rt.call("apply_patch", {"patch": sys.argv[5]})

asyncio.run(main(*sys.argv[1:5]))
"""


def _crash(workspace, tmp_path, calls, publishes, patch):
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    done = subprocess.run(
        [sys.executable, "-P", script, workspace.root, tmp_path / "s.db", calls,
         str(publishes), patch],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=False,
    )  # fmt: skip
    return done.returncode


@pytest.mark.parametrize("size", [1, 40_000])
async def test_a_crash_during_recovery_is_recovered_from_too(workspace, tmp_path, size):
    for name in "abcde":
        workspace.write(f"{name}.txt", f"{name}\n" * size + "old\n")
    before = workspace.tree()

    assert _crash(workspace, tmp_path, "patch", 3, PATCH) == 9
    assert _crash(workspace, tmp_path, "", 1, PATCH) == 9
    async with handrail.open(workspace.root, store=tmp_path / "s.db") as rt:
        statuses = [one.status for one in rt.recovered]
        left = await rt.store.unfinished()

    assert workspace.tree() == before
    assert statuses == ["interrupted"]
    assert left == []


async def test_an_undo_that_a_crash_interrupted_keeps_its_meaning(workspace, tmp_path):
    for name in "abcde":
        workspace.write(f"{name}.txt", "old\n")
    before = workspace.tree()

    assert _crash(workspace, tmp_path, "patch,undo", 10, PATCH) == 9
    async with handrail.open(workspace.root, store=tmp_path / "s.db", mode="bypass") as rt:
        undone = workspace.tree()
        redone = await rt.redo()

    assert undone == before
    assert redone.ok
    assert workspace.read("a.txt") == b"new\n"


async def test_a_mode_change_does_not_survive_a_rollback(workspace, tmp_path):
    target = workspace.write("a.sh", "x\n")
    target.chmod(0o644)
    workspace.write("b.txt", "old\n")
    patch = (
        "diff --git a/a.sh b/a.sh\nold mode 100644\nnew mode 100755\n"
        "diff --git a/b.txt b/b.txt\n--- a/b.txt\n+++ b/b.txt\n@@ -1 +1 @@\n-old\n+new\n"
    )

    assert _crash(workspace, tmp_path, "patch", 1, patch) == 9
    async with handrail.open(workspace.root, store=tmp_path / "s.db"):
        pass

    assert stat.S_IMODE(target.stat().st_mode) == 0o644
    assert workspace.read("b.txt") == b"old\n"


async def test_what_is_passed_over_is_named(open_runtime, workspace):
    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "a.txt", "content": "one"}, id="first")
        await rt.call("write_file", {"path": "z.txt", "content": "two"}, id="second")
        (workspace.root / "z.txt").unlink()
        undone = await rt.undo()

    assert "undid write_file (first); write_file (second)" in undone.text
    assert workspace.tree() == {}
