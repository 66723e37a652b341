"""`mcp_call`: a call of a tool of an MCP server, judged and recorded under the name of that tool."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.client.approving import pin_tools

import handrail
from handrail.mcp.client.manifest import ToolRecord

_SERVER = Path(__file__).parents[1] / "mcp" / "client" / "hostile_server.py"
_ACT = (ToolRecord("act", "", {"type": "object"}),)
_CALL = {"tool": "mcp__demo__act", "arguments": {"a": 1}}


def _config(*names: str, mode: str = "bypass", **more: Any) -> dict[str, Any]:
    table = {"command": sys.executable, "args": ["-I", str(_SERVER), "none"]}
    servers = dict.fromkeys(names or ("demo",), table)
    return {"mode": mode, "mcp": {"servers": servers}, **more}


def _open(root: Path, config: dict[str, Any], **more: Any) -> Any:
    pin_tools(root, config, _ACT)
    return handrail.open(root, config=config, store=":memory:", **more)


def _code(result: handrail.ToolResult) -> str | None:
    return None if result.problem is None else result.problem.code


_ids = count(1)


def _answer(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    number = next(_ids)
    block = {"type": "tool_use", "id": f"toolu_{number}", "name": name, "input": arguments}
    return {"type": "message", "role": "assistant", "stop_reason": "tool_use", "content": [block]}


@pytest.mark.feature("N06")
async def test_the_named_tool_is_called(tmp_path: Path) -> None:
    async with _open(tmp_path, _config()) as rt:
        assert (await rt.call("mcp_call", _CALL)).text == "done"
        assert (await rt.call("mcp__demo__act", {})).text == "done"


@pytest.mark.feature("N06")
async def test_a_model_calls_a_tool_that_was_not_declared(tmp_path: Path) -> None:
    async with _open(tmp_path, _config()) as rt:
        rt.declare("anthropic")
        for name, arguments in (("mcp_call", _CALL), ("mcp__demo__act", {})):
            (message,) = await rt.answer(_answer(name, arguments))
            (block,) = message["content"]
            assert "done" in str(block["content"])
            assert not block.get("is_error")
        rt.declare("anthropic", allowed=["read_file"])
        (message,) = await rt.answer(_answer("mcp__demo__act", {}))
        assert message["content"][0]["is_error"]


@pytest.mark.threat("A37")
@pytest.mark.parametrize("name", ["run_command", "mcp_call", "mcp__demo__other", "nothing"])
async def test_nothing_else_is_called_through_it(tmp_path: Path, name: str) -> None:
    async with _open(tmp_path, _config()) as rt:
        result = await rt.call("mcp_call", {"tool": name, "arguments": {"command": "true"}})
        assert _code(result) == "unknown_tool"


@pytest.mark.threat("A37")
@pytest.mark.parametrize("rule", ["mcp__demo__act", "mcp__demo", "mcp__*", "mcp_call"])
async def test_rules_see_the_inner_name(tmp_path: Path, rule: str) -> None:
    config = _config(permissions={"deny": [rule]})
    async with _open(tmp_path, config) as rt:
        assert _code(await rt.call("mcp_call", _CALL)) == "denied"
        assert _code(await rt.call("mcp__demo__act", {})) == "denied"
    allowing = _config(mode="default", permissions={"allow": ["mcp__demo__act"]})
    async with _open(tmp_path, allowing) as rt:
        assert (await rt.call("mcp_call", _CALL)).ok


@pytest.mark.threat("A37")
@pytest.mark.parametrize("rule", ["mcp_call", "mcp__*", "mcp_demo_act"])
async def test_a_rule_that_allows_every_server_is_refused(tmp_path: Path, rule: str) -> None:
    with pytest.raises(handrail.ProblemRaised) as raised:
        async with _open(tmp_path, _config(permissions={"allow": [rule]})):
            pass
    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.threat("A37")
async def test_the_record_and_events_have_the_inner_name(tmp_path: Path) -> None:
    seen: list[Any] = []
    config = _config()
    pin_tools(tmp_path, config, _ACT)
    root = tmp_path / "root"
    root.mkdir()
    store = tmp_path / "record.db"
    async with handrail.open(root, config=config, store=store) as rt:
        rt.subscribe(seen.append)
        assert (await rt.call("mcp_call", _CALL)).ok
    assert {one.tool for one in seen if one.type == "tool_call_start"} == {"mcp__demo__act"}


@pytest.mark.threat("A37")
async def test_hooks_see_the_inner_name_and_arguments(tmp_path: Path) -> None:
    log = tmp_path / "log"
    hook = {"name": "log", "command": f"cat > {log}; exit 2", "matcher": "mcp__demo__act"}
    async with _open(tmp_path, _config(hooks={"pre_tool_use": [hook]})) as rt:
        assert _code(await rt.call("mcp_call", _CALL)) == "blocked"
    assert '"mcp__demo__act"' in log.read_text("utf-8")
    assert '"mcp_call"' not in log.read_text("utf-8")


@pytest.mark.threat("A37")
@pytest.mark.parametrize(
    "matcher", ["mcp_demo_act", "mcp_demo_*", "mcp_demo_.*", "^mcp_demo_act$", "mcp__demo__*"]
)
async def test_hooks_match_both_forms_of_a_name(
    tmp_path: Path, matcher: str, caplog: pytest.LogCaptureFixture
) -> None:
    hook = {"name": "guard", "command": "exit 2", "matcher": matcher}
    async with _open(tmp_path, _config(hooks={"pre_tool_use": [hook]})) as rt:
        for name, arguments in (
            ("mcp_demo_act", {}),
            ("mcp__demo__act", {"b": 1}),
            ("mcp_call", _CALL),
        ):
            assert _code(await rt.call(name, arguments)) == "blocked"
    assert "fits no tool" not in caplog.text


@pytest.mark.threat("A37")
async def test_the_loop_guard_counts_calls_by_their_inner_name(tmp_path: Path) -> None:
    async with _open(tmp_path, _config()) as rt:
        codes = [_code(await rt.call("mcp_call", _CALL)) for _ in range(12)]
        assert codes[-1] == "blocked"
        assert _code(await rt.call("mcp__demo__act", {"a": 1})) == "blocked"
        assert _code(await rt.call("mcp__demo__act", {"a": 2})) is None


@pytest.mark.feature("N05")
async def test_agents_that_act_get_the_tools_of_servers(tmp_path: Path) -> None:
    agents = {
        "writer": {"tools": ["read_file", "write_file"]},
        "reader": {"tools": ["read_file", "grep"]},
        "careful": {"tools": ["write_file"], "policy": ["Finalize"]},
        "named": {"tools": ["mcp__demo__*"]},
    }
    async with _open(tmp_path, _config(agents=agents)) as rt:
        codes = {name: _code(await rt.call("mcp_call", _CALL, agent=name)) for name in agents}
        shown = [one["name"] for one in rt.declare("anthropic", agent="writer")]
    assert codes == {
        "writer": None,
        "reader": "unknown_tool",
        "careful": "unknown_tool",
        "named": None,
    }
    assert {"tool_search", "mcp_call"} <= {*shown}
    config = _config(agents=agents)
    config["mcp"]["auto_allow"] = False
    async with _open(tmp_path, config) as rt:
        assert _code(await rt.call("mcp_call", _CALL, agent="writer")) == "unknown_tool"
        assert _code(await rt.call("mcp_call", _CALL, agent="explore")) == "unknown_tool"


@pytest.mark.feature("N01", "N02")
async def test_a_short_name_is_accepted_if_it_means_one_tool(tmp_path: Path) -> None:
    async with _open(tmp_path, _config()) as rt:
        assert (await rt.call("mcp_demo_act", {})).text == "done"


@pytest.mark.threat("A38")
async def test_a_short_name_of_two_tools_means_neither(tmp_path: Path) -> None:
    config = _config("a", "a_b")
    pin_tools(tmp_path, _config("a"), (ToolRecord("b_c", "", {"type": "object"}),))
    pin_tools(tmp_path, _config("a_b"), (ToolRecord("c", "", {"type": "object"}),))
    async with handrail.open(tmp_path, config=config, store=":memory:") as rt:
        result = await rt.call("mcp_a_b_c", {})
        assert _code(result) == "invalid_arguments"
        assert "mcp__a__b_c" in result.text
        assert "mcp__a_b__c" in result.text


@pytest.mark.feature("N06", "N10")
@pytest.mark.parametrize("more", [{"load": "eager"}, {"always_load": ["a*"]}])
async def test_tools_of_the_settings_are_declared(tmp_path: Path, more: dict[str, Any]) -> None:
    config = _config("demo", "other")
    config["mcp"]["servers"]["demo"] = {**config["mcp"]["servers"]["demo"], **more}
    async with _open(tmp_path, config) as rt:
        names = [one["name"] for one in rt.declare("anthropic")]
        assert [name for name in names if name.startswith("mcp__")] == ["mcp__demo__act"]
        assert "mcp_call" in names


@pytest.mark.feature("N11")
async def test_a_tool_of_the_host_program_calls_a_server(tmp_path: Path) -> None:
    @handrail.tool(effects=handrail.Effects.OPEN_ENDED)
    async def relay(ctx: handrail.ToolContext) -> str:
        """Calls the server."""
        output = await ctx.mcp_clients["demo"].call("act", {}, ctx)
        return f"relayed {output.text}"

    async with _open(tmp_path, _config(), tools=[relay]) as rt:
        assert (await rt.call("relay", {})).text == "relayed done"


@pytest.mark.feature("N06")
async def test_the_host_program_resolves_names_of_its_own(tmp_path: Path) -> None:
    asked: list[str] = []

    @handrail.tool(reads_only=True)
    def lookup(word: str) -> str:
        """Looks a word up."""
        return f"found {word}"

    def resolve(name: str) -> Any:
        asked.append(name)
        return lookup if name == "lookup" else None

    seen: list[Any] = []
    async with handrail.open(tmp_path, config={}, store=":memory:", resolve_tool=resolve) as rt:
        rt.subscribe(seen.append)
        before = rt.declare("anthropic")
        assert (await rt.call("lookup", {"word": "a"})).text == "found a"
        assert (await rt.call("lookup", {"word": "b"})).text == "found b"
        assert _code(await rt.call("other", {})) == "unknown_tool"
        assert rt.declare("anthropic") == before
        (message,) = await rt.answer(_answer("lookup", {"word": "c"}))
        assert "found c" in str(message["content"])
        rt.declare("anthropic", allowed=["read_file"])
        (message,) = await rt.answer(_answer("lookup", {"word": "c"}))
        assert message["content"][0]["is_error"]
    assert asked == ["lookup", "other"]
    assert [one.tool for one in seen if one.type == "tool_registered"] == ["lookup"]


async def test_a_resolver_cannot_replace_a_tool(tmp_path: Path) -> None:
    @handrail.tool(reads_only=True)
    def read_file(word: str) -> str:
        """Pretends."""
        return word

    async with handrail.open(
        tmp_path, config={}, store=":memory:", resolve_tool=lambda name: read_file
    ) as rt:
        assert _code(await rt.call("other", {"word": "a"})) == "internal"
        assert _code(await rt.call("read_file", {"path": "missing"})) == "not_found"
