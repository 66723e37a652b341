"""The approved tools of servers: found by a search, resolved by name, declared or not."""

import pytest

from handrail.core.ports.remote_tools import remote_alias
from handrail.core.problems import ProblemRaised
from handrail.mcp.client.manifest import ServerManifest, ToolRecord
from handrail.mcp.client.server_spec import RemoteServerSpec
from handrail.mcp.client.tool_set import RemoteToolSet


class Server:
    """As much of a server as a set of tools needs."""

    def __init__(self, name, *tools, fails=False, **more):
        self.spec = RemoteServerSpec(name, ("x",), **more)
        self.approved = ServerManifest("f", tools)
        self.closed, self.fails = False, fails

    async def close(self):
        self.closed = True
        if self.fails:
            raise RuntimeError


def tool(name, description="", schema=None):
    return ToolRecord(name, description, schema or {"type": "object", "properties": {}})


@pytest.fixture
def tools():
    files = Server(
        "files",
        tool("read", "Reads a file\nof the disk."),
        tool("list", "Lists files. " + "x" * 600),
        tool("hidden"),
        tool("bad name"),
        allow=("r*", "l*", "b*"),
        declared=("list",),
    )
    others = Server("others", tool("read", "Reads mail."), tool("send"))
    return RemoteToolSet({"files": files, "others": others})


def test_only_usable_tools_are_in_the_set(tools):
    assert tools.resolve("mcp__files__read") is not None
    assert tools.resolve("mcp__files__hidden") is None
    assert tools.resolve("mcp__files__bad name") is None
    assert tools.resolve("mcp__other__x") is None
    assert tools.resolve("unknown") is None
    assert tools.resolve("mcp__files__read") is tools.resolve("mcp__files__read")


def test_eager_tools_are_declared_and_the_others_counted(tools):
    assert [one.name for one in tools.build_eager()] == ["mcp__files__list"]
    assert tools.count_lazy() == {"files": 1, "others": 2}
    assert tools.list_summaries() == [
        "mcp__files__read: Reads a file\\nof the disk.",
        "mcp__others__read: Reads mail.",
        "mcp__others__send",
    ]


def test_a_search_finds_tools_of_all_servers_or_of_one(tools):
    every = tools.search("read", None, 10)
    own = tools.search(" read ", "others", 10)
    one = tools.search("read", None, 1)

    assert {found.name for found in every.tools} == {"mcp__files__read", "mcp__others__read"}
    assert every.more == 0
    assert [found.name for found in own.tools] == ["mcp__others__read"]
    assert (len(one.tools), one.more) == (1, 1)
    assert own.tools[0].schema == {"type": "object", "properties": {}}


def test_descriptions_are_short_and_only_the_first_have_schemas():
    many = Server("many", *[tool(f"find_{at}", "finds " + "y" * 900) for at in range(7)])
    found = RemoteToolSet({"many": many}).search("find", None, 10)

    assert [one.schema is not None for one in found.tools] == [True] * 5 + [False] * 2
    assert all(len(one.summary) == 500 for one in found.tools)
    assert found.tools[0].summary.endswith("y…")
    listed = RemoteToolSet({"many": many}).list_summaries()[0]
    assert len(listed) == len("mcp__many__find_0: ") + 100


def test_a_search_in_an_unknown_server_is_a_problem(tools):
    with pytest.raises(ProblemRaised) as raised:
        tools.search("read", "missing", 5)

    assert raised.value.problem.field == "server"


async def test_all_servers_are_ended_even_if_one_fails():
    one, two = Server("one", fails=True), Server("two")
    await RemoteToolSet({"one": one, "two": two}).aclose()

    assert one.closed
    assert two.closed


def test_a_short_name_is_resolved_if_it_is_clear():
    tools = RemoteToolSet(
        {"a": Server("a", tool("b_c"), tool("d")), "a_b": Server("a_b", tool("c"))}
    )
    short, shared = remote_alias("mcp__a__d"), remote_alias("mcp__a__b_c")

    assert tools.resolve(short).name == "mcp__a__d"
    assert shared == remote_alias("mcp__a_b__c")
    with pytest.raises(ProblemRaised):
        tools.resolve(shared)
    assert remote_alias("other__a__d") is None
    assert remote_alias("mcp__a") is None
