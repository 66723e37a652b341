"""A model changes what it knows: files it has read, as they were when it read them."""

import pytest

EDIT = {"path": "a.txt", "old_string": "two", "new_string": "2"}
LINES = "one\ntwo\nthree\n"


@pytest.mark.feature("E16", "G13")
async def test_strict_refuses_to_change_what_was_never_read(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        edit = await rt.call("edit_file", EDIT)
        write = await rt.call("write_file", {"path": "a.txt", "content": "x"})
        append = await rt.call("write_file", {"path": "a.txt", "content": "x", "mode": "append"})
        new = await rt.call("write_file", {"path": "b.txt", "content": "x"})
        own = await rt.call("write_file", {"path": "b.txt", "content": "y"})

    assert (edit.problem.code, write.problem.code) == ("stale", "stale")
    assert append.ok
    assert new.ok
    assert own.ok
    assert workspace.tree() == {"a.txt": LINES.encode() + b"x", "b.txt": b"y"}


@pytest.mark.feature("E09")
async def test_claudes_dialect_is_strict_by_default(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(dialect="claude") as rt:
        refused = await rt.call("Write", {"file_path": "a.txt", "content": "x"})
        await rt.call("Read", {"file_path": "a.txt"})
        allowed = await rt.call("Write", {"file_path": "a.txt", "content": "x"})

    assert refused.problem.code == "stale"
    assert refused.problem.field == "file_path"
    assert allowed.ok


@pytest.mark.feature("R-12")
async def test_elsewhere_it_is_allowed_and_said(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime() as rt:
        result = await rt.call("edit_file", EDIT)
        again = await rt.call("edit_file", {**EDIT, "old_string": "2", "new_string": "zwei"})
        workspace.write("b.txt", LINES)
        other = await rt.call("edit_file", {**EDIT, "path": "b.txt"})
    async with open_runtime(config={"freshness": "off"}) as rt:
        silent = await rt.call("edit_file", {**EDIT, "old_string": "one", "new_string": "1"})

    assert "without having been read" in result.text
    assert "without having been read" not in again.text
    assert "without having been read" in other.text
    assert "without having been read" not in silent.text


@pytest.mark.feature("E16")
async def test_drift_elsewhere_is_said_and_kept(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        workspace.write("a.txt", LINES + "four\n")
        edit = await rt.call("edit_file", EDIT)
        fresh = await rt.call("edit_file", {**EDIT, "old_string": "three", "new_string": "3"})

    assert edit.ok
    assert "changed since it was read" in edit.text
    assert fresh.ok
    assert "changed since it was read" in fresh.text
    assert workspace.read("a.txt") == b"one\n2\n3\nfour\n"


@pytest.mark.feature("E16")
@pytest.mark.parametrize("mode", ["warn", "strict"])
async def test_drift_inside_is_refused_with_what_changed(workspace, open_runtime, mode):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": mode}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        workspace.write("a.txt", "one\nTWO!\nthree\n")
        edit = await rt.call("edit_file", EDIT)
        write = await rt.call("write_file", {"path": "a.txt", "content": "x"})

    assert edit.problem.code == "no_match"
    assert write.problem.code == "stale"
    for one in (edit, write):
        assert "-two" in one.text
        assert "+TWO!" in one.text
    assert workspace.read("a.txt") == b"one\nTWO!\nthree\n"


async def test_a_touched_file_with_the_same_content_is_fresh(workspace, open_runtime):
    target = workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        target.unlink()
        workspace.write("a.txt", LINES)
        result = await rt.call("write_file", {"path": "a.txt", "content": "x"})

    assert result.ok, result.text


async def test_identical_content_answers_unchanged(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime() as rt:
        result = await rt.call("write_file", {"path": "a.txt", "content": LINES})

    assert result.ok
    assert "unchanged" in result.text
    assert result.changes == ()


async def test_an_edit_on_drifted_content_does_not_license_an_overwrite(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        workspace.write("a.txt", "one\ntwo\nTHREE\n")
        edit = await rt.call("edit_file", {**EDIT, "old_string": "one", "new_string": "1"})
        write = await rt.call("write_file", {"path": "a.txt", "content": "1\ntwo\nthree\n"})

    assert edit.ok
    assert write.problem.code == "stale"


async def test_what_a_person_took_back_is_not_overwritten_unnoticed(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        await rt.call("edit_file", EDIT)
        await rt.undo()
        write = await rt.call("write_file", {"path": "a.txt", "content": "x"})

    assert write.problem.code == "stale"


async def test_reading_a_part_does_not_license_replacing_the_whole(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt", "limit": 1})
        write = await rt.call("write_file", {"path": "a.txt", "content": "x"})
        edit = await rt.call("edit_file", EDIT)

    assert write.problem.code == "stale"
    assert edit.ok


async def test_what_a_refused_call_would_have_been_told_is_told_to_the_next(
    workspace, open_runtime
):
    workspace.write("a.txt", LINES)

    async with open_runtime(mode="default", approver=lambda request: "XX" in request.preview) as rt:
        refused = await rt.call("edit_file", EDIT)
        allowed = await rt.call("edit_file", {**EDIT, "new_string": "XX"})

    assert refused.problem.code == "denied"
    assert "without having been read" in allowed.text
