"""Who is said to be in the way of an undo, and what can be done about it."""

import os


async def edit(rt, old, new, id):
    arguments = {"path": "a.txt", "old_string": old, "new_string": new}
    assert (await rt.call("edit_file", arguments, id=id)).ok


async def test_what_a_redo_brought_back_of_a_person_is_from_outside(workspace, open_runtime):
    workspace.write("a.txt", "old\n")

    async with open_runtime() as rt:
        await edit(rt, "old", "new", "c1")
        workspace.write("a.txt", "by a person\n")
        assert (await rt.undo("c1", force=True)).ok
        assert (await rt.redo()).ok
        refused = await rt.undo()
        forced = await rt.undo(force=True)

    assert refused.problem.message.startswith("edit_file (c1) cannot be undone")
    assert refused.problem.message.endswith("'a.txt' changed since, from outside")
    assert "nothing was touched; overwrite" in refused.problem.hint
    assert "`force=True`" in refused.problem.hint
    assert forced.ok
    assert workspace.read("a.txt") == b"old\n"


async def test_what_an_undo_brought_back_is_told_by_who_made_it(workspace, open_runtime):
    workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        await edit(rt, "0", "1", "c1")
        await edit(rt, "1", "2", "c2")
        await edit(rt, "2", "3", "c3")
        await rt.undo("c3")
        by_a_call = await rt.undo("c1")
        workspace.write("a.txt", "mine\n")
        await rt.call("read_file", {"path": "a.txt"})
        await edit(rt, "mine", "4", "c4")
        await rt.undo("c4")
        from_outside = await rt.undo("c1")

    assert "changed since, by edit_file (c2)" in by_a_call.problem.message
    assert "later change back first" in by_a_call.problem.hint
    assert "changed since, from outside" in from_outside.problem.message
    assert "take the later change back" not in from_outside.problem.hint


async def test_an_undo_that_is_itself_the_change_is_named_and_can_be_taken_back(
    workspace, open_runtime
):
    workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        await edit(rt, "0", "1", "c1")
        await edit(rt, "1", "2", "c2")
        back = await rt.undo("c1", force=True)
        refused = await rt.undo("c2")
        followed = [await rt.undo(back.call_id), await rt.undo("c2")]

    assert f"changed since, by undo ({back.call_id})" in refused.problem.message
    assert "later change back first" in refused.problem.hint
    assert [one.ok for one in followed] == [True, True]
    assert workspace.read("a.txt") == b"1\n"


async def test_a_redo_that_is_itself_the_change_is_called_a_redo(workspace, open_runtime):
    workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        await edit(rt, "0", "1", "c1")
        await rt.undo("c1")
        await edit(rt, "0", "2", "c2")
        again = await rt.redo("c1", force=True)
        refused = await rt.undo("c2")

    assert f"changed since, by redo ({again.call_id})" in refused.problem.message


async def test_a_file_put_back_from_outside_in_between_is_no_conflict(workspace, open_runtime):
    workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        await edit(rt, "0", "1", "c1")
        await edit(rt, "1", "2", "c2")
        workspace.write("a.txt", "0\n")
        await rt.call("read_file", {"path": "a.txt"})
        await edit(rt, "0", "3", "c3")
        await rt.undo()
        await rt.redo()
        undone = await rt.undo(since="all")

    assert undone.ok, undone.text
    assert workspace.read("a.txt") == b"0\n"


async def test_a_change_in_between_is_told_with_the_calls_around_it(workspace, open_runtime):
    workspace.write("a.txt", "0\n")
    workspace.write("b.txt", "b\n")

    async with open_runtime() as rt:
        await rt.call("write_file", {"path": "b.txt", "content": "B\n"}, id="b")
        await edit(rt, "0", "1", "c1")
        workspace.write("a.txt", "from git\n")
        await rt.call("read_file", {"path": "a.txt"})
        await edit(rt, "from git", "3", "c3")
        await rt.undo()
        await rt.redo()
        refused = await rt.undo(since="all")
        asked = await rt.call("undo", {"scope": "since", "target": "all"})

    assert "between edit_file (c1) and edit_file (c3)" in refused.problem.message
    assert refused.problem.message.endswith("from outside")
    assert "nothing was touched; overwrite" in refused.problem.hint
    assert "`force=True`" in refused.problem.hint
    assert "overwritten: restore the file" in asked.problem.hint


async def test_where_something_else_stands_force_is_not_recommended(workspace, open_runtime):
    target = workspace.write("a.txt", "0\n")

    async with open_runtime() as rt:
        await edit(rt, "0", "1", "c1")
        target.unlink()
        os.mkfifo(target)
        refused = await rt.undo()

    assert refused.problem.hint.startswith("nothing was touched; move")
    assert "what stands there out of" in refused.problem.hint
