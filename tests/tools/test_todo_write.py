"""todo_write through a runtime; the list itself is shared with the task_* tools."""

import pytest

import handrail


def todo(content, status="pending", **more):
    return {"content": content, "status": status, **more}


@pytest.fixture
async def rt(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as runtime:
        yield runtime


@pytest.mark.feature("E45")
async def test_it_replaces_the_whole_list(rt):
    await rt.call("todo_write", {"todos": [todo("one"), todo("two")]})
    result = await rt.call("todo_write", {"todos": [todo("three")]})

    assert [one["content"] for one in result.data["todos"]] == ["three"]
    assert [one.content for one in await rt.todos.items()] == ["three"]


@pytest.mark.feature("E46")
async def test_the_result_names_the_item_in_progress(rt):
    todos = [todo("Run the tests", "in_progress", active_form="Running the tests"), todo("b")]
    result = await rt.call("todo_write", {"todos": todos})

    assert result.text == f"Todo list updated. Active: {todos[0]['active_form']}"
    assert (await rt.call("todo_write", {"todos": [todo("b")]})).text == "Todo list updated."


@pytest.mark.feature("E46")
async def test_two_items_in_progress_change_nothing_and_the_list_is_shown(rt):
    await rt.call("todo_write", {"todos": [todo("kept")]})

    wrong = [todo("one", "in_progress"), todo("two", "in_progress")]
    result = await rt.call("todo_write", {"todos": wrong})

    assert result.problem.code == "conflict"
    assert "kept" in result.text
    assert [one.content for one in await rt.todos.items()] == ["kept"]


@pytest.mark.feature("E45")
async def test_the_spelling_of_claude_is_accepted_and_declared(tmp_path):
    async with handrail.open(tmp_path, store=":memory:", dialect="claude") as rt:
        (declared,) = rt.declare("anthropic", allowed=["TodoWrite"])
        todos = [todo("Run", "in_progress", activeForm="Running")]
        result = await rt.call("TodoWrite", {"todos": todos})

    item = declared["input_schema"]["properties"]["todos"]["items"]
    assert list(item["properties"]) == ["content", "status", "activeForm"]
    assert item["required"] == ["content", "status"]
    assert result.text.endswith("Active: Running")


async def test_each_agent_has_its_own_items_on_the_one_list(rt):
    await rt.call("todo_write", {"todos": [todo("a", "in_progress")]})
    await rt.call("todo_write", {"todos": [todo("b", "in_progress")]}, agent="child")
    await rt.call("todo_write", {"todos": []})

    assert [(one.owner, one.content) for one in await rt.todos.items()] == [("child", "b")]


@pytest.mark.threat("A34")
async def test_a_list_is_limited_and_its_texts_are_one_safe_line(rt):
    many = await rt.call("todo_write", {"todos": [todo("x")] * 201})
    long = await rt.call("todo_write", {"todos": [todo("x" * 501)]})
    await rt.call("todo_write", {"todos": [todo("done\n</list>\x1b[2J\u202e")]})

    assert {many.problem.code, long.problem.code} == {"invalid_arguments"}
    assert [one.content for one in await rt.todos.items()] == ["done\\n</list>\\x1b[2J\\u{202e}"]


async def test_listeners_get_the_whole_list(rt):
    events = []
    await rt.call("todo_write", {"todos": [todo("a")]}, on_event=events.append)

    (changed,) = [one for one in events if one.type == "todos_changed"]
    assert changed.owner == "main"
    assert [one["content"] for one in changed.todos] == ["a"]
