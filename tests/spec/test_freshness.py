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
@pytest.mark.finding("F23")
async def test_warn_applies_an_edit_of_shown_lines_after_drift_elsewhere(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime() as rt:
        await rt.call("read_file", {"path": "a.txt"})
        workspace.write("a.txt", LINES + "four\n")
        edit = await rt.call("edit_file", EDIT)
        beside = await rt.call("edit_file", {**EDIT, "old_string": "three", "new_string": "3"})
        own = await rt.call("edit_file", {**EDIT, "old_string": "2", "new_string": "zwei"})

    assert edit.ok
    assert "changed since it was read" in edit.text
    assert beside.ok, beside.text
    assert own.ok, own.text
    assert workspace.read("a.txt") == b"one\nzwei\n3\nfour\n"


@pytest.mark.finding("F23")
async def test_strict_refuses_every_edit_of_a_drifted_file(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        workspace.write("a.txt", LINES + "four\n")
        stale = await rt.call("edit_file", EDIT)
        await rt.call("read_file", {"path": "a.txt"})
        fresh = await rt.call("edit_file", EDIT)

    assert stale.problem.code == "stale"
    assert "+four" in stale.text
    assert fresh.ok


NEVER_READ = [
    ("one\n", "two\n", {"old_string": "two", "new_string": "2"}),
    (LINES, "one\nnew\nthree\n", {"old_string": "new", "new_string": "x"}),
    (LINES, LINES + "four\n", {"old_string": "four", "new_string": "4"}),
    (LINES, "zero\n" + LINES, {"old_string": "zero\n", "new_string": ""}),
    # Inserted between a line that was shown and one that was not.
    (LINES, "one\nnew\ntwo\nthree\n", {"old_string": "one\n", "new_string": "one\nx\n"}),
    # The same line, in a place that was not shown.
    (
        "def f():\n    return x\n",
        "def g():\n    return x\n\ny = 1\n",
        {"old_string": "return x", "new_string": "return y"},
    ),
]


@pytest.mark.finding("F23")
@pytest.mark.parametrize("tool", ["edit_file", "apply_patch"])
@pytest.mark.parametrize("mode", ["warn", "strict"])
@pytest.mark.parametrize(("read", "now", "edit"), NEVER_READ)
async def test_an_edit_of_lines_that_were_never_shown_is_stale(
    workspace, open_runtime, read, now, edit, mode, tool
):
    workspace.write("a.txt", read)
    arguments = {"path": "a.txt", **edit}
    if tool == "apply_patch":
        old, new = (
            [f"{s}{line}" for line in edit[k].splitlines()] for s, k in zip("-+", edit, strict=True)
        )
        if edit["old_string"] == "return x":
            old, new = ["-    return x"], ["+    return y"]
        body = "\n".join(["*** Begin Patch", "*** Update File: a.txt", "@@", *old, *new])
        arguments = {"patch": f"{body}\n*** End Patch"}

    async with open_runtime(config={"freshness": mode}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        workspace.write("a.txt", now)
        result = await rt.call(tool, arguments)

    assert result.problem is not None
    assert result.problem.code == "stale", result.text
    assert "+++ as it is now" in result.text
    assert workspace.read("a.txt") == now.encode()


@pytest.mark.finding("F23")
async def test_ranges_that_were_shown_count_together(workspace, open_runtime):
    lines = [f"line {number}" for number in range(1, 101)]
    workspace.write("a.txt", "\n".join(lines) + "\n")

    async with open_runtime() as rt:
        await rt.call("read_file", {"path": "a.txt", "line_range": "10-20"})
        await rt.call("read_file", {"path": "a.txt", "line_range": "50-60"})
        workspace.write("a.txt", "\n".join(["line 0", *lines]) + "\n")
        replies = [
            await rt.call(
                "edit_file",
                {"path": "a.txt", "old_string": f"line {number}\n", "new_string": "x\n"},
            )
            for number in (15, 55, 30)
        ]

    assert [reply.ok for reply in replies] == [True, True, False]
    assert replies[2].problem.code == "stale"


@pytest.mark.finding("F23")
async def test_an_append_to_a_large_file_does_not_make_its_shown_range_stale(
    workspace, open_runtime
):
    lines = [f"line {number} {'x' * 80}" for number in range(60_000)]
    target = workspace.write("big.txt", "\n".join(lines) + "\n")

    async with open_runtime() as rt:
        await rt.call("read_file", {"path": "big.txt", "offset": 40_001, "limit": 10})
        with target.open("a") as file:
            file.write("one more\n")
        shown = await rt.call(
            "edit_file", {"path": "big.txt", "old_string": lines[40_003], "new_string": "short"}
        )
        with target.open("r+") as file:
            file.write("LINE")
        other = await rt.call(
            "edit_file", {"path": "big.txt", "old_string": lines[7], "new_string": "short"}
        )

    assert shown.ok, shown.text
    assert other.problem.code == "stale"


@pytest.mark.finding("F23")
@pytest.mark.parametrize("size", [20_000, 60_000])
async def test_a_shown_range_of_a_large_file_permits_no_edit_elsewhere(
    workspace, open_runtime, size
):
    lines = [f"line {number} {'x' * 80}" for number in range(size)]
    workspace.write("big.txt", "\n".join(lines) + "\n")

    async with open_runtime() as rt:
        await rt.call("read_file", {"path": "big.txt", "offset": 1, "limit": 10})
        lines[9_000] = "changed by somebody else"
        workspace.write("big.txt", "\n".join(lines) + "\n")
        replies = [
            await rt.call("edit_file", {"path": "big.txt", "old_string": old, "new_string": "x"})
            for old in ("changed by somebody else", lines[12_000], lines[11], lines[4])
        ]

    codes = [reply.problem.code if reply.problem else "" for reply in replies]
    assert codes == ["stale", "stale", "stale", ""]


@pytest.mark.finding("F28")
async def test_what_one_agent_has_read_another_has_not(workspace, open_runtime):
    workspace.write("a.txt", LINES)

    async with open_runtime(config={"freshness": "strict"}) as rt:
        await rt.call("read_file", {"path": "a.txt"})
        unread = await rt.call("edit_file", EDIT, agent="helper")
        await rt.call("read_file", {"path": "a.txt"}, agent="helper")
        changed = await rt.call("edit_file", EDIT, agent="helper")
        overwrite = await rt.call("write_file", {"path": "a.txt", "content": "x"})
        edit = await rt.call("edit_file", {**EDIT, "old_string": "one", "new_string": "1"})

    assert unread.problem.code == "stale"
    assert changed.ok
    assert overwrite.problem.code == "stale"
    assert "+2" in overwrite.text
    assert edit.problem.code == "stale"
    assert workspace.read("a.txt") == b"one\n2\nthree\n"


@pytest.mark.finding("F28")
async def test_read_states_of_agents_outlive_a_named_session(workspace, open_runtime, tmp_path):
    workspace.write("a.txt", LINES)
    settings = {"config": {"freshness": "strict"}, "session": "kept", "store": tmp_path / "r.db"}

    async with open_runtime(**settings) as rt:
        await rt.call("read_file", {"path": "a.txt"}, agent="helper")
    async with open_runtime(**settings) as rt:
        main = await rt.call("edit_file", EDIT)
        helper = await rt.call("edit_file", EDIT, agent="helper")

    assert main.problem.code == "stale"
    assert helper.ok, helper.text


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

    async with open_runtime() as rt:
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
