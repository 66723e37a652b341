import pytest

import handrail


@pytest.mark.feature("E47")
async def test_it_shows_the_description(tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        await rt.call("task_create", {"content": "one", "description": "step by step"})
        result = await rt.call("task_get", {"task": "1"})
        missing = await rt.call("task_get", {"task": "2"})

    assert result.text == "[ ] 1. one (main)\nstep by step"
    assert missing.problem.code == "not_found"
