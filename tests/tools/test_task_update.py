import asyncio

import pytest

import handrail


@pytest.fixture
async def rt(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as runtime:
        await runtime.call("task_create", {"content": "one"})
        await runtime.call("task_create", {"content": "two"})
        yield runtime


@pytest.mark.feature("E47")
async def test_it_changes_only_what_is_given(rt):
    result = await rt.call("task_update", {"task": "1", "status": "completed"})

    assert result.data["task"]["content"] == "one"
    assert [one.status.value for one in await rt.todos.items()] == ["completed", "pending"]


async def test_a_second_item_in_progress_is_refused_until_another_agent_owns_it(rt):
    await rt.call("task_update", {"task": "1", "status": "in_progress"})
    refused = await rt.call("task_update", {"task": "2", "status": "in_progress"})
    taken = await rt.call("task_update", {"task": "2", "status": "in_progress", "owner": "child"})

    assert refused.problem.code == "conflict"
    assert taken.ok


async def test_deleted_items_are_gone_and_numbers_are_not_used_again(rt):
    await rt.call("task_update", {"task": "2", "status": "deleted"})
    result = await rt.call("task_create", {"content": "three"})

    assert result.data["task"]["id"] == "3"
    assert [one.id for one in await rt.todos.items()] == ["1", "3"]


async def test_a_missing_item_shows_the_list(rt):
    result = await rt.call("task_update", {"task": "9", "status": "completed"})

    assert result.problem.code == "not_found"
    assert "2. two" in result.text


async def test_no_change_is_lost_when_many_are_made_at_once(rt):
    made = [rt.call("task_create", {"content": f"n{n}"}, agent=f"a{n % 5}") for n in range(40)]
    await asyncio.gather(*made)

    items = await rt.todos.items()
    assert len(items) == 42
    assert len({one.id for one in items}) == 42
