"""Which subagent counts as a duplicate, and which model and limits an agent has."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.subagents import AgentLineage, SubagentRequest
from handrail.core.problems import ProblemRaised
from handrail.subagents.agent_types import AgentType
from handrail.subagents.maker import AgentMaker, choose_model, find_duplicate

TASK = "find every caller of the function open_session in the command line"
SIMILAR = "find every caller of the function open_record in the command line"


def sibling(task=TASK, *, started=100.0, status="running", kind="explorer"):
    return SimpleNamespace(
        task=task, started=started, status=status, lineage=AgentLineage(kind, ("main", "a"))
    )


def request(task=TASK, **more):
    return SubagentRequest(task, **more)


@pytest.mark.parametrize(
    ("asked", "other", "found"),
    [
        (request(), sibling(), True),
        (request(), sibling(status="done"), True),
        (request(), sibling(status="failed"), False),
        (request(), sibling(status="cancelled"), False),
        (request(), sibling(kind="general"), False),
        (request(f"  {TASK.upper()}\n"), sibling(), True),
        (request(), sibling(started=0.0), False),
        (request(), sibling(started=60.001), True),
        (request(), sibling(started=60.0), False),
        (request(SIMILAR), sibling(), False),
        (request(SIMILAR, refuse_similar=True), sibling(), True),
        (request("say hello", refuse_similar=True), sibling(), False),
        (request("abcd", refuse_similar=True), sibling("abce"), False),
        (request("abcde", refuse_similar=True), sibling("abcdf"), True),
        (request("a" * 2_000 + "b" * 9_000, refuse_similar=True), sibling("a" * 9_000), True),
    ],
)
def test_an_equal_task_of_the_last_minute_is_a_duplicate(asked, other, found):
    before = sibling("something else")

    duplicate = find_duplicate(asked, "explorer", [before, other], 120.0)

    assert duplicate is (other if found else None)


class Scripted:
    def child(self, name, description):
        return f"{name}: {description}"


def services(model=None, **defaults):
    known = SimpleNamespace(
        **({"models": ("big", "small"), "budget": {}, "max_steps": None} | defaults)
    )
    return SimpleNamespace(defaults=known, resolve_model=lambda name: SimpleNamespace(model=model))


KIND = AgentType("explorer", "", "look")


@pytest.mark.parametrize(
    ("asked", "kind", "model", "chosen"),
    [
        (None, None, object(), None),
        ("big", None, object(), "big"),
        (None, "small", object(), "small"),
        ("big", "small", object(), "big"),
        (None, None, Scripted(), "explorer: why"),
        ("big", None, Scripted(), "big"),
    ],
)
def test_the_model_of_the_call_comes_before_that_of_the_type(asked, kind, model, chosen):
    made = AgentType("explorer", "", "look", model=kind)

    assert choose_model(services(model), request(model=asked, description="why"), made) == chosen


@pytest.mark.parametrize("models", [(), ("big", "small")])
def test_a_model_that_the_settings_do_not_name_is_refused(models):
    with pytest.raises(ProblemRaised) as raised:
        choose_model(services(models=models), request(model="x" * 500), KIND)

    assert raised.value.problem.code == "invalid_arguments"
    assert len(raised.value.problem.message) < 300


class Library:
    """Types that can be used, and definitions that cannot."""

    def __init__(self, *types, **unusable):
        self._types, self._unusable = {one.name: one for one in types}, unusable

    def types(self):
        return self._types

    def list(self):
        return [*self._types]

    def find(self, name):
        return self._unusable.get(name)

    def canonical(self, name):
        return {"Read": "read_file"}.get(name)


class DefinedAgents:
    def __init__(self, **defaults):
        self.agents = self
        self.agent_services = services(**defaults)
        self.defined, self.limited = [], []

    def define(self, name, access):
        self.defined.append((name, access))

    def limit_agent(self, name, tools, *, parent, profile):
        self.limited.append((name, tools, parent, profile))

    def has_tool(self, name):
        return name == "read_file"


def definition(problem=None, *, usable=False):
    return SimpleNamespace(problem=problem, usable=usable)


@pytest.mark.parametrize(
    ("name", "code"),
    [("broken", "invalid_arguments"), ("new", "untrusted"), ("never", "invalid_arguments")],
)
def test_a_type_that_cannot_be_used_is_a_problem(name, code):
    library = Library(KIND, broken=definition("it has no name"), new=definition())

    with pytest.raises(ProblemRaised) as raised:
        AgentMaker(DefinedAgents(), library).find(name, "agent")

    assert raised.value.problem.code == code
    assert ("it has no name" in raised.value.problem.message) is (name == "broken")


def test_a_type_is_found_by_its_name():
    assert AgentMaker(DefinedAgents(), Library(KIND)).find("explorer", "agent") is KIND


def test_the_main_agent_becomes_a_defined_agent_with_the_lower_limits():
    access = object()
    kind = AgentType(
        "mine", "", "be brief", model="big", max_steps=5, source="user", access=access,
        budget={"tokens": 10, "usd": 2},
    )  # fmt: skip
    rt = DefinedAgents(budget={"tokens": 20, "usd": 1, "calls": None, "requests": 3}, max_steps=9)

    became = AgentMaker(rt, Library(kind)).become("mine")

    assert (became.instructions, became.model, became.max_steps) == ("be brief", "big", 5)
    assert became.budget == {"tokens": 10, "usd": 1, "calls": None, "requests": 3}
    assert rt.defined == [("mine", access)]
    assert rt.limited == [("mine", None, "main", "mine")]


def test_limits_that_only_one_side_has_are_kept():
    kind = AgentType("mine", "", "", source="user", budget={"calls": 7})
    rt = DefinedAgents(budget={"calls": None}, max_steps=4)

    became = AgentMaker(rt, Library(kind)).become("mine")

    assert (became.budget, became.max_steps) == ({"calls": 7}, 4)
    assert rt.defined == rt.limited == []
    plain = AgentType("mine", "", "", source="user")
    became = AgentMaker(DefinedAgents(), Library(plain)).become("mine")
    assert (became.budget, became.max_steps) == ({}, None)


def test_built_in_and_unknown_names_define_nothing():
    maker = AgentMaker(
        DefinedAgents(), Library(KIND, new=definition(), good=definition(usable=True))
    )

    assert maker.become("explorer") is None
    assert maker.become("never") is None
    assert maker.become("good") is None
    with pytest.raises(ProblemRaised):
        maker.become("new")


@pytest.mark.parametrize(
    ("tools", "named"),
    [
        (None, None),
        ((), []),
        (("Read", "read_file"), ["read_file", "read_file"]),
        (("mcp__s__*", "mcp__s__look", "r*"), ["mcp__s__*", "mcp__s__look", "r*"]),
    ],
)
def test_tools_of_a_call_have_their_canonical_names(tools, named):
    assert AgentMaker(DefinedAgents(), Library())._named_tools(request(tools=tools)) == named


def test_a_tool_that_does_not_exist_is_refused():
    with pytest.raises(ProblemRaised) as raised:
        AgentMaker(DefinedAgents(), Library())._named_tools(request(tools=("Read", "nope" * 99)))

    assert raised.value.problem.code == "invalid_arguments"
    assert len(raised.value.problem.message) < 200
