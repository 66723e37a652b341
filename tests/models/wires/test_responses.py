"""OpenAI's Responses: streams item by item, and requests."""

import pytest

from handrail.core.ports.models import (
    CallBlock,
    CallClosed,
    Finish,
    Message,
    ModelFailed,
    ModelRequest,
    Picture,
    RawMessage,
    ResultBlock,
    TextBlock,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from handrail.models.wires.requests import WireOptions
from handrail.models.wires.responses import ResponsesReader, ResponsesWire

BEGIN = {"type": "response.created", "response": {"id": "r1"}}
ARGUMENTS = '{"a": 1}'


def said(text, index=0, kind="output_text"):
    return {"type": f"response.{kind}.delta", "output_index": index, "delta": text}


def item(state, index=0, **value):
    return {"type": f"response.output_item.{state}", "output_index": index, "item": value}


def call(state, index=0, given="c1", name="t", **more):
    return item(state, index, type="function_call", call_id=given, name=name, **more)


def arguments(text, index=0):
    return {
        "type": "response.function_call_arguments.delta",
        "output_index": index,
        "delta": text,
    }


def end(kind="completed", **response):
    return {"type": f"response.{kind}", "response": {"status": kind, **response}}


def read(*events):
    reader = ResponsesReader()
    return reader, [one for event in events for one in reader.read(event)]


def message(*events):
    return read(BEGIN, *events)[0].end().message


def closed(*events):
    found = read(BEGIN, *events)[1]
    return [(one.id, one.arguments_json) for one in found if isinstance(one, CallClosed)]


def test_text_and_reasoning():
    reader, found = read(
        BEGIN,
        said("a", kind="reasoning_summary_text"),
        said("b", kind="reasoning_text"),
        item("done", type="reasoning", id="x", encrypted_content="e"),
        said("c", 1),
        said("d", 1),
        end(),
    )

    assert found == [ThinkingDelta("a"), ThinkingDelta("b"), TextDelta("c"), TextDelta("d")]
    done = reader.end()
    assert (done.finish, done.response_id, reader.stopped) == (Finish.END, "r1", True)
    assert done.message.raw.value == [
        {"type": "reasoning", "id": "x", "encrypted_content": "e"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "cd", "annotations": []}],
        },
    ]


def test_thinking_without_an_item_does_not_go_back():
    assert message(said("a", kind="reasoning_text"), end()).raw.value == []


@pytest.mark.parametrize(
    "events",
    [
        (call("added"), arguments('{"a"'), arguments(": 1}"), call("done", arguments=ARGUMENTS)),
        (call("added", arguments=ARGUMENTS), call("done")),
        (call("added"), call("done", arguments=ARGUMENTS)),
        (call("done", arguments=ARGUMENTS),),
        (call("done", arguments=ARGUMENTS, status="completed"),),
    ],
)
def test_the_arguments_of_a_call(events):
    assert closed(*events) == [("c1", ARGUMENTS)]
    assert message(*events, end()).calls[0].arguments_json == ARGUMENTS


def test_a_call_that_is_not_complete_stays_open():
    assert closed(call("done", arguments="{", status="incomplete")) == []


def test_items_may_be_told_apart_by_their_ids():
    added = {"type": "response.output_item.added", "item": {"type": "function_call", "id": "i1"}}
    more = {"type": "response.function_call_arguments.delta", "item_id": "i1", "delta": "{}"}
    reader, _ = read(BEGIN, added, more)

    assert reader.calls[0].arguments_json == "{}"


@pytest.mark.parametrize(
    "events",
    [
        [BEGIN, BEGIN],
        [BEGIN, {"type": "response.output_text.delta", "delta": "a"}],
        [BEGIN, said("a", True)],
        [BEGIN, call("added"), call("added")],
        [BEGIN, arguments("{}")],
        [BEGIN, said("a"), arguments("{}")],
        [BEGIN, {"type": "response.output_item.done", "output_index": 0, "item": 5}],
        [BEGIN, said("a"), call("done")],
        [BEGIN, call("added"), arguments("{}"), call("done", arguments=ARGUMENTS)],
        [BEGIN, call("added"), end()],
        [BEGIN, end("failed", error={"message": "x"})],
        [BEGIN, end("completed") | {"response": {"status": "failed"}}],
        [{"type": "error", "error": {"message": "x"}}],
        [{"type": "error", "message": "x"}],
    ],
)
def test_streams_that_are_wrong(events):
    with pytest.raises(ModelFailed):
        read(*events)


def test_unknown_events_are_passed_over():
    assert read({"type": "response.in_progress"}, BEGIN, {"type": "x"})[1] == []


def test_text_that_comes_only_with_its_item():
    parts = [{"text": "a"}, {"text": "b"}]
    assert message(item("done", type="message", content=parts), end()).text == "ab"
    late = message(said("x"), item("done", type="message", content=parts), end())
    assert late.text == "x"


def test_a_refusal():
    assert read(BEGIN, said("no", kind="refusal"), end())[0].end().finish is Finish.REFUSED
    whole = item("done", type="message", content=[{"refusal": "no"}])
    reader, _ = read(BEGIN, whole, end())
    assert (reader.end().finish, reader.end().message.text) == (Finish.REFUSED, "no")


def test_other_items_are_kept():
    one = {"type": "web_search_call", "id": "w"}

    assert message(item("done", **one), end()).raw.value == [one]


@pytest.mark.parametrize(
    ("reason", "finish", "word"),
    [
        ("max_output_tokens", None, "max_output_tokens"),
        ("other", Finish.CUT, "other"),
        (None, Finish.CUT, "incomplete"),
    ],
)
def test_an_incomplete_response(reason, finish, word):
    reader, _ = read(BEGIN, said("a"), end("incomplete", incomplete_details={"reason": reason}))

    assert reader.ending.reason == word
    assert reader.ending.finish is not Finish.UNKNOWN
    assert finish in (None, reader.ending.finish)


def test_what_only_the_finished_response_has():
    whole = {"type": "function_call", "call_id": "c1", "name": "t", "arguments": ARGUMENTS}
    spoken = {"type": "message", "content": [{"text": "a"}]}
    other = {"type": "reasoning", "encrypted_content": "e"}

    assert closed(end(output=[whole])) == [("c1", ARGUMENTS)]
    assert message(end(output=[spoken])).text == "a"
    assert message(end(output=[other])).raw.value == [other]
    assert message(said("b"), end(output=[spoken, other])).text == "b"
    assert message(said("b", kind="reasoning_text"), end(output=[spoken, other])).text == "a"
    assert closed(call("added"), end(output=[whole])) == [("c1", ARGUMENTS)]
    assert closed(call("done", arguments=ARGUMENTS), end(output=[whole])) == [("c1", ARGUMENTS)]


def test_calls_that_get_new_ids_at_the_end_are_not_run_twice():
    done = call("done", arguments=ARGUMENTS, id="i1")
    new = {"type": "function_call", "call_id": "z", "name": "t", "arguments": '{"a":1}'}

    assert len(closed(done, end(output=[new]))) == 1
    assert len(closed(done, end(output=[new | {"id": "i1", "arguments": "{}"}]))) == 1
    assert len(closed(done, end(output=[new | {"name": "u"}]))) == 2
    assert len(closed(done, end(output=[new | {"arguments": "{}"}]))) == 2
    assert len(closed(done, end(output=[new, new]))) == 2
    assert len(closed(call("added"), end(output=[new]))) == 1


def test_tokens():
    usage = {
        "input_tokens": 5,
        "output_tokens": 6,
        "input_tokens_details": {"cached_tokens": 2},
    }

    assert read(BEGIN, end(usage=usage))[1] == [UsageReported(5, 6, 2, 0)]
    assert read(BEGIN, end(usage=5))[1] == []


@pytest.mark.parametrize(("given", "sent"), [(ARGUMENTS, ARGUMENTS), ("[1]", "{}"), (" ", "{}")])
def test_a_call_goes_back_with_arguments_that_are_an_object(given, sent):
    made = message(call("done", name="a b", arguments=given, id="i1"), end()).raw.value[0]

    assert (made["name"], made["arguments"], made["id"]) == ("invalid_tool_name", sent, "i1")


# --- requests ---------------------------------------------------------------------------

PICTURE = Picture("image/png", b"x")
HELLO = Message("user", (TextBlock("hello"),))


def items(*messages, sees=True):
    options = WireOptions("m", sees_images=sees)
    return ResponsesWire().render(ModelRequest((), messages), options)["input"]


def test_messages_calls_and_results():
    asked = Message("assistant", (TextBlock("a"), CallBlock("c1", "t", ARGUMENTS)))
    result = Message("tool", (ResultBlock("c1", (TextBlock("r"),)),))

    made = items(HELLO, asked, result)

    assert made[0] == {"role": "user", "content": [{"type": "input_text", "text": "hello"}]}
    assert made[1]["content"][0]["text"] == "a"
    assert made[2] == {
        "type": "function_call",
        "call_id": "c1",
        "name": "t",
        "arguments": ARGUMENTS,
    }
    assert made[3] == {"type": "function_call_output", "call_id": "c1", "output": "r"}
    assert items(Message("assistant", (CallBlock("c", "t", "{}"),)))[0]["type"] == "function_call"


@pytest.mark.parametrize("sees", [True, False])
def test_pictures(sees):
    asked = Message("assistant", (CallBlock("c1", "t", "{}"),))
    alone = Message("tool", (ResultBlock("c1", (PICTURE,)),))
    both = Message("tool", (ResultBlock("c1", (TextBlock("r"), PICTURE)),))
    kind = "input_image" if sees else "input_text"

    assert items(Message("user", (PICTURE,)), sees=sees)[0]["content"][0]["type"] == kind
    output = items(asked, alone, sees=sees)[1]["output"]
    assert [one["type"] for one in output] == ["input_image"] if sees else "image" in output
    output = items(asked, both, sees=sees)[1]["output"]
    assert isinstance(output, list) is sees
    assert len(output) == 2 or not sees


def test_reasoning_goes_back_if_it_is_encrypted():
    value = [
        {"type": "reasoning", "id": "a"},
        {"type": "reasoning", "encrypted_content": "e"},
        {"type": "function_call", "call_id": "c1", "name": "t", "arguments": "{}"},
    ]
    raw = RawMessage("openai-responses", value)

    assert items(Message("assistant", (CallBlock("x", "t", "{}"),), raw)) == value[1:]


def steps(*given):
    return [(one.kind, one.ids) for one in ResponsesWire().outline({"input": list(given)})]


CALL = {"type": "function_call", "call_id": "c", "arguments": "{}"}


def test_the_outline_of_a_body():
    user = {"role": "user", "content": []}
    output = {"type": "function_call_output", "call_id": "c"}

    assert steps(user, {"type": "reasoning"}, CALL, output, user) == [
        ("user", ()),
        ("assistant", ("c",)),
        ("results", ("c",)),
        ("user", ()),
    ]
    assert steps(user, {"role": "assistant"}) == [("user", ()), ("assistant", ())]
    assert steps(user, {"type": "message"}, user)[1:] == [("assistant", ()), ("user", ())]
    assert steps(CALL, user, CALL, output)[2:] == [("assistant", ("c",)), ("results", ("c",))]


@pytest.mark.parametrize("one", [CALL | {"arguments": "["}, {"type": "message", "role": "user"}])
def test_bodies_that_the_service_refuses(one):
    with pytest.raises(ModelFailed):
        steps(one)
