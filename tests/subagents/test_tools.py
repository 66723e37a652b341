"""The tools of a subagent: lists of names and patterns never widen each other."""

import sys
from pathlib import Path

import pytest
from tests.mcp.client.approving import approve_servers
from tests.subagents.conftest import call

from handrail.subagents.agent_types import narrow_tools

SERVER = Path(__file__).parents[1] / "mcp/client/demo_server.py"
ADD = call("mcp_call", tool="mcp__demo__add", arguments={"a": 2, "b": 3})


@pytest.mark.parametrize(
    ("lists", "expected"),
    [
        ([None, None], None),
        ([("read_file", "grep"), ("grep",)], ("grep",)),
        ([("read_*",), ("read_file", "grep")], ("read_file",)),
        ([("*",), ("mcp__*",)], ("mcp__*",)),
        ([("mcp__a__*",), ("mcp__*",)], ("mcp__a__*",)),
        ([("read_file", "?"), ("*",)], ("read_file",)),
        ([("[!_]",), ("*",)], ()),
        ([("*",), ("[*]",)], ()),
        ([("?",)], ()),
        ([("a*",), ("*b",)], ()),
    ],
)
def test_lists_of_tools_only_narrow(lists, expected):
    assert narrow_tools(*lists) == expected


@pytest.mark.parametrize(
    ("shown", "asked", "reached"),
    [
        (["subagent", "mcp_call"], {}, True),
        (["subagent", "mcp_call"], {"tools": ["mcp_call"]}, True),
        (["subagent", "mcp_call"], {"tools": ["mcp__demo__add"]}, True),
        (["subagent", "mcp_call"], {"tools": ["mcp__demo__fail"]}, False),
        (["subagent", "read_file"], {}, False),
    ],
)
async def test_a_subagent_reaches_the_tools_of_servers_that_its_parent_reaches(
    scripted, shown, asked, reached
):
    servers = {"demo": {"command": sys.executable, "args": [str(SERVER)]}}
    config = {"mode": "bypass", "mcp": {"servers": servers}}
    await approve_servers(scripted.root, config)
    lines = [
        call("subagent", task="Add", agent="general", **asked),
        {"text": "end"},
        {"agent": "general"},
        ADD,
        {"text": "added"},
    ]
    events = []
    async with scripted.open(*lines, config=config, mode="bypass") as rt:
        rt.subscribe(events.append)
        await rt.agent(allowed=shown).run("Add")

    ended = [one for one in events if one.type == "tool_call_end" and one.tool != "subagent"]
    assert [one.status for one in ended] == ["ok" if reached else "refused"]
