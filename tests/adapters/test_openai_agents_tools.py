"""The tools for the OpenAI Agents SDK, without the framework."""

from types import SimpleNamespace

import pytest
from tests.support.framework_doubles import load_adapter

import handrail
from handrail.adapters.approvals import FrameworkApprover
from handrail.core.results import Image, Status, ToolResult


@pytest.fixture
def adapter(monkeypatch):
    names = ("agents", "agents.tool", "agents.tool_context", "agents.items", "agents.run_context")
    return load_adapter(monkeypatch, "openai_agents", *names)


def context(status=None, *, agent="a", call="c"):
    asked = []

    def get_approval_status(name, call_id, current_invocation):
        asked.append((name, call_id, current_invocation.raw_item, current_invocation.agent))
        return status

    return SimpleNamespace(
        tool_name="t", tool_call=call, tool_call_id="id", agent=agent, asked=asked,
        get_approval_status=get_approval_status,
    )  # fmt: skip


@pytest.mark.parametrize(("status", "approved"), [(True, True), (False, False), (None, False)])
def test_only_this_very_call_is_approved(adapter, status, approved):
    given = context(status)

    assert adapter._is_approved(given) is approved
    assert given.asked == [("t", "id", "c", "a")]
    for unknown in (context(True, agent=None), context(True, call=None)):
        assert adapter._is_approved(unknown) is False


def test_results_are_text_with_pictures(adapter):
    assert adapter._returned(ToolResult("c", Status.OK, "fine")) == "fine"
    assert adapter._returned(ToolResult("c", Status.FAILED, "no")) == "Error: no"
    picture = Image("image/png", b"png")
    text, image = adapter._returned(ToolResult("c", Status.OK, "seen", images=(picture,)))
    assert text.text == "seen"
    assert image.image_url == "data:image/png;base64,cG5n"


async def test_calls_of_tools(adapter, tmp_path):
    (tmp_path / "a.txt").write_text("one\n")
    settings = {"store": ":memory:", "approver": FrameworkApprover(), "mode": "default"}
    async with handrail.open(tmp_path, **settings) as rt:
        read, write = adapter.function_tools(rt, tools=["read_file", "write_file"])
        assert (read.name, read.strict_json_schema) == ("read_file", False)
        assert read.params_json_schema["properties"]["path"]
        assert await read.needs_approval(None, {"path": "a.txt"}, "id") is False
        assert await write.needs_approval(None, {"path": "b.txt", "content": ""}, "id") is True
        assert await read.needs_approval(None, {"path": "../b.txt"}, "id") is False
        assert "one" in await read.on_invoke_tool(context(), '{"path": "a.txt"}')
        arguments = '{"path": "b.txt", "content": "x"}'
        assert (await write.on_invoke_tool(context(), arguments)).startswith("Error: ")
        assert not (tmp_path / "b.txt").exists()
        assert "Error" not in await write.on_invoke_tool(context(True), arguments)
        assert (tmp_path / "b.txt").read_text() == "x"


async def test_without_a_framework_approver_nothing_is_asked_there(adapter, tmp_path):
    async with handrail.open(tmp_path, store=":memory:") as rt:
        (tool,) = adapter.function_tools(rt, tools=["write_file"])

    assert tool.needs_approval is False
