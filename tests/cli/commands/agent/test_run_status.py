"""The status line of a conversation."""

import pytest

from handrail.agent.budget import Budget
from handrail.cli.commands.agent.run_status import RunStatus


class Told:
    def __init__(self, type, **facts):
        self.type, self._facts = type, facts

    def to_dict(self):
        return self._facts


class Clock:
    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def status(clock):
    made = RunStatus(now=clock)
    made.on_event(Told("agent_start"))
    return made


def call(number, tool="read_file"):
    return Told("tool_call_start", call_id=f"c{number}", tool=tool)


def todo(state, content, active=None):
    one = {"id": content, "content": content, "status": state, "owner": "main"}
    return {**one, "active_form": active}


@pytest.mark.parametrize(
    ("elapsed", "shown"),
    [(0, "0 s"), (59.9, "59 s"), (60, "1:00"), (61.5, "1:01"), (3605, "60:05")],
)
def test_how_long_a_task_works(status, clock, elapsed, shown):
    clock.now += elapsed

    assert status.text() == f"working {shown} · 0 tokens"


def test_a_subagent_does_not_begin_a_task(status, clock):
    clock.now += 5
    status.on_event(Told("model_response", usage={"input": 1, "output": 0}))
    status.on_event(Told("agent_start", parent="main"))
    assert status.text() == "working 5 s · 1 token"

    status.on_event(Told("agent_start", parent=None))
    assert status.text() == "working 0 s · 0 tokens"


def test_the_oldest_call_is_named(status, clock):
    status.on_event(call(1, "run\ncommand"))
    clock.now += 3
    status.on_event(call(2))
    status.on_event(call(3))
    clock.now += 2

    assert "· run\\ncommand 5 s and 2 more ·" in status.text()
    status.on_event(Told("tool_call_end", call_id="c1"))
    status.on_event(Told("tool_call_end", call_id="c1"))
    assert "· read_file 2 s and 1 more ·" in status.text()
    status.on_event(Told("tool_call_end", call_id="c2"))
    assert "· read_file 2 s ·" in status.text()
    status.end_task()
    status.on_event(Told("agent_start"))
    assert "read_file" not in status.text()


def test_the_model_is_waited_for_until_it_says_something(status):
    status.on_event(Told("unknown"))
    assert "waiting" not in status.text()
    status.on_event(Told("model_request"))
    assert "waiting for the model" in status.text()
    status.on_event(call(1))
    assert "waiting" not in status.text()
    status.on_event(Told("tool_call_end", call_id="c1"))
    status.on_event(Told("model_text"))
    assert "waiting" not in status.text()
    status.on_event(Told("model_request"))
    status.on_event(Told("model_response", usage={"input": 1200, "output": 34}))
    assert "waiting" not in status.text()
    assert status.text().endswith("1,234 tokens")


def test_tokens_of_a_budget(clock):
    status = RunStatus(Budget(tokens=5000), clock)
    status.on_event(Told("agent_start"))
    status.on_event(Told("model_response", usage={"input": 1000, "output": 1}))

    assert status.text().endswith("1,001 of 5,000 tokens")


@pytest.mark.parametrize(
    ("todos", "shown"),
    [
        ([todo("pending", "a"), todo("completed", "b")], "1/2 tasks"),
        ([todo("in_progress", "a"), todo("completed", "b")], "1/2 a"),
        ([todo("completed", "a"), todo("in_progress", "b", "doing\nb")], "1/2 doing\\nb"),
        ([todo("in_progress", "x" * 40)], f"0/1 {'x' * 29}…"),
    ],
)
def test_the_list_of_tasks_is_counted(status, todos, shown):
    status.on_event(Told("todos_changed", todos=todos))

    assert f"· {shown} ·" in status.text()
    status.on_event(Told("todos_changed", todos=[]))
    assert shown not in status.text()


def test_time_in_which_the_user_is_asked_is_not_work(status, clock):
    clock.now += 10
    status.on_event(call(1))
    clock.now += 1
    status.begin_wait()
    clock.now += 5
    status.on_event(call(2, "later"))
    clock.now += 95
    status.end_wait()

    assert "working 11 s · read_file 1 s and 1 more" in status.text()
    status.on_event(Told("tool_call_end", call_id="c1"))
    assert "later 0 s" in status.text()
    clock.now += 4
    status.end_wait()
    assert "working 15 s · later 4 s" in status.text()


def test_a_task_that_began_during_a_question_counts_from_its_end(clock):
    status = RunStatus(now=clock)
    status.idle = "idle"
    status.begin_wait()
    clock.now += 5
    status.end_wait()
    assert status.text() == "idle"
    status.begin_wait()
    clock.now += 5
    status.on_event(Told("agent_start"))
    clock.now += 5
    status.end_wait()

    assert status.text().startswith("working 0 s")
