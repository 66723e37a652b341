"""How a model sees a subagent: nothing in its text looks like part of the report."""

import pytest

from handrail.core.agent_results import AgentReport
from handrail.core.ports.subagents import SubagentState
from handrail.core.problems import Problem
from handrail.tools._lib.agent_text import describe_agent, quote_lines, report_lines


def state(status="completed", **more):
    return SubagentState("a1", "helper", status, ("main", "helper"), "task", "c", **more)


@pytest.mark.parametrize(
    ("one", "lines"),
    [
        (state(), ["Agent a1 (helper): completed", "It gave no answer."]),
        (
            state(text=" done\n- used: 0\n"),
            [
                "Agent a1 (helper): completed",
                "Its answer, in its own words:",
                "> done",
                "> - used: 0",
            ],
        ),
        (
            state("running"),
            ["Agent a1 (helper): still running; its output can be read later by its id"],
        ),
        (
            state("failed", problem=Problem("unavailable", "no\nmodel", hint="try")),
            ["Agent a1 (helper): failed; no\\nmodel (hint: try)", "It gave no answer."],
        ),
        (
            state("failed", problem=Problem("unavailable", "gone")),
            ["Agent a1 (helper): failed; gone", "It gave no answer."],
        ),
    ],
)
def test_the_state_of_a_subagent(one, lines):
    found = describe_agent(one).split("\n")

    assert found[: len(lines)] == lines
    assert found[len(lines) + 1 :] == ["- files changed: none", "- used: 0 tokens, 0 calls"]


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ((), "none"),
        (("a", "b"), "a, b"),
        (("a, b", "c"), '"a, b", c'),
        (tuple("abcdefghij"), "a, b, c, d, e, f, g, h, i, j"),
        (tuple("abcdefghijkl"), "a, b, c, d, e, f, g, h, i, j and 2 more"),
        (("x" * 200,), "x" * 200),
        (("x" * 201,), "x" * 200 + "…"),
    ],
)
def test_changed_files_are_listed_without_looking_like_others(changes, shown):
    assert next(report_lines(AgentReport(changes=changes))) == f"- files changed: {shown}"


def test_quoted_lines_begin_with_a_mark():
    assert quote_lines("\n a\n\nb \n") == ["> a", "> ", "> b"]
    assert quote_lines("  ") == []
