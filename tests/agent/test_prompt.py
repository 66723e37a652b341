"""The parts of a system prompt."""

from types import SimpleNamespace

import pytest

from handrail.agent.prompt import (
    base_prompt,
    format_agents,
    format_remote_tools,
    format_skills,
    read_instructions,
    system_parts,
)
from handrail.core.ports.agents import InstructionFile
from handrail.core.ports.skills import SkillSummary
from handrail.core.ports.subagents import AgentSummary
from handrail.core.results import Status, ToolResult


def skill(name, *, trusted=True, may_load=True):
    return SkillSummary(name, f"does {name}", "user", "", "", trusted, model_may_load=may_load)


def lines(text):
    return [line for line in text.splitlines() if line.startswith("- ")]


def test_only_usable_skills_that_the_model_may_load_are_listed():
    skills = [skill("a"), skill("b", trusted=False), skill("c", may_load=False), skill("d")]

    text = format_skills(skills, "Skill")

    assert lines(text) == ["- a: does a", "- d: does d"]
    assert "`Skill`" in text
    assert format_skills([skill("b", trusted=False)], "Skill") == ""


@pytest.mark.parametrize(
    ("count", "listed", "last"), [(50, 50, "- s49: does s49"), (52, 51, "- and 2 more")]
)
def test_fifty_skills_are_listed(count, listed, last):
    found = lines(format_skills([skill(f"s{n}") for n in range(count)], "skill"))

    assert len(found) == listed
    assert found[-1] == last


def test_types_of_agents_that_the_user_defined_are_listed():
    types = [
        AgentSummary("general", "all", "built-in"),
        AgentSummary("mine", "does mine", "user"),
        AgentSummary("new", "not yet", "project", trusted=False),
        AgentSummary("broken", "no", "user", problem="why"),
    ]

    assert lines(format_agents(types)) == ["- mine: does mine"]
    assert format_agents(types[:1]) == format_agents([]) == ""
    many = [AgentSummary(f"a{n}", "x", "user") for n in range(60)]
    assert len(lines(format_agents(many))) == 50


class Remote:
    def __init__(self, *summaries):
        self.summaries = summaries

    def list_summaries(self):
        return self.summaries


def test_tools_of_servers_are_listed_if_they_fit():
    text = format_remote_tools(Remote("s__a: looks", "s__b: edits"), "tool_search")

    assert lines(text) == ["- s__a: looks", "- s__b: edits"]
    assert "`tool_search`" in text
    assert format_remote_tools(None, "x") == format_remote_tools(Remote(), "x") == ""
    assert format_remote_tools(Remote("a" * 1_398, "b" * 1_398), "x")
    assert format_remote_tools(Remote("a" * 1_398, "b" * 1_399), "x") == ""


def test_what_changes_most_comes_last_and_the_part_before_it_is_cached():
    file = InstructionFile("AGENTS.md", "use tabs", "d" * 64)

    parts = system_parts(" be brief\n", [file], "/w", "2026-01-02", "SKILLS")

    assert [part.cache for part in parts] == [False, False, False, True, False]
    assert parts[0].text == base_prompt()
    assert parts[1].text == "be brief"
    assert parts[2].text.endswith(
        "<repository-file-dddddddddddddddd path='AGENTS.md'>\nuse tabs\n"
        "</repository-file-dddddddddddddddd>"
    )
    assert "cut off" not in parts[2].text
    assert parts[3].text == "SKILLS"
    assert parts[4].text == "Workspace: /w\nDate: 2026-01-02"


def test_the_base_alone_is_cached():
    for nothing in (None, ""):
        base, last = system_parts(nothing, [], "/w", "2026-01-02")

        assert (base.cache, last.cache) == (True, False)
        assert base.text == base_prompt()


def test_a_file_that_was_cut_off_says_so():
    cut = InstructionFile("a", "x", "d" * 64, truncated=True)

    assert "file a (cut off) with" in system_parts(None, [cut], "/w", "")[1].text


def reading(**texts):
    async def call(tool, arguments, agent):
        text = texts[arguments["path"].removesuffix(".md")]
        if text is None:
            return ToolResult("c", Status.REFUSED, "no")
        return ToolResult("c", Status.OK, text)

    def existing(names):
        return [name for name in names if name.removesuffix(".md") in texts]

    return SimpleNamespace(call=call, agent_services=SimpleNamespace(existing=existing))


@pytest.mark.parametrize(
    ("texts", "read"),
    [
        ({}, []),
        ({"AGENTS": "one", "CLAUDE": "two"}, ["one", "two"]),
        ({"AGENTS": "one", "CLAUDE": "one"}, ["one"]),
        ({"AGENTS": None, "CLAUDE": "two"}, ["two"]),
        ({"AGENTS": " \n", "CLAUDE": "two"}, ["two"]),
        ({"OTHER": "x"}, []),
    ],
)
async def test_instruction_files_are_read_under_the_rules(texts, read):
    assert [file.text for file in await read_instructions(reading(**texts), "main")] == read


async def test_long_instruction_files_are_cut_between_characters():
    whole, cut = "x" * 32_000, "x" * 31_999 + "éé"

    (first, second) = await read_instructions(reading(AGENTS=whole, CLAUDE=cut), "main")

    assert (first.text, first.truncated) == (whole, False)
    assert (second.text, second.truncated) == ("x" * 31_999, True)
