"""Which agent may use which tool: tables of the settings, profiles, and limits while it runs."""

import pytest

from handrail.core.problems import ProblemRaised
from handrail.policy.agents import (
    AgentAccess,
    AgentAction,
    parse_agents,
    profile_access,
    read_access,
    unknown_tools,
)
from handrail.policy.modes import Mode

NAMES = {"Read": "read_file", "read_file": "read_file", "grep": "grep", "write_file": "write_file"}


def parse(section, **options):
    return parse_agents(section, NAMES.get, lambda key: f"at {key}", **options)


def may(agents, agent, tool, *, edits=False):
    access = agents.of(agent)
    return access is None or access.may_call(tool, edits_files=edits)


@pytest.mark.parametrize(
    ("section", "agent", "tool", "allowed"),
    [
        ({}, "main", "grep", True),
        ({}, "any", "grep", True),
        ({"a": {"tools": ["Read"]}}, "a", "read_file", True),
        ({"a": {"tools": ["Read"]}}, "a", "grep", False),
        ({"a": {"allowed_tools": ["grep"]}}, "a", "grep", True),
        ({"a": {"tools": ["*"]}}, "a", "anything", True),
        ({"a": {"tools": []}}, "a", "grep", False),
        ({"a": {"tools": ["mcp__s__*"]}}, "a", "mcp__s__x", True),
        ({"a": {"tools": ["mcp__s__*"]}}, "a", "mcp__t__x", False),
        # Others may use nothing once there is a section, except for the main agent.
        ({"a": {"tools": ["grep"]}}, "b", "grep", False),
        ({"a": {"tools": ["grep"]}}, "main", "write_file", True),
        ({"default": {"tools": ["grep"]}}, "b", "grep", True),
        ({"default": {"tools": ["grep"]}}, "b", "read_file", False),
        ({"default": {"tools": ["grep"]}}, "main", "read_file", False),
        ({"main": {"tools": ["grep"]}}, "main", "read_file", False),
        ({"at_once": 3}, "b", "grep", True),
    ],
)
def test_a_table_lists_what_an_agent_may_use(section, agent, tool, allowed):
    assert may(parse(section), agent, tool) is allowed


def test_the_policy_of_an_agent_allows_actions_beyond_its_tools():
    agents = parse({"a": {"tools": ["*"], "policy": ["finalize"]}, "b": {"tools": ["*"]}})

    assert not may(agents, "a", "write_file", edits=True)
    assert may(agents, "a", "write_file", edits=False)
    assert may(agents, "b", "write_file", edits=True)
    assert [one for one in AgentAction if agents.of("a").may(one)] == [AgentAction.FINALIZE]
    assert all(map(agents.of("b").may, AgentAction))


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ("x", "agents.a"),
        ({}, "agents.a"),
        ({"tool": ["grep"]}, "agents.a.tool"),
        ({"tools": ["grep"], "allowed_tools": ["grep"]}, "agents.a.allowed_tools"),
        ({"tools": "grep"}, "agents.a.tools"),
        ({"tools": [3]}, "agents.a.tools"),
        ({"tools": ["grep", " "]}, "agents.a.tools"),
        ({"tools": ["x" * 201]}, "agents.a.tools"),
        ({"policy": ["Fly"]}, "agents.a.policy"),
        ({"mode": "nonsense"}, "agents.a.mode"),
        ({"mode": 3}, "agents.a.mode"),
        ({"type": "nonsense"}, "agents.a.type"),
    ],
)
def test_a_table_that_is_wrong_is_named_with_its_place(table, key):
    with pytest.raises(ProblemRaised) as raised:
        parse({"a": table})

    assert raised.value.problem.code == "invalid_arguments"
    assert f"at {key}" in raised.value.problem.message or key in raised.value.problem.message


def test_what_a_table_says_is_read():
    access = read_access(
        "agents.a",
        {"tools": ["Read ", "x" * 200], "policy": ["PATCH"], "mode": "plan"},
        NAMES.get,
        str,
    )

    assert access.tools == ("read_file", "x" * 200)
    assert access.names == ("Read", "x" * 200)
    assert access.actions == {AgentAction.PATCH}
    assert access.mode is Mode.PLAN
    assert access.above is None


def test_a_profile_never_changes_files():
    access = profile_access("Explore")

    assert access is not None
    assert access.may_call("read_file", edits_files=False)
    assert not access.may_call("read_file", edits_files=True)
    assert not access.may_call("write_file", edits_files=True)
    assert not any(map(access.may, AgentAction))
    assert profile_access("worker") is None


def test_a_table_with_tools_replaces_a_profile_and_one_without_does_not():
    replaced = parse({"explore": {"tools": ["write_file"]}})
    described = parse({"explore": {"description": "x"}})

    assert may(replaced, "explore", "write_file", edits=True)
    assert not may(described, "explore", "write_file", edits=True)
    assert may(described, "explore", "read_file")


def test_an_agent_is_based_on_its_type():
    agents = parse({"a": {"type": "explore", "tools": ["*"]}})

    assert may(agents, "a", "read_file")
    assert not may(agents, "a", "write_file", edits=True)


def test_access_is_limited_by_every_agent_above():
    top = AgentAccess(("read_file", "grep"), mode=Mode.PLAN)
    middle = AgentAccess(None, frozenset({AgentAction.FINALIZE}))
    low = AgentAccess(("grep", "write_file")).below(middle).below(top)

    assert low.may_call("grep", edits_files=False)
    assert not low.may_call("read_file", edits_files=False)
    assert not low.may_call("write_file", edits_files=False)
    assert not low.may(AgentAction.PATCH)
    assert low.modes == (Mode.PLAN,)
    assert low._replace(mode=Mode.DEFAULT).modes == (Mode.DEFAULT, Mode.PLAN)
    assert low.lists_tools
    assert AgentAccess(None).below(top).lists_tools
    assert not AgentAccess(None).below(middle).lists_tools


@pytest.mark.parametrize(
    ("tools", "prefix", "some"),
    [
        (None, "mcp__s__", True),
        ((), "mcp__s__", False),
        (("mcp__s__x",), "mcp__s__", True),
        (("mcp__*",), "mcp__s__", True),
        (("mcp__t__x",), "mcp__s__", False),
    ],
)
def test_whether_some_tool_of_a_server_may_be_called(tools, prefix, some):
    access = AgentAccess(tools)

    assert access.may_call_some(prefix) is some
    assert AgentAccess(None).below(access).may_call_some(prefix) is some
    assert not access.below(AgentAccess(())).may_call_some(prefix)


class TestLimitsWhileTheSessionRuns:
    def test_a_limit_narrows_and_is_removed(self):
        agents = parse({})
        agents.limit("a", ["Read"])
        assert may(agents, "a", "read_file")
        assert not may(agents, "a", "grep")

        agents.limit("a", None)
        assert may(agents, "a", "grep")

    def test_a_limit_never_widens_what_the_settings_say(self):
        agents = parse({"a": {"tools": ["grep"]}})
        agents.limit("a", ["grep", "read_file"])

        assert may(agents, "a", "grep")
        assert not may(agents, "a", "read_file")

    def test_a_child_has_at_most_the_access_of_its_parent(self):
        agents = parse({"p": {"tools": ["grep"]}, "c": {"tools": ["read_file", "grep"]}})
        agents.limit("c", ["*"], parent="p")
        agents.limit("other", None, parent="p")

        assert may(agents, "c", "grep")
        assert not may(agents, "c", "read_file")
        assert may(agents, "other", "grep")
        assert not may(agents, "other", "read_file")

    def test_a_child_has_the_access_of_its_profile(self):
        agents = parse({"reader": {"tools": ["read_file"]}})
        agents.limit("c", None, parent="main", profile="reader")

        assert may(agents, "c", "read_file")
        assert not may(agents, "c", "grep")

    def test_a_profile_may_be_defined_later(self):
        agents = parse({})
        agents.define("mine", AgentAccess(("grep",)))
        agents.limit("c", None, profile="mine")

        assert may(agents, "c", "grep")
        assert not may(agents, "c", "read_file")

    def test_ancestors_are_known(self):
        agents = parse({})
        agents.limit("child", None, parent="main")
        agents.limit("grandchild", None, parent="child")

        assert agents.chain("grandchild") == ("main", "child", "grandchild")
        assert agents.same_chain("main", "grandchild")
        assert agents.same_chain("grandchild", "main")
        assert agents.same_chain("main", "main")
        assert not agents.same_chain("main", "other")

    def test_a_wrong_limit_is_a_problem_and_changes_nothing(self):
        agents = parse({})
        agents.limit("child", None, parent="main")
        version = agents.version

        for wrong in (
            {"agent": "main", "tools": None, "parent": "child"},
            {"agent": "a", "tools": None, "parent": "a"},
            {"agent": "a", "tools": "grep"},
            {"agent": "a", "tools": None, "profile": "nonsense"},
        ):
            with pytest.raises(ProblemRaised):
                agents.limit(**wrong)
        assert agents.version == version

    def test_every_change_has_a_new_version(self):
        agents = parse({})
        versions = [agents.version]
        agents.limit("a", ["grep"])
        versions.append(agents.version)
        agents.limit("a", None)
        versions.append(agents.version)
        agents.define("p", AgentAccess(()))
        versions.append(agents.version)

        assert len(set(versions)) == 4


def test_added_tools_are_for_agents_that_act():
    section = {
        "acting": {"tools": ["write_file"]},
        "reading": {"tools": ["read_file"]},
        "bound": {"tools": ["write_file"], "policy": ["Finalize"]},
    }
    agents = parse(section, added=("extra",))

    assert [name for name in section if may(agents, name, "extra")] == ["acting"]


def test_names_that_no_tool_has_are_reported():
    section = {
        "at_once": 3,
        "a": {"tools": ["Read", "nonsense", "mcp__s__x", "x*"]},
        "b": {"allowed_tools": ["other"]},
    }

    warnings = unknown_tools(section, NAMES.get)

    assert len(warnings) == 2
    assert "nonsense" in warnings[0]
    assert "other" in warnings[1]
