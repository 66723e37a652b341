"""What a task of a fleet has used before, and what is left of its budget."""

from types import SimpleNamespace

import pytest

from handrail.agent.budget import Budget, BudgetMeter
from handrail.core.agent_results import Usage
from handrail.core.ports.models import UsageReported
from handrail.core.ports.subagents import DefinedAgent
from handrail.core.problems import ProblemRaised
from handrail.scale import agent_steps
from handrail.scale.agent_steps import UsageNotes, _agent_definition, _remaining_budget


@pytest.mark.parametrize(
    ("budget", "used", "left"),
    [
        (Budget(), Usage(5, 5, requests=1), Budget()),
        (Budget(tokens=20), Usage(5, 6), Budget(tokens=9)),
        (Budget(tokens=10), Usage(5, 6), Budget(tokens=0)),
        (Budget(usd=2.0), Usage(1, 1), Budget(usd=2.0)),
        (Budget(usd=2.0), Usage(1, 1, usd=0.5), Budget(usd=1.5)),
        (Budget(usd=2.0), Usage(1, 1, usd=2.5), Budget(usd=0.0)),
        (Budget(steps=3), Usage(1, 1, requests=2), Budget(steps=1)),
        (Budget(steps=3), Usage(1, 1, requests=4), Budget(steps=0)),
        (Budget(minutes=3, calls=2), Usage(1, 1, calls=1), Budget(minutes=3, calls=2)),
    ],
)
def test_earlier_processes_have_used_some_of_the_budget(budget, used, left):
    assert _remaining_budget(budget, used) == left


class Place(dict):
    """The place of a task; counts what is written."""

    writes = 0

    def read(self, name):
        return self.get(name)

    def write(self, name, value):
        self.writes += 1
        self[name] = value


def test_usage_is_saved_after_each_request_and_added_in_the_next_process():
    place = Place()
    notes = UsageNotes(place)
    notes.on_event(None)
    assert place.writes == 0

    above = BudgetMeter(Budget(), None, lambda: 0.0)
    with BudgetMeter(Budget(), None, lambda: 0.0, above).active() as below:
        notes.on_event(None)
        assert place.writes == 0
        below.add_request(UsageReported(10, 1))
        notes.on_event(None)
        notes.on_event(None)
        assert place.writes == 1
        below.add_request(UsageReported(10, 1))
        notes.on_event(None)
    assert (place.writes, Usage.from_dict(place["usage"]).tokens) == (2, 22)

    again = UsageNotes(place)
    assert again.before.tokens == 22
    assert again.add(Usage(5, 5)).tokens == 32
    assert Usage.from_dict(place["usage"]).tokens == 32


def runtime(**defined):
    known = SimpleNamespace(
        become=defined.get, list_types=lambda: [SimpleNamespace(name="general")]
    )
    return SimpleNamespace(agent_services=SimpleNamespace(subagents=SimpleNamespace(value=known)))


def test_a_task_names_an_agent_that_is_defined_or_built_in():
    mine = DefinedAgent("be brief")
    rt = runtime(mine=mine, main=mine)

    assert _agent_definition(rt, "mine") is mine
    assert _agent_definition(rt, "main") == DefinedAgent("")
    assert _agent_definition(rt, "general") == DefinedAgent("")
    with pytest.raises(ProblemRaised):
        _agent_definition(rt, "never")


class Work:
    """An agent whose conversation is in some state; notes what it is asked to do."""

    made = ()

    def __init__(self, rt, *, budget, **_):
        self.budget, self.asked = budget, []
        Work.made.append(self)

    async def load(self):
        state = {} if self.rt_unfinished is None else {"unfinished": self.rt_unfinished}
        return SimpleNamespace(
            entries=self.rt_entries, state=state, messages=[], calls=(), turns=0, last_text=""
        )

    async def run(self, prompt, on_event):
        self.asked.append(prompt)
        return SimpleNamespace(usage=Usage(1, 1))

    async def resume(self, on_event):
        self.asked.append(None)
        return SimpleNamespace(usage=Usage(1, 1))


@pytest.mark.parametrize(
    ("entries", "unfinished", "settle", "asked"),
    [
        ([], None, False, ["do it"]),
        ([1], None, False, ["do it"]),
        ([], True, False, ["do it"]),
        ([1], True, False, [None]),
        ([1], False, False, []),
        ([1], True, True, []),
        ([], None, True, []),
    ],
)
async def test_a_task_is_begun_continued_or_only_read(
    monkeypatch, entries, unfinished, settle, asked
):
    monkeypatch.setattr(agent_steps, "Agent", Work)
    monkeypatch.setattr(Work, "made", [])
    monkeypatch.setattr(Work, "rt_entries", entries, raising=False)
    monkeypatch.setattr(Work, "rt_unfinished", unfinished, raising=False)
    monkeypatch.setattr(agent_steps, "_skip_given_responses", lambda *_: None)
    monkeypatch.setattr(agent_steps, "_outcome", lambda result, usage, conversation: usage.tokens)
    monkeypatch.setattr(agent_steps, "_read_outcome", lambda found, usage, *, done: (done, usage))
    task = SimpleNamespace(agent="main", model=None, tools=(), max_steps=None, prompt="do it")
    rt = SimpleNamespace(declare=lambda *_, **__: [])
    place = Place(usage=Usage(3, 4).to_dict())

    outcome = await agent_steps.work_on_task(
        rt, "s", task, Budget(tokens=100), place, settle=settle
    )

    assert [one for made in Work.made for one in made.asked] == asked
    if asked:
        assert outcome == 9
        assert Work.made[-1].budget == Budget(tokens=93 if asked == ["do it"] else 100)
    else:
        assert outcome == (unfinished is False, Usage(3, 4))
