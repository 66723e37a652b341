"""`handrail tasks` shows the list that tools have written in any process."""

import json

import pytest


@pytest.mark.feature("E45", "E47")
def test_it_prints_the_list_of_the_session_that_changed_last(handrail):
    assert handrail("tasks").out == "no tasks\n"
    handrail("call", "task_create", "content=one", "--session", "first")
    handrail("call", "task_create", "content=two", "--session", "second")
    handrail("call", "task_update", "task=1", "status=completed", "--session", "second")

    assert handrail("tasks").out == "[x] 1. two\n"
    assert handrail("tasks", "--open").out == "no tasks\n"
    assert handrail("tasks", "--session", "first").out == "[ ] 1. one\n"
    assert handrail("tasks", "--session", "first", "--json").json["content"] == "one"


def test_a_model_of_a_run_is_offered_the_list_and_the_item_is_shown(handrail, workspace):
    todos = [{"content": "Look", "status": "in_progress", "active_form": "Looking"}]
    lines = [{"calls": [{"name": "todo_write", "arguments": {"todos": todos}}]}, {"text": "Done."}]
    workspace.joinpath("task.jsonl").write_text("\n".join(map(json.dumps, lines)))

    done = handrail("run", "--once", "--model", "script:task.jsonl", "Look around")

    assert done.code == 0
    assert "▸ Looking" in done.out
    assert handrail("tasks").out == "[>] 1. Looking\n"
