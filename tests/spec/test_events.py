"""What a listener is told, and that a listener cannot do harm."""

import asyncio
import json

import anyio
import pytest

import handrail
from handrail.core import events


@pytest.mark.feature("V01", "V02", "V03", "Y01")
async def test_a_listener_is_told_everything_in_order(workspace, open_runtime):
    workspace.write("a.txt", "x\n")
    told = []

    @handrail.tool(reads_only=True)
    async def walk(ctx: handrail.ToolContext) -> str:
        """Reports its way."""
        ctx.report("half way")
        return "there"

    async with open_runtime() as rt:
        rt.register(walk)
        rt.subscribe(told.append)
        await rt.call("walk", id="1")
        await rt.batch(
            [
                {"id": "2", "name": "write_file", "arguments": {"path": "b", "content": ""}},
                {"id": "3", "name": "read_file", "arguments": {"path": "b"}},
            ]
        )

    assert [event.type for event in told] == [
        "tool_call_start",
        "tool_call_progress",
        "tool_call_end",
        "tool_calls_batch_start",
        "tool_call_start",
        "file_changed",
        "tool_call_end",
        "tool_call_start",
        "tool_call_end",
        "context_modified",
        "tool_calls_batch_end",
    ]
    assert told[1].to_dict() == {
        "type": "tool_call_progress", "v": 1, "call_id": "1", "tool": "walk", "text": "half way",
    }  # fmt: skip
    assert told[3].groups == (("2",), ("3",))
    assert json.dumps([event.to_dict() for event in told], default=str)


@pytest.mark.needs_sandbox
@pytest.mark.feature("F16", "T05")
async def test_whoever_keeps_what_is_made_of_files_is_told_which_have_changed(
    workspace, open_runtime
):
    workspace.write("a.txt", "one\n")
    told = []
    async with open_runtime(mode="sandboxed") as rt:
        rt.subscribe(told.append)
        await rt.call("write_file", {"path": "b.txt", "content": "x\n"}, id="1")
        await rt.call("run_command", {"command": "sed -i s/one/two/ a.txt"}, id="2")
        await rt.call("read_file", {"path": "a.txt"}, id="3")

    changed = [event for event in told if event.type == "file_changed"]
    assert [(one.call_id, one.path, one.operation) for one in changed] == [
        ("1", "b.txt", "create"),
        ("2", "a.txt", "write"),
    ]


@pytest.mark.feature("V01", "R-13")
async def test_a_long_call_sends_heartbeats(open_runtime):
    beats, enough = [], asyncio.Event()

    def listener(event):
        if isinstance(event, events.CallHeartbeat):
            beats.append(event)
            if len(beats) == 3:
                enough.set()

    @handrail.tool(reads_only=True)
    async def slow() -> str:
        """Waits for three heartbeats."""
        await enough.wait()
        return "alive"

    async with open_runtime(config={"heartbeat_s": 0.02}) as rt:
        rt.register(slow)
        rt.subscribe(listener)
        with anyio.fail_after(5):
            result = await rt.call("slow", id="h")

    assert result.ok
    assert [one.call_id for one in beats] == ["h"] * 3
    assert beats[0].elapsed_s < beats[2].elapsed_s


@pytest.mark.feature("R-13")
def test_the_heartbeat_comes_every_four_seconds_unless_told_otherwise():
    from handrail.config.model import Settings

    assert Settings().heartbeat_s == 4.0


@pytest.mark.feature("C09")
async def test_registry_and_calls_publish_and_a_failing_listener_is_harmless(
    workspace, open_runtime
):
    told = []

    def broken(event):
        raise RuntimeError("listener bug")

    @handrail.tool(reads_only=True)
    def hello() -> str:
        """Says hello."""
        return "hello"

    async with open_runtime() as rt:
        rt.subscribe(broken)
        rt.subscribe(lambda event: told.append(event.type))
        rt.register(hello)
        good = await rt.call("hello", on_event=broken)
        bad = await rt.call("read_file", {"path": "none"})
        rt.registry.unregister("hello")

    assert good.ok
    assert not bad.ok
    assert told == [
        "tool_registered",
        "tool_call_start",
        "tool_call_end",
        "tool_call_start",
        "tool_call_end",
        "tool_unregistered",
    ]


@pytest.mark.feature("B04", "B06", "B02")
async def test_modifiers_of_a_batch_are_applied_in_call_order(workspace, open_runtime):
    workspace.write("a.txt", "a\n")
    second_done = asyncio.Event()
    told = []

    @handrail.tool(reads_only=True)
    async def first() -> handrail.Output:
        """Ends last."""
        await second_done.wait()
        return handrail.Output("1", modifiers=(handrail.QueueCommand("one"),))

    @handrail.tool(reads_only=True)
    async def second() -> handrail.Output:
        """Ends first."""
        second_done.set()
        return handrail.Output("2", modifiers=(handrail.QueueCommand("two"),))

    async with open_runtime() as rt:
        rt.register(first)
        rt.register(second)
        rt.subscribe(lambda event: told.append(event) if "modified" in event.type else None)
        with anyio.fail_after(5):
            results = await rt.batch(
                [
                    {"name": "first"},
                    {"name": "second"},
                    {"name": "read_file", "arguments": {"path": "a.txt"}},
                ]
            )

    assert list(rt.queue) == ["one", "two"]
    assert [event.modifier for event in told[:2]] == [
        handrail.QueueCommand("one"),
        handrail.QueueCommand("two"),
    ]
    assert told[2].modifier == handrail.FileRead("a.txt", "a")
    assert results[0].with_modifier(handrail.QueueCommand("x")).modifiers[-1].command == "x"
