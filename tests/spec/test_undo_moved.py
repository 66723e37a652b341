"""A workspace that moves keeps its history; one made anew, copied or another has none of it."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import handrail
from handrail.core.problems import ProblemRaised

PROGRAM = Path(sys.executable).with_name("handrail")


async def write(rt, path, content, **more):
    return (await rt.call("write_file", {"path": path, "content": content}, **more)).unwrap()


async def test_a_folder_made_anew_does_not_inherit_what_can_be_undone(workspace, tmp_path):
    settings = {"store": tmp_path / "s.db", "mode": "accept-edits"}
    async with handrail.open(workspace.root, **settings) as rt:
        await write(rt, "a.txt", "1", id="old")
    shutil.rmtree(workspace.root)
    workspace.root.mkdir()
    workspace.write("a.txt", "1")

    async with handrail.open(workspace.root, **settings) as rt:
        silent = [await rt.undo(), await rt.undo(turn="last"), await rt.undo(since="all")]
        after = workspace.tree()
        await write(rt, "b.txt", "new")
        own = await rt.undo(since="start")
        named = await rt.undo("old")

    assert [one.problem.code for one in silent] == ["not_found"] * 3
    assert after == {"a.txt": b"1"}
    assert own.ok, own.text
    assert named.ok, named.text
    assert "folder that stood here before" in named.text
    assert workspace.tree() == {}


async def test_a_moved_folder_keeps_its_history_in_a_store_that_is_named(workspace, tmp_path):
    settings = {"store": tmp_path / "s.db", "mode": "accept-edits"}
    workspace.write("a.txt", "0")
    async with handrail.open(workspace.root, **settings) as rt:
        await write(rt, "a.txt", "1")
    moved = workspace.root.rename(tmp_path / "moved")

    async with handrail.open(moved, **settings) as rt:
        undone = await rt.undo()

    assert undone.ok, undone.text
    assert (moved / "a.txt").read_text() == "0"


async def test_two_workspaces_that_share_a_store_are_not_mixed_up(workspace, tmp_path):
    settings = {"store": tmp_path / "s.db", "mode": "accept-edits"}
    workspace.write("a.txt", "0")
    copy = tmp_path / "copy"
    async with handrail.open(workspace.root, **settings) as rt:
        await write(rt, "a.txt", "1", id="there")
    shutil.copytree(workspace.root, copy)

    async with handrail.open(copy, **settings) as rt:
        last = await rt.undo()
        named = await rt.undo("there")
        path = await rt.undo(path="a.txt")

    assert [one.problem.code for one in (last, named, path)] == ["not_found"] * 3
    assert str(workspace.root) in named.problem.message
    assert (copy / "a.txt").read_text() == "1"


def run(root, *words):
    return subprocess.run(
        [PROGRAM, "-w", root, *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("how", ["moved", "copied", "used"])
def test_the_record_goes_along_with_the_very_folder_and_no_other(workspace, tmp_path, how):
    workspace.write("a.txt", "0")
    edit = ("--mode", "accept-edits", "call", "write_file", "path=a.txt", "content=1")
    assert run(workspace.root, *edit).returncode == 0
    there = tmp_path / "there"
    if how == "copied":
        shutil.copytree(workspace.root, there)
    else:
        workspace.root.rename(there)
    if how == "used":
        assert run(there, "call", "read_file", "path=a.txt").returncode == 0

    recovered = run(there, "recover", "--moved-from", str(workspace.root))
    undone = run(there, "undo")

    assert recovered.returncode == (0 if how == "moved" else 1), recovered.stderr
    assert undone.returncode == recovered.returncode, undone.stderr
    assert (there / "a.txt").read_text() == ("0" if how == "moved" else "1")
    if how != "moved":
        assert recovered.stderr.startswith("conflict: ")


def test_an_unknown_place_has_nothing_to_take_along(tmp_path):
    from handrail.cli.commands.record.recover import relocate_state

    (tmp_path / "w").mkdir()
    with pytest.raises(ProblemRaised) as raised:
        relocate_state(tmp_path / "never", tmp_path / "w")

    assert raised.value.problem.code == "not_found"
