"""What three of the documents say about tools of MCP servers: names, schemas, risk, results, events."""

import asyncio
import sys
from pathlib import Path

import pydantic
import pytest
from tests.mcp.client.approving import approve_servers

SETTINGS = {"dialect": "claude"}
SERVER = Path(__file__).parents[1] / "mcp" / "client" / "demo_server.py"
SERVERS = {"demo": {"command": sys.executable, "args": [str(SERVER)], "load": "eager"}}
ADD = {"a": 2, "b": 3}


@pytest.fixture
def remote(tmp_path, open_walk):
    """Open a runtime with the tools of an approved server."""
    config = {"mcp": {"servers": SERVERS}}
    (tmp_path / "work").mkdir()
    asyncio.run(approve_servers(tmp_path / "work", config))

    def opened(**settings):
        more = settings.pop("config", {})
        return open_walk(config={**config, **more}, **settings)

    return opened


@pytest.mark.feature("N03")
@pytest.mark.parametrize("dialect", ["architect", "claude", "attocode"])
def test_a_remote_tool_is_declared_and_checked_like_a_local_one(remote, dialect):
    with remote(dialect=dialect, mode="yolo") as walk:
        schema = walk.schema("mcp__demo__add")
        wrong = walk.code("mcp__demo__add", a=2)

    assert schema["required"] == ["a", "b"]
    assert schema["properties"]["a"] == {"type": "integer"}
    assert wrong == "invalid_arguments"


@pytest.mark.feature("N03", "A18")
def test_an_optional_argument_may_be_none(remote):
    """Decided: it is left out of what the server is sent, since its own schema may know no null."""
    with remote(dialect="architect", mode="yolo") as walk:
        tool = walk.rt.registry.get("mcp__demo__add")
        left_out = tool.validate_args({**ADD, "note": None}).model_dump()
        with pytest.raises(pydantic.ValidationError):
            tool.validate_args({**ADD, "a": None})
        called = walk.call("mcp__demo__add", **ADD, note=None)

    assert left_out == ADD
    assert called.text == "5"


@pytest.mark.feature("N03", "H08")
def test_remote_tools_work_where_commands_are_switched_off(remote):
    with remote(dialect="architect", mode="yolo", commands=False) as walk:
        assert walk.call("mcp__demo__add", **ADD).text == "5"
        assert walk.code("run_command", command="true") == "unavailable"


@pytest.mark.feature("N04", "E63")
def test_remote_tools_are_sensitive(remote):
    with remote(dialect="architect", mode="confirm-sensitive", answer=False) as walk:
        assert walk.rt.registry.get("mcp__demo__add").sensitive
        assert walk.code("mcp__demo__add", **ADD) == "denied"
        assert len(walk.user.asked) == 1


@pytest.mark.feature("N04", "L03")
def test_remote_tools_run_together_only_if_they_are_known_to_read(remote):
    """Decided: a server may do anything, so its calls run one after the other, unless the user trusts
    its annotations."""
    calls = [{"name": "mcp__demo__add", "arguments": ADD}] * 2
    trusting = {"mcp": {"servers": {"demo": {**SERVERS["demo"], "trust_annotations": True}}}}
    with remote() as walk:
        alone = [bool(one) for one in walk.rt.plan(calls).waits]
    with remote(config=trusting) as walk:
        together = [bool(one) for one in walk.rt.plan(calls).waits]

    assert (alone, together) == ([False, True], [False, False])


@pytest.mark.feature("N08", "N09")
def test_events_enclose_a_call_and_an_error_of_the_server_is_an_error(remote):
    with remote(mode="bypassPermissions") as walk:
        failed = walk.rt.call("mcp__demo__fail", {}, id="c1")
        added = walk.call("mcp__demo__add", **ADD)

    assert (added.text, added.ok) == ("5", True)
    assert (failed.is_error, failed.text) == (True, "fail")
    begins = [event for event in walk.events if event.type == "mcp_tool_call_begin"]
    ends = [event for event in walk.events if event.type == "mcp_tool_call_end"]
    assert [(one.server, one.tool) for one in begins] == [("demo", "fail"), ("demo", "add")]
    assert [one.is_error for one in ends] == [True, False]
    assert begins[0].call_id == ends[0].call_id == "c1"
