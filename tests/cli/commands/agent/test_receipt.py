"""The receipt of a task."""

import pytest

from handrail.cli.commands.agent.receipt import receipt_lines, undo_command
from handrail.core.agent_results import AgentReport, AgentResult, Usage, Verification

NOTHING = Usage()


def lines(usage=NOTHING, context="", **report):
    result = AgentResult("text", "done", "s", 1, usage, AgentReport(**report))
    return receipt_lines(result, "handrail undo", context)


@pytest.mark.parametrize(
    ("changes", "shown"),
    [
        ([], "nothing"),
        (["a"], "a"),
        (["a", "b\n"], "a, b\\n"),
        (list("abcdef"), "a, b, c, d, e, f"),
        (list("abcdefg"), "a, b, c, d, e, f and 1 more"),
        (list("abcdefghi"), "a, b, c, d, e, f and 3 more"),
        (["__pycache__/a.pyc"], "1 file in caches"),
        (["__pycache__/a.pyc", "__pycache__/b.pyc"], "2 files in caches"),
        (["a", "__pycache__/a.pyc"], "a and 1 file in caches"),
        (["a", "b", "__pycache__/a.pyc"], "a, b and 1 file in caches"),
        ([*"abcdefg", "__pycache__/a.pyc"], "a, b, c, d, e, f, 1 more and 1 file in caches"),
    ],
)
def test_the_changed_files(changes, shown):
    assert lines(changes=tuple(changes))[0] == f"changed   {shown}"


@pytest.mark.parametrize(
    ("tools", "shown"),
    [
        (["s/a"], "; not tracked: s/a"),
        (["s/a", "s/b", "s/c"], "; not tracked: s/a, s/b, s/c"),
        (["s/a", "s/b", "s/c", "s/d", "s/e"], "; not tracked: s/a, s/b, s/c, 2 more"),
    ],
)
def test_tools_of_servers_are_not_tracked(tools, shown):
    assert lines(mcp_tools=tuple(tools))[0] == f"changed   nothing{shown}"


def test_what_was_verified():
    old, new = (
        Verification("make\n", 1, "2 files changed since"),
        Verification("pytest", 2, "current"),
    )

    assert lines()[1].endswith("known to have passed")
    assert lines(verified=(old, new))[1] == "verified  pytest passed"
    not_current = lines(verified=(new, old))[1]
    assert "not since" in not_current
    assert not_current.endswith("make\\n passed, 2 files changed since")


@pytest.mark.parametrize(
    ("usage", "context", "shown"),
    [
        (Usage(), "", "0 tokens, 0 requests, 0 calls"),
        (Usage(1000, 234, requests=1, calls=1), " (5%)", "1,234 tokens (5%), 1 request, 1 call"),
        (
            Usage(1, 0, usd=0.5, estimated=True),
            "",
            "about 1 tokens, 0 requests, 0 calls, 0.5000 USD",
        ),
    ],
)
def test_what_was_used(usage, context, shown):
    assert lines(usage, context)[2] == f"used      {shown}"


def test_how_it_is_undone_if_something_changed():
    assert len(lines()) == 3
    assert lines(changes=("a",))[3] == "undo      handrail undo"
    assert undo_command("c1", "a b") == "handrail undo --since c1 --session 'a b'"


def test_usages_are_added():
    one, two = Usage(1, 2, 3, 4, 5, 6, usd=0.5), Usage(10, 20, 30, 40, 50, 60, estimated=True)

    assert one + two == Usage(11, 22, 33, 44, 55, 66, 0.5, True)
    assert (one + one).usd == 1.0
    assert (Usage() + Usage()).usd is None
    assert (one + Usage()).estimated is False
    assert Usage.from_dict(one.to_dict()) == one
    assert one.tokens == 3


def test_a_report_of_a_subagent_is_named():
    named = AgentReport(agent="a", status="done", answer="x", children=(AgentReport(),))

    assert named.to_dict()["agent"] == "a"
    assert "agent" not in AgentReport().to_dict()
    assert len(named.to_dict()["children"]) == 1
