import pytest

import handrail


@pytest.mark.feature("E47")
async def test_the_list_is_that_of_todo_write_and_can_be_filtered(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        todos = [{"content": "a", "status": "completed"}, {"content": "b", "status": "pending"}]
        await rt.call("todo_write", {"todos": todos})
        await rt.call("task_create", {"content": "c"}, agent="child")
        everything = await rt.call("task_list", {})
        pending = await rt.call("task_list", {"status": "pending", "owner": "main"})

    assert everything.text == "[x] 1. a (main)\n[ ] 2. b (main)\n[ ] 3. c (child)"
    assert [one["content"] for one in pending.data["tasks"]] == ["b"]


async def test_a_named_session_keeps_its_list(tmp_path):
    root, store = tmp_path / "work", tmp_path / "store.db"
    root.mkdir()
    async with handrail.open(root, store=store, session="s") as rt:
        await rt.call("task_create", {"content": "kept"})
    async with handrail.open(root, store=store, session="s") as rt:
        assert [one.content for one in await rt.todos.items()] == ["kept"]
    async with handrail.open(root, store=store, session="other") as rt:
        assert (await rt.call("task_list", {})).text == "(the list is empty)"


async def test_plan_mode_and_dont_ask_let_the_list_be_written(tmp_path):
    for mode in ("plan", "dont-ask"):
        async with handrail.open(tmp_path, store=":memory:", mode=mode) as rt:
            assert (await rt.call("task_create", {"content": "x"})).ok
            assert len(await rt.todos.items()) == 1
