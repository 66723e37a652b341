"""Approvals as interrupts of a graph, without the framework."""

from types import SimpleNamespace

import pytest
from tests.support.framework_doubles import load_adapter

MODULES = (
    "langchain_core",
    "langchain_core.runnables",
    "langchain_core.runnables.config",
    "langgraph",
    "langgraph.types",
)


class Stopped(Exception):
    """The graph was interrupted."""


class Graph:
    """Runs a call again from its start with the answers so far, as LangGraph does."""

    def __init__(self, adapter, monkeypatch, binding):
        self.config = {"configurable": {"thread_id": "t1", "__pregel_send": 1}}
        self.answers, self.shown = [], []
        self.approvals = adapter.GraphApprovals(binding)
        monkeypatch.setattr(adapter, "interrupt", self._interrupt)
        monkeypatch.setattr(adapter, "ensure_config", lambda: self.config)
        self.arguments = {"path": "a"}

    def _interrupt(self, request):
        self.shown.append(request)
        if not self._left:
            raise Stopped
        return self._left.pop(0)

    async def run(self, *answers, call_id=None):
        self.answers += answers
        self._left = list(self.answers)
        return await self.approvals.call("edit_file", self.arguments, call_id)

    async def stops(self, *answers, **more):
        with pytest.raises(Stopped):
            await self.run(*answers, **more)


def question(number, reason="why", preview="+new"):
    return SimpleNamespace(
        tool="edit_file", reason=reason, preview=preview, number=number,
        to_dict=lambda: {"number": number},
    )  # fmt: skip


class Binding:
    """Asks the questions in order; a refusal or the right answers end the call."""

    def __init__(self, *questions):
        self.questions, self.given = questions, []

    async def call(self, name, arguments, answer):
        self.given.append(answer)
        if answer is not None and not answer.approved:
            return SimpleNamespace(question=None, result="refused")
        known = -1 if answer is None else answer.shown
        later = [one for one in self.questions if one.number > known]
        if later:
            return SimpleNamespace(question=later[0], result=None)
        return SimpleNamespace(question=None, result="done")

    def run_blocking(self, work):
        with pytest.raises(StopIteration) as ended:
            work.send(None)
        return ended.value.value


@pytest.fixture
def adapter(monkeypatch):
    loaded = load_adapter(monkeypatch, "graph_approvals", *MODULES)
    monkeypatch.setattr(loaded, "fingerprint", lambda asked: asked.number)
    return loaded


@pytest.fixture
def graph(adapter, monkeypatch):
    return lambda *questions: Graph(adapter, monkeypatch, Binding(*questions))


async def test_a_call_without_questions_does_not_stop(graph):
    made = graph()

    assert (await made.run()).result == "done"
    assert made.shown == []
    assert made.approvals.call_blocking("edit_file", {}).result == "done"


async def test_a_question_stops_the_graph_and_its_answer_is_used_when_it_runs_again(graph):
    made = graph(question(0))
    await made.stops()

    assert made.shown == [
        {
            "action_requests": [
                {"name": "edit_file", "args": {"path": "a"}, "description": "why\n+new"}
            ],
            "review_configs": [
                {"action_name": "edit_file", "allowed_decisions": ["approve", "reject"]}
            ],
            "handrail": {"number": 0},
        }
    ]
    assert (await made.run(True)).result == "done"
    assert made.approvals._asked == {}


async def test_the_description_leaves_out_what_is_empty(graph):
    made = graph(question(0, reason="", preview="+new"))
    await made.stops()

    assert made.shown[0]["action_requests"][0]["description"] == "+new"


async def test_several_questions_are_answered_in_order(graph):
    made = graph(question(0), question(1))
    await made.stops()
    await made.stops(True)

    assert (await made.run(True)).result == "done"
    assert [one["handrail"]["number"] for one in made.shown] == [0, 0, 1, 0, 1]


async def test_after_a_restart_an_approval_is_asked_again_and_a_refusal_counts(graph):
    made = graph(question(0))
    await made.stops(True)
    assert len(made.shown) == 2

    other = graph(question(0))
    assert (await other.run(False)).result == "refused"


async def test_outside_a_graph_the_question_is_returned(graph):
    made = graph(question(0))
    for config in ({}, {"configurable": None}, {"configurable": {"thread_id": "t"}}):
        made.config = config

        assert (await made.run()).question.number == 0
    assert made.shown == []


@pytest.mark.parametrize(
    ("given", "approved", "reason"),
    [
        (True, True, None),
        ({"type": "approve"}, True, None),
        ({"decisions": [{"type": "approve"}]}, True, None),
        ({"decisions": [True]}, True, None),
        ({"decisions": []}, False, None),
        ({"decisions": [True, True]}, False, None),
        ({"decisions": True}, False, None),
        ({"type": "reject", "message": "not now"}, False, "not now"),
        ({"type": "reject", "message": 1}, False, None),
        ({"type": "edit"}, False, None),
        ("approve", False, None),
        (1, False, None),
        (None, False, None),
        (False, False, None),
    ],
)
def test_only_a_clear_approval_is_one(adapter, given, approved, reason):
    answer = adapter._parse_answer(given, question(4))

    assert (answer.approved, answer.reason) == (approved, reason)
    assert not approved or answer.shown == 4


async def test_calls_of_other_tasks_arguments_and_ids_are_not_mixed_up(graph):
    made = graph(question(0))
    await made.stops()
    made.arguments = {"path": "b"}
    await made.stops()
    await made.stops(call_id="c1")
    made.config = {"configurable": {**made.config["configurable"], "thread_id": "t2"}}
    await made.stops()
    made.config = {"configurable": {**made.config["configurable"], "checkpoint_ns": "n"}}
    await made.stops()
    assert len(made.approvals._asked) == 5

    made.arguments = {"path": object()}
    await made.stops(call_id="c1")
    made.arguments = {"path": "b", "other": 1}
    await made.stops(call_id="c1")
    assert len(made.approvals._asked) == 6


async def test_the_oldest_of_a_thousand_questions_is_forgotten(graph):
    made = graph(question(0))
    for number in range(1_001):
        await made.stops(call_id=f"c{number}")

    assert len(made.approvals._asked) == 1_000
    assert (await made.run(True, call_id="c1")).result == "done"
    with pytest.raises(Stopped):
        await made.run(call_id="c0")
