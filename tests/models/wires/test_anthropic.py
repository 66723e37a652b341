"""Anthropic's messages: streams block by block, and requests."""

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
    SystemPart,
    TextBlock,
    TextDelta,
    ThinkingDelta,
    UsageReported,
)
from handrail.models.wires.anthropic import AnthropicReader, AnthropicWire
from handrail.models.wires.requests import WireOptions

BEGIN = {"type": "message_start", "message": {"id": "m1"}}


def start(index=0, **block):
    return {"type": "content_block_start", "index": index, "content_block": block}


def delta(index=0, **value):
    return {"type": "content_block_delta", "index": index, "delta": value}


def stop(index=0):
    return {"type": "content_block_stop", "index": index}


def end(reason="end_turn", **more):
    return {"type": "message_delta", "delta": {"stop_reason": reason}, **more}


def read(*events):
    reader = AnthropicReader()
    return reader, [one for event in events for one in reader.read(event)]


def raw(*events):
    return read(BEGIN, *events, end())[0].end().message.raw.value


def test_text_thinking_and_what_belongs_to_them():
    events = (
        start(type="thinking", thinking="a", signature="s"),
        delta(type="thinking_delta", thinking="b"),
        delta(type="signature_delta", signature="t"),
        stop(),
        start(1, type="text", text="c"),
        delta(1, type="text_delta", text="d"),
        delta(1, type="citations_delta", citation={"x": 1}),
        delta(1, type="citations_delta", citation={"x": 2}),
        stop(1),
    )
    reader, found = read(BEGIN, *events, end(), {"type": "message_stop"})

    assert found == [ThinkingDelta("a"), ThinkingDelta("b"), TextDelta("c"), TextDelta("d")]
    assert reader.end().message.raw.value == [
        {"type": "thinking", "thinking": "ab", "signature": "st"},
        {"type": "text", "text": "cd", "citations": [{"x": 1}, {"x": 2}]},
    ]
    assert reader.stopped
    assert reader.response_id == "m1"


def test_blank_text_does_not_go_back():
    assert raw(start(type="text", text=" "), stop()) == []
    assert raw(start(type="thinking", thinking=""), stop()) == [
        {"type": "thinking", "thinking": ""}
    ]


@pytest.mark.parametrize(
    ("given", "pieces", "arguments"),
    [
        ({}, ['{"a"', ": 1}"], '{"a": 1}'),
        ({"a": 1}, [], '{"a":1}'),
        ({"a": 1}, ['{"b": 2}'], '{"b": 2}'),
        ({}, [], ""),
        (None, [], ""),
        ("x", [], ""),
    ],
)
def test_the_arguments_of_a_call(given, pieces, arguments):
    parts = [delta(type="input_json_delta", partial_json=one) for one in pieces]
    reader, found = read(
        BEGIN,
        start(type="tool_use", id="c", name="t", input=given),
        *parts,
        stop(),
        end("tool_use"),
    )

    closed = [one for one in found if isinstance(one, CallClosed)]
    assert [one.arguments_json.replace(": ", ":") for one in closed] == [
        arguments.replace(": ", ":")
    ]
    assert reader.end().finish is Finish.CALLS


def test_a_call_goes_back_with_arguments_that_are_an_object():
    events = (start(type="tool_use", id="c", name="a b"), delta(type="input_json_delta"), stop())

    assert raw(*events) == [
        {"type": "tool_use", "id": "c", "name": "invalid_tool_name", "input": {}}
    ]


def test_blocks_of_another_kind_are_kept():
    events = (
        start(type="server_tool_use", id="s", query="a"),
        delta(type="x", query="b", other=5),
        delta(type="x", other=6),
        stop(),
        start(1, type="server_tool_use", partial_json=""),
        delta(1, type="input_json_delta", partial_json='{"q": 1}'),
        stop(1),
    )

    assert raw(*events) == [
        {"type": "server_tool_use", "id": "s", "query": "ab", "other": 6},
        {"type": "server_tool_use", "input": {"q": 1}},
    ]


@pytest.mark.parametrize(
    "events",
    [
        [start(type="text", text="a")],
        [BEGIN, BEGIN],
        [BEGIN, delta(type="text_delta", text="a")],
        [BEGIN, stop()],
        [BEGIN, start(type="text"), start(type="text")],
        [BEGIN, start(type="text"), stop(), stop()],
        [BEGIN, start("x", type="text")],
        [BEGIN, start(text="a")],
        [BEGIN, start(type=5)],
        [BEGIN, start(type="x", a="b"), delta(type="x", a=5)],
        [BEGIN, end(), start(type="text")],
        [BEGIN, start(type="tool_use", id="c", name="t"), end("tool_use")],
        [{"type": "error", "error": {"type": "overloaded_error", "message": "x"}}],
    ],
)
def test_streams_that_are_wrong(events):
    with pytest.raises(ModelFailed):
        read(*events)


def test_unknown_events_are_passed_over():
    assert read({"type": "ping"}, {"type": 5}, BEGIN, {"type": "new"})[1] == []


def test_a_block_is_complete_when_it_has_stopped():
    reader, _ = read(BEGIN, start(type="x"), start(1, type="text", text="a"))
    assert reader.complete_pieces() == []
    reader.read(stop())
    assert len(reader.complete_pieces()) == 1
    reader.read(stop(1))
    assert len(reader.complete_pieces()) == 2


def test_the_first_end_counts():
    reader, _ = read(BEGIN, end(None))
    assert reader.ending is None
    reader.read(end("max_tokens"))
    reader.read(end("end_turn"))
    assert reader.ending.reason == "max_tokens"


def test_tokens_of_the_cache_are_input():
    usage = {"input_tokens": 5, "cache_read_input_tokens": 3, "cache_creation_input_tokens": 2}
    begin = {"type": "message_start", "message": {"usage": usage}}

    _, found = read(begin, end(usage={"output_tokens": 7}))

    assert found == [UsageReported(10, 0, 3, 2), UsageReported(10, 7, 3, 2)]
    odd = {"input_tokens": 5, "cache_read_input_tokens": -3, "cache_creation_input_tokens": "x"}
    assert read({"type": "message_start", "message": {"usage": odd}})[1][0].input == 5
    assert read({"type": "message_start", "message": {"usage": 5}})[1] == []


# --- requests ---------------------------------------------------------------------------

PICTURE = Picture("image/png", b"x")
HELLO = Message("user", (TextBlock("hello"),))


def render(*messages, system=(), options=None, **more):
    return AnthropicWire().render(
        ModelRequest(system, messages, **more), options or WireOptions("m")
    )


def blocks(*messages, **more):
    return [(one["role"], one["content"]) for one in render(*messages, **more)["messages"]]


def text(value):
    return {"type": "text", "text": value}


def test_messages_of_one_role_are_joined():
    other = Message("user", (TextBlock("you"),))

    assert blocks(HELLO, other, Message("assistant", (TextBlock("a"),))) == [
        ("user", [text("hello"), text("you")]),
        ("assistant", [text("a")]),
    ]


def test_blank_text_is_replaced_or_left_out():
    blank = Message("user", (TextBlock(" "), TextBlock("")))

    assert blocks(blank) == [("user", [text("(blank)")])]
    assert blocks(HELLO, Message("assistant", (TextBlock(" "),))) == [("user", [text("hello")])]
    assert blocks(Message("user", (TextBlock(" "), TextBlock("a")))) == [("user", [text("a")])]
    assert blocks(Message("user", ())) == []


def test_system_texts_and_messages_have_at_most_four_marks():
    marked = tuple(SystemPart(str(one), cache=one < 3) for one in range(4))
    many = [HELLO, Message("assistant", (TextBlock("a"),))] * 2
    made = render(*many, system=marked, cache_marks=(0, 1))

    assert ["cache_control" in one for one in made["system"]] == [True, True, True, False]
    assert ["cache_control" in one["content"][-1] for one in made["messages"]] == [
        False,
        True,
        False,
        False,
    ]
    full = tuple(SystemPart(str(one), cache=True) for one in range(4))
    assert "cache_control" not in str(render(*many, system=full, cache_marks=(0,))["messages"])
    assert str(render(*many, cache_marks=(0, 1, 2))).count("cache_control") == 3


def test_calls_and_results():
    asked = Message(
        "assistant", (TextBlock("a"), CallBlock("c1", "t", '{"x": 1}'), CallBlock("c2", "b d", "["))
    )
    results = (
        ResultBlock("c1", (TextBlock("r"), PICTURE)),
        ResultBlock("c2", (TextBlock(" "),), is_error=True),
    )
    (_, said), (_, given) = blocks(asked, Message("tool", results))

    assert said == [
        text("a"),
        {"type": "tool_use", "id": "c1", "name": "t", "input": {"x": 1}},
        {"type": "tool_use", "id": "c2", "name": "invalid_tool_name", "input": {}},
    ]
    assert [one["tool_use_id"] for one in given] == ["c1", "c2"]
    assert [part["type"] for part in given[0]["content"]] == ["text", "image"]
    assert (given[1]["content"], given[1]["is_error"], "is_error" in given[0]) == ([], True, False)


def test_text_of_a_raw_message_comes_before_its_calls():
    calls = [{"type": "tool_use", "id": one, "name": "t", "input": {}} for one in ("c1", "c2")]
    value = [text("a"), calls[0], text("b"), calls[1]]
    message = Message(
        "assistant",
        (TextBlock("a"), CallBlock("c1", "t", "{}"), CallBlock("c2", "t", "{}")),
        RawMessage("anthropic", value),
    )
    assert blocks(message) == [("assistant", [text("a"), text("b"), *calls])]

    ordered = RawMessage("anthropic", [text("a"), *calls])
    assert blocks(Message("assistant", message.blocks, ordered))[0][1] == ordered.value


def test_pictures_are_shown_to_models_that_see():
    message = Message("user", (PICTURE,))

    assert blocks(message)[0][1][0]["type"] == "image"
    assert blocks(message, options=WireOptions("m", sees_images=False))[0][1][0]["type"] == "text"


def steps(*messages):
    made = list(AnthropicWire().outline({"messages": list(messages)}))
    return [(one.kind, one.ids) for one in made]


CALL = {"type": "tool_use", "id": "c", "input": {}}
RESULT = {"type": "tool_result", "tool_use_id": "c"}


def test_the_outline_of_a_body():
    assert steps(
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": [text("b"), CALL]},
        {"role": "user", "content": [RESULT, text("d")]},
        {"role": "user", "content": [RESULT]},
    ) == [
        ("user", ()),
        ("assistant", ("c",)),
        ("results", ("c",)),
        ("user", ()),
        ("results", ("c",)),
    ]


@pytest.mark.parametrize(
    "message",
    [
        {"role": "user", "content": []},
        {"role": "user", "content": None},
        {"role": "user", "content": [text("a"), RESULT]},
        {"role": "user", "content": [text(" ")]},
        {"role": "assistant", "content": [text("")]},
        {"role": "assistant", "content": [CALL, text("a")]},
        {"role": "assistant", "content": [CALL | {"input": []}]},
    ],
)
def test_bodies_that_the_service_refuses(message):
    with pytest.raises(ModelFailed):
        steps(message)
