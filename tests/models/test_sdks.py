"""Handrail's view of a stream is that of the providers' own SDKs."""

import json

import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from tests.models.speaking import collect, model_on

import handrail
from handrail.testing import FakeProvider, ScriptedCall, ScriptedMessage

pytestmark = pytest.mark.filterwarnings("ignore")
CALLS = (
    ScriptedCall("read_file", {"path": "ä 'quoted' \"twice\".txt", "lines": [1, 2.5, None]}, "c1"),
    ScriptedCall("list_directory", {}, "c2"),
    ScriptedCall("write_file", {"path": "n", "content": "eins\nzwei\t\u2028" * 30}, "c3"),
)
MESSAGES = {
    "text": ScriptedMessage("Grüße, 世界! " * 20),
    "calls": ScriptedMessage("", CALLS),
    "both": ScriptedMessage("I look.", CALLS[:1]),
    "one": ScriptedMessage("", CALLS[2:]),
}
MESSAGE = {"role": "user", "content": "please"}
TOOLS = {"input_schema": {"type": "object"}, "name": "read_file"}


async def chat(server):
    client = AsyncOpenAI(base_url=server.base_url("openai-chat"), api_key="k", max_retries=0)
    async with client.chat.completions.stream(model="m", messages=[MESSAGE]) as stream:
        events = [event async for event in stream]
        final = (await stream.get_final_completion()).choices[0].message
    calls = [(c.id, c.function.name, c.function.arguments) for c in final.tool_calls or ()]
    return events, final.content or "", calls


async def responses(server):
    client = AsyncOpenAI(base_url=server.base_url("openai-responses"), api_key="k", max_retries=0)
    events = []
    async with client.responses.stream(model="m", input="please") as stream:
        async for event in stream:
            events.append(event)
        final = await stream.get_final_response()
    calls = [
        (item.call_id, item.name, item.arguments)
        for item in final.output
        if item.type == "function_call"
    ]
    return events, final.output_text, calls


async def anthropic(server):
    client = AsyncAnthropic(base_url=server.base_url("anthropic"), api_key="k", max_retries=0)
    async with client.messages.stream(model="m", messages=[MESSAGE], max_tokens=99) as stream:
        events = [event async for event in stream]
        final = await stream.get_final_message()
    text = "".join(block.text for block in final.content if block.type == "text")
    calls = [
        (block.id, block.name, json.dumps(block.input))
        for block in final.content
        if block.type == "tool_use"
    ]
    return events, text, calls


SDKS = {"openai-chat": chat, "openai-responses": responses, "anthropic": anthropic}


@pytest.mark.parametrize("wire", SDKS)
@pytest.mark.parametrize("kind", MESSAGES)
@pytest.mark.parametrize("chop", [1, 7, 100, None])
async def test_calls_and_text_are_those_of_the_sdk(tmp_path, wire, kind, chop):
    async with FakeProvider([MESSAGES[kind]] * 2, chunk=11, chop=chop) as server:
        events, text, calls = await SDKS[wire](server)
        ours = (await collect(model_on(server, wire)))[-1].message
    opened = handrail.open(tmp_path, store=":memory:", config={})
    async with opened as rt, rt.stream(events) as turn:
        seen = [event async for event in turn]

    assert seen == events
    assert ours.text == text
    assert [(c.id, c.name, json.loads(c.arguments_json or "{}")) for c in ours.calls] == [
        (call_id, name, json.loads(arguments or "{}")) for call_id, name, arguments in calls
    ]
    assert turn.finish == ("calls" if calls else "end")
    assert _calls(turn.messages) == [call_id for call_id, _, _ in calls]


def _calls(value):
    """The ids of the calls in messages."""
    if isinstance(value, list):
        return [found for one in value for found in _calls(one)]
    if not isinstance(value, dict):
        return []
    if value.get("type") in ("function", "tool_use"):
        return [value["id"]]
    if value.get("type") == "function_call":
        return [value["call_id"]]
    return [found for one in value.values() for found in _calls(one)]
