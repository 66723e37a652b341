import pytest

import handrail


@pytest.mark.feature("E47")
async def test_items_get_numbers_and_belong_to_the_caller(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        await rt.call("task_create", {"content": "one"})
        result = await rt.call("task_create", {"content": "two", "description": "in detail"})

    task = result.data["task"]
    assert (task["id"], task["owner"], task["status"]) == ("2", "main", "pending")
    assert task["description"] == "in detail"


async def test_the_201st_item_is_refused(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        todos = [{"content": "x", "status": "completed"}] * 200
        await rt.call("todo_write", {"todos": todos})
        result = await rt.call("task_create", {"content": "one too many"})

    assert result.problem.code == "too_large"
