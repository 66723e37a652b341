"""What a definition of an agent may contain, and the type that it makes."""

import pytest

from handrail.subagents.agent_types import BUILT_IN_TYPES
from handrail.subagents.definitions import (
    AgentDefinition,
    DefinitionFile,
    InvalidDefinition,
    check_name,
    read_definition,
    read_file,
)

BUILT_IN = next(iter(BUILT_IN_TYPES))


@pytest.mark.parametrize("name", ["a", "poet", "go-2", "a" * 64, "x-1234567", "x-1234567g"])
def test_names(name):
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [None, 1, "", "A", "a_b", "a--b", "-a", "a-", "é", "a" * 65, "main", "m-ain", "yes", "at-once", BUILT_IN, "x-12345678"],
)  # fmt: skip
def test_what_is_no_name_or_means_something_else(name):
    with pytest.raises(InvalidDefinition):
        check_name(name)


def read(body="Do it.", path="/w/mine.md", **values):
    table = {"name": "mine", "description": "does it", **values}
    return read_file(DefinitionFile(path, "user", "", "", table, body))


def test_a_file_defines_an_agent():
    found = read(tools="Read, Edit bash", policy="a b", permissionMode="plan", maxTurns=3, color="x", memory="y", model="inherit")  # fmt: skip

    assert (found.name, found.description, found.prompt) == ("mine", "does it", "Do it.")
    assert found.access == {"tools": ["Read", "Edit", "bash"], "policy": ["a", "b"], "mode": "plan"}
    assert (found.max_steps, found.model, found.ignored) == (3, None, ("color", "memory"))


def test_own_fields_come_before_those_of_other_programs():
    with pytest.raises(InvalidDefinition, match="permissionMode"):
        read(permissionMode="plan", mode="bypass")
    assert read(model="big").model == "big"
    assert read(tools=["Read"]).access == {"tools": ["Read"]}


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ({"name": "other"}, "named 'mine'"),
        ({"description": " "}, "description is missing"),
        ({"description": None}, "description is missing"),
        ({"nope": 1}, "unknown field in the frontmatter: 'nope'"),
        ({"model": 1}, "model is not text"),
        ({"max_steps": 0}, "max_steps"),
    ],
)
def test_a_file_that_breaks_a_rule_is_refused(values, says):
    with pytest.raises(InvalidDefinition, match=says):
        read(**values)


def test_the_problem_of_a_file_is_its_own():
    with pytest.raises(InvalidDefinition, match="not UTF-8"):
        read_file(DefinitionFile("/w/mine.md", "user", problem="it is not UTF-8"))


@pytest.mark.parametrize(
    "table",
    [
        {"max_steps": 1},
        {"max_steps": 1_000},
        {"description": "x" * 1_024},
        {"prompt": "x" * 48_000},
        {"model": "x" * 200},
        {"budget": {"tokens": 0}},
        {"budget": {"usd": 0.5, "calls": 3}},
        {"budget": {}},
    ],
)
def test_values_at_their_limits(table):
    read_definition("mine", table)


@pytest.mark.parametrize(
    "table",
    [
        {"max_steps": 0},
        {"max_steps": 1_001},
        {"max_steps": True},
        {"max_steps": 1.0},
        {"description": "x" * 1_025},
        {"description": 1},
        {"prompt": "x" * 48_001},
        {"model": "x" * 201},
        {"budget": 1},
        {"budget": {"nope": 1}},
        {"budget": {"tokens": -1}},
        {"budget": {"tokens": 1.5}},
        {"budget": {"calls": True}},
        {"budget": {"usd": "1"}},
        {"budget": {"usd": -0.1}},
        {"prompt": "x", "prompt_file": "f"},
        {"prompt_file": "f"},
        {"prompt_file": 1},
    ],
)
def test_values_beyond_their_limits(table):
    with pytest.raises(InvalidDefinition):
        read_definition("mine", table)


def test_a_prompt_may_be_in_a_file():
    found = read_definition(
        "mine", {"prompt_file": "f.md", "mode": "plan"}, lambda path: f" {path}\n"
    )

    assert found.prompt == "f.md"
    assert found.access == {"mode": "plan"}
    assert (found.budget, found.max_steps, found.model) == (None, None, None)
    assert read_definition("mine", {"budget": {"usd": 1}}).budget == {"usd": 1}
    assert read_definition("mine", {"description": "two\n  lines"}).description == "two lines"


def test_a_definition_makes_a_type():
    kind = AgentDefinition("mine", "a" * 300, "be brief", model="big", max_steps=3).make_type(
        "user"
    )

    assert (kind.name, kind.description, kind.instructions) == ("mine", "a" * 200, "be brief")
    assert (kind.profile, kind.model, kind.max_steps, kind.source) == ("mine", "big", 3, "user")


def test_a_type_that_is_based_on_another_adds_to_it():
    base = BUILT_IN_TYPES[BUILT_IN]

    based = AgentDefinition("mine", "", "more", {"type": BUILT_IN}).make_type("user")
    assert based.instructions == f"{base.instructions}\n\nmore"
    assert based.description == base.description
    assert based.max_steps == base.max_steps
    changed = AgentDefinition(BUILT_IN, "new", "instead").make_type("settings")
    assert (changed.instructions, changed.description) == ("instead", "new")
    assert changed.tools == base.tools
    assert AgentDefinition(BUILT_IN).make_type("settings").instructions == base.instructions
    assert AgentDefinition("mine").base is None
    assert AgentDefinition(BUILT_IN).base == BUILT_IN
