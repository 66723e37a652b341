"""Directories that a creation made go when it is taken back, unless somebody uses them."""

import os
import subprocess
import sys

import pytest

import handrail

PATCH = (
    "*** Begin Patch\n*** Add File: new/deep/a.txt\n+a\n*** Add File: new/deep/b.txt\n+b\n"
    "*** Add File: new/c.txt\n+c\n*** End Patch"
)


def folders(workspace) -> set[str]:
    return {
        str(one.relative_to(workspace.root)) for one in workspace.root.rglob("*") if one.is_dir()
    }


async def test_directories_come_and_go_with_the_file_they_were_made_for(workspace, open_runtime):
    (workspace.root / "old").mkdir()
    seen = []

    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "old/new/deep/a.txt", "content": "a"}, id="c")
        for step in (rt.undo, rt.redo, rt.undo):
            assert (await step()).ok
            seen.append(folders(workspace))

    assert seen == [{"old"}, {"old", "old/new", "old/new/deep"}, {"old"}]


async def test_a_patch_that_made_one_directory_for_several_files_is_undone(workspace, open_runtime):
    async with open_runtime() as rt:
        made = await rt.call("apply_patch", {"patch": PATCH})
        undone = await rt.undo()

    assert made.ok
    assert undone.ok
    assert folders(workspace) == set()


async def test_a_directory_that_somebody_uses_meanwhile_stays(workspace, open_runtime):
    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "new/deep/a.txt", "content": "a"})
        workspace.write("new/theirs.txt", "x")
        undone = await rt.undo()

    assert undone.ok
    assert folders(workspace) == {"new"}
    assert workspace.tree() == {"new/theirs.txt": b"x"}


async def test_a_directory_that_was_there_before_stays_although_it_is_empty(
    workspace, open_runtime
):
    (workspace.root / "old").mkdir()

    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "old/a.txt", "content": "a"})
        undone = await rt.undo()

    assert undone.ok
    assert folders(workspace) == {"old"}


CRASH = """
import asyncio, os, sys
import handrail
from handrail.host.files import staged_change

async def main(root, store, patch, publishes):
    real, count = staged_change.StagedChange.publish, 0
    def publish(self):
        nonlocal count
        if count == int(publishes):
            os._exit(9)
        count += 1
        real(self)
    staged_change.StagedChange.publish = publish
    async with handrail.open(root, store=store, mode="accept-edits") as rt:
        await rt.call("apply_patch", {"patch": patch})

asyncio.run(main(*sys.argv[1:5]))
"""


@pytest.mark.parametrize("published", [0, 1, 2])
async def test_a_crash_leaves_no_directories_behind_either(workspace, tmp_path, published):
    script = tmp_path / "crash.py"
    script.write_text(CRASH)
    arguments = [workspace.root, tmp_path / "s.db", PATCH, str(published)]
    done = subprocess.run(
        [sys.executable, "-P", script, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        timeout=60,
        check=False,
    )
    left = folders(workspace)

    async with handrail.open(workspace.root, store=tmp_path / "s.db") as rt:
        statuses = [one.status for one in rt.recovered]

    assert done.returncode == 9
    assert left == {"new", "new/deep"}
    assert statuses == ["interrupted"]
    assert folders(workspace) == set()
