"""Models that say a script or a recording."""

import json

import pytest
from tests.models.speaking import KEY, WIRES, asked, collect, model_on, no_sleep

from handrail.core.ports.models import (
    Finish,
    Message,
    ModelFailed,
    ModelRetry,
    ResultBlock,
    TextBlock,
)
from handrail.core.problems import ProblemRaised
from handrail.models.retries import RetryPolicy
from handrail.models.scripted.replay import RecordingTransport, replay_model
from handrail.models.scripted.script_file import read_script
from handrail.models.scripted.script_model import ScriptModel
from handrail.models.transport import HttpTransport
from handrail.testing import FakeProvider, ScriptedCall, ScriptedMessage

FAST = RetryPolicy(sleep=no_sleep, idle_s=0.2)


def scripted(*lines, **more):
    text = "\n".join(json.dumps(line) for line in lines)
    return ScriptModel("script:x", read_script(text, "x"), retries=FAST, **more)


async def say(model, *messages):
    return [event async for event in model.stream(asked(*messages))]


@pytest.mark.parametrize("wire", WIRES)
async def test_messages_come_in_order_and_then_done(wire):
    call = {"name": "read_file", "arguments": {"path": "a"}, "id": "c1"}
    model = scripted({"text": "look", "calls": [call]}, {"text": "seen"}, wire=wire, chunk=1)

    first = (await say(model))[-1]
    answer = Message("tool", (ResultBlock("c1", (TextBlock("A"),)),))
    second = (await say(model, first.message, answer))[-1]
    third = (await say(model))[-1]

    assert (first.finish, first.message.text, first.message.calls[0].id) == ("calls", "look", "c1")
    assert second.message.text == "seen"
    assert third.message.text == "done"


async def test_an_expectation_is_searched_in_the_results_since_the_last_message():
    call = {"name": "read_file", "arguments": {"path": "a"}, "id": "c1"}
    lines = ({"calls": [call]}, {"expect": "^def f"}, {"text": "ok"})
    good, bad = scripted(*lines), scripted(*lines)
    first = (await say(good))[-1].message
    await say(bad)
    result = Message("tool", (ResultBlock("c1", (TextBlock("def f(): ..."),)),))
    other = Message("tool", (ResultBlock("c1", (TextBlock("no def f"),)),))

    assert (await say(good, first, result))[-1].message.text == "ok"
    with pytest.raises(ModelFailed, match="line 2 of the script"):
        await say(bad, first, other)


async def test_faults_are_met_once():
    model = scripted({"fault": "429", "retry_after_s": 3}, {"fault": "hang"}, {"text": "there"})

    events = await say(model)

    assert [e.code for e in events if isinstance(e, ModelRetry)] == ["rate_limited", "idle"]
    assert events[-1].message.text == "there"


async def test_children_take_the_blocks_of_their_type_in_order():
    model = scripted(
        {"text": "main"},
        {"agent": "explore", "as": "first"},
        {"text": "one"},
        {"agent": "explore"},
        {"text": "two"},
        {"agent": "review"},
        {"text": "three"},
    )
    kinds = ["explore", "review", "explore", "explore"]
    children = [model.child(kind) for kind in kinds]

    said = [(await say(child))[-1].message.text for child in children]

    assert said == ["one", "three", "two", "done"]
    assert (await say(model))[-1].message.text == "main"


def test_answers_of_the_user_come_in_order():
    model = scripted(
        {"person": "yes"}, {"person": "no: too big"}, {"person": {"answers": {"a": 1}}}
    )

    answers = [model.next_answer() for _ in range(4)]

    assert answers == ["yes", "no: too big", {"answers": {"a": 1}}, None]


@pytest.mark.parametrize(
    "line",
    [
        "[]",
        "{}",
        "{",
        '{"txt": "a"}',
        '{"text": "a", "expect": "b"}',
        '{"expect": "("}',
        '{"person": "maybe"}',
        '{"fault": "fire"}',
        '{"fault": "cut", "text": "a"}',
        '{"text": "a", "delay_s": 1e9}',
        '{"text": "a", "usage": {"in": 1}}',
        '{"calls": [{"arguments": {}}]}',
        '{"calls": [{"name": "a", "args": {}}]}',
        '{"agent": ""}',
    ],
)
def test_a_wrong_line_is_named(line):
    with pytest.raises(ProblemRaised) as raised:
        read_script('{"text": "fine"}\n\n' + line, "my.jsonl")

    assert "line 3" in raised.value.problem.message


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A06")
async def test_a_recording_is_replayed_byte_for_byte_and_has_no_key(wire):
    calls = (ScriptedCall("write_file", {"path": "ä", "content": "hello"}, "c1"),)
    message = ScriptedMessage("so", calls, "hm")
    async with FakeProvider([message], chunk=3) as server:
        transport = RecordingTransport(HttpTransport(), lambda: [KEY])
        live = await collect(model_on(server, wire, transport=transport))
    data = transport.recording()

    replayed = await collect(replay_model("replay:x", data))

    assert KEY.encode() not in data
    assert [type(event) for event in replayed] == [type(event) for event in live]
    assert replayed[-1].finish is Finish.CALLS
    assert replayed[-1].message.text == live[-1].message.text


async def test_a_plain_event_stream_is_a_recording():
    from handrail.models.scripted.replies import ReplyQueue

    data = b"".join(ReplyQueue([ScriptedMessage("hello")]).answer("anthropic", b"{}").chunks)
    model = replay_model("replay:x", data, "anthropic")

    assert (await collect(model))[-1].message.text == "hello"
    with pytest.raises(ModelFailed, match="no further exchange"):
        await collect(model)
    with pytest.raises(ProblemRaised, match="wire"):
        replay_model("replay:x", data)
    with pytest.raises(ProblemRaised, match="no recording"):
        replay_model("replay:x", b'{"interactions": [{}]}', "anthropic")


def test_the_context_of_a_replayed_model_is_not_assumed():
    model = replay_model("replay:x", b'data: {"a": 1}\n\n', "anthropic")

    assert (model.name, model.scripted) == ("replay:x", True)
    assert model.limits.context_known
