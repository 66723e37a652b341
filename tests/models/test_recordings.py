"""Recorded exchanges: each wire carries what was recorded on any other, and the SDKs see the same.

The recordings are made with the fake provider. A directory of others, recorded with real services, is
read too if HANDRAIL_RECORDINGS names it.
"""

import json
import os
import random
from pathlib import Path

import httpx2 as httpx
import pytest
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from tests.models.reading_back import facts, read_back, through_the_store
from tests.models.speaking import WIRES, collect, model_on

from handrail.core.ports.models import (
    Finish,
    Message,
    MessageDone,
    ModelFailed,
    ModelLimits,
    ModelRequest,
    ResultBlock,
    TextBlock,
)
from handrail.models.client import Endpoint, WireModel
from handrail.models.retries import RetryPolicy
from handrail.models.scripted.replay import RecordingTransport, ReplayTransport, read_recording
from handrail.models.transport import HttpTransport
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions
from handrail.testing import FakeProvider, ScriptedCall, ScriptedMessage

pytestmark = pytest.mark.filterwarnings("ignore")
REAL = Path(os.environ["HANDRAIL_RECORDINGS"]) if "HANDRAIL_RECORDINGS" in os.environ else None
MESSAGES = (
    ScriptedMessage(
        "I look.", (ScriptedCall("read_file", {"path": "ä.txt"}, "c1"),), "First this."
    ),
    ScriptedMessage("", tuple(ScriptedCall("read_file", {"path": n}, f"d{n}") for n in "ab")),
    ScriptedMessage("Grüße, 世界!"),
)


async def record(wire):
    """The bytes of a recording of three exchanges."""
    transport = RecordingTransport(HttpTransport(), lambda: ["sk-test-0123456789"])
    async with FakeProvider(list(MESSAGES), chunk=5) as server:
        model = model_on(server, wire, transport=transport)
        for _ in MESSAGES:
            [_ async for _ in model.stream(ModelRequest((), (USER,)))]
        await model.aclose()
    return transport.recording()


USER = Message("user", (TextBlock("please"),))


def real_recordings():
    """Name, bytes and wire of the recordings that were made with real services."""
    for path in [] if REAL is None else sorted(REAL.iterdir()):
        if path.suffix in (".json", ".txt") and path.name != "README.md":
            data = path.read_bytes()
            yield path.name, data, read_recording(path.name, data)[1] or "anthropic"


async def replay(data, wire):
    """The messages of the exchanges in a recording; None for one that has failed."""
    replies, _ = read_recording("recording", data)
    ended = [await finish(wire, reply) for reply in replies]
    return [None if one is None else one.message for one in ended]


async def finish(wire, reply):
    """The last event of one answer, None if it has failed."""

    async def no_key():
        return None

    model = WireModel(
        "recorded",
        FORMATS[wire],
        WireOptions("m"),
        Endpoint("replay://local", no_key, {}),
        ReplayTransport([reply]),
        limits=ModelLimits(stream_retries=0),
        retries=RetryPolicy(0),
    )
    try:
        events = await collect(model, ModelRequest((), (USER,)))
    except ModelFailed:
        return None
    return next(one for one in events if isinstance(one, MessageDone))


def journal(messages):
    """A conversation with these messages of the model, and a result for each call."""
    made = []
    for number, message in enumerate(messages):
        made += [Message("user", (TextBlock(f"task {number}"),)), message]
        if message.calls:
            results = [ResultBlock(one.id, (TextBlock(f"of {one.id}"),)) for one in message.calls]
            made.append(Message("tool", tuple(results)))
    return through_the_store([*made, USER])


def check_on_every_wire(messages):
    kept = journal(messages)
    for wire in WIRES:
        body = FORMATS[wire].render(ModelRequest((), kept), WireOptions("m"))
        FORMATS[wire].check(body)
        assert read_back(wire, json.loads(json.dumps(body))) == facts(kept), wire


@pytest.mark.parametrize("wire", WIRES)
async def test_a_recorded_conversation_says_the_same_on_every_wire(wire):
    messages = await replay(await record(wire), wire)

    assert [len(one.calls) for one in messages] == [1, 2, 0]
    check_on_every_wire(messages)


async def test_recordings_of_real_services_say_the_same_on_every_wire():
    for _, data, wire in real_recordings():
        messages = [one for one in await replay(data, wire) if one is not None]
        if messages:
            check_on_every_wire(messages)


def test_requests_that_a_service_has_taken_pass_the_check_and_others_do_not():
    for name, data, wire in real_recordings():
        if not name.endswith(".json"):
            continue
        for exchange in json.loads(data)["interactions"]:
            body = json.loads(exchange["request"]["body"])
            if exchange["response"]["status"] == 200:
                FORMATS[wire].check(body)
            else:
                with pytest.raises(ModelFailed):
                    FORMATS[wire].check(body)


def chopped(data, seed):
    """The bytes in pieces of random length."""
    chance, at = random.Random(seed), 0
    while at < len(data):
        size = chance.randint(1, 40)
        yield data[at : at + size]
        at += size


async def sdk_calls(wire, data):
    """Name and arguments of the calls in a stream, as the SDK of the provider sees them; None if it
    refuses the stream.
    """

    async def pieces():
        for piece in chopped(data, 7):
            yield piece

    def answer(_request):
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, content=pieces())

    client = httpx.AsyncClient(transport=httpx.MockTransport(answer))
    options = {"api_key": "k", "max_retries": 0, "http_client": client, "base_url": "http://x"}
    if wire == "anthropic":
        asked = {"model": "m", "messages": [{"role": "user", "content": "x"}], "max_tokens": 9}
        async with AsyncAnthropic(**options).messages.stream(**asked) as stream:
            final = await stream.get_final_message()
        return [(one.name, one.input) for one in final.content if one.type == "tool_use"]
    if wire == "openai-chat":
        asked = {"model": "m", "messages": [{"role": "user", "content": "x"}]}
        async with AsyncOpenAI(**options).chat.completions.stream(**asked) as stream:
            async for _ in stream:
                pass
            final = (await stream.get_final_completion()).choices[0].message
        return [
            (one.function.name, json.loads(one.function.arguments or "{}"))
            for one in final.tool_calls or ()
        ]
    async with AsyncOpenAI(**options).responses.stream(model="m", input="x") as stream:
        async for _ in stream:
            pass
        final = await stream.get_final_response()
    calls = [one for one in final.output if one.type == "function_call"]
    return [(one.name, json.loads(one.arguments)) for one in calls]


async def compare_with_sdk(name, data, wire):
    replies, _ = read_recording(name, data)
    compared = 0
    for reply in replies:
        done = await finish(wire, reply)
        # The SDKs take the arguments of a message that was cut off as they are; they are no call.
        if done is None or done.finish is Finish.LENGTH or wire == "gemini":
            continue
        message = done.message
        ours = [(one.name, json.loads(one.arguments_json or "{}")) for one in message.calls]
        assert ours == await sdk_calls(wire, b"".join(reply.chunks)), name
        compared += 1
    return compared


@pytest.mark.parametrize("wire", ["openai-chat", "openai-responses", "anthropic"])
async def test_the_calls_of_a_recording_are_those_that_the_sdk_sees(wire):
    assert await compare_with_sdk(wire, await record(wire), wire) == len(MESSAGES)


async def test_the_calls_of_real_recordings_are_those_that_the_sdks_see():
    for name, data, wire in real_recordings():
        await compare_with_sdk(name, data, wire)


@pytest.mark.threat("A01")
@pytest.mark.parametrize("wire", WIRES)
async def test_a_recording_that_is_cut_gives_the_whole_message_or_none(wire):
    replies, _ = read_recording(wire, await record(wire))
    assert await check_cuts(wire, replies[1]) > 100


async def test_a_real_recording_that_is_cut_gives_the_whole_message_or_none():
    for _, data, wire in real_recordings():
        for reply in read_recording("recording", data)[0]:
            if reply.status == 200 and len(reply.chunks[0]) < 20_000:
                await check_cuts(wire, reply)


async def check_cuts(wire, reply):
    """Cut a stream at every byte; returns at how many there was no message."""
    data = b"".join(reply.chunks)
    whole, cut = await finish(wire, reply), 0
    for end in range(len(data)):
        found = await finish(wire, reply._replace(chunks=[data[:end]]))
        assert found in (None, whole)
        cut += found is None
    return cut
