"""Chat completions as their many servers stream them, and requests to them."""

import json

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
from handrail.models.wires.chat import ChatReader, ChatWire
from handrail.models.wires.requests import WireOptions

OBJECT = '{"a": 1}'


def chunk(finish=None, *, at=0, given="r1", **delta):
    return {"id": given, "choices": [{"index": at, "delta": delta, "finish_reason": finish}]}


def call(index=0, given="c1", name="read", arguments=""):
    one = {"index": index, "id": given, "function": {"name": name, "arguments": arguments}}
    return {"tool_calls": [{key: value for key, value in one.items() if value is not None}]}


def read(*chunks):
    reader = ChatReader()
    return reader, [event for one in chunks for event in reader.read(one)]


def fails(*chunks):
    with pytest.raises(ModelFailed) as caught:
        read(*chunks)
    return caught.value


def calls(*chunks):
    reader, _ = read(*chunks, chunk("tool_calls"))
    return [(one.id, one.name, one.arguments_json) for one in reader.end().message.calls]


def test_text_and_its_end():
    reader, events = read(chunk(content="a"), chunk("", content="b"), chunk("stop"))

    assert events == [TextDelta("a"), TextDelta("b")]
    done = reader.end()
    assert (done.finish, done.message.text, done.response_id) == (Finish.END, "ab", "r1")


def test_only_the_first_choice_is_read():
    other = chunk(content="b", at=1)
    unnumbered = {"choices": [{"delta": {"content": "c"}}]}

    assert read(chunk(content="a"), other, unnumbered)[1] == [TextDelta("a"), TextDelta("c")]


@pytest.mark.parametrize("name", ["reasoning", "reasoning_content"])
def test_reasoning_goes_back_under_its_name_with_calls_only(name):
    reader, events = read(chunk(**{name: "hm"}), chunk(**call(arguments="{}")), chunk("tool_calls"))
    assert events[0] == ThinkingDelta("hm")
    assert reader.end().message.raw.value[name] == "hm"

    reader, _ = read(chunk(**{name: "hm"}), chunk("stop", content="a"))
    assert reader.end().message.raw.value == {"role": "assistant", "content": "a"}


def test_reasoning_that_comes_twice_is_read_once():
    assert read(chunk(reasoning="b", reasoning_content="a"))[1] == [ThinkingDelta("a")]


def test_opaque_reasoning_is_kept():
    reader, _ = read(chunk(reasoning_details=[1]), chunk("stop", reasoning_details=[2]))

    assert reader.end().message.raw.value["reasoning_details"] == [1, 2]


def test_content_may_be_parts():
    parts = [
        {"type": "thinking", "thinking": "a"},
        {"type": "thinking", "thinking": [{"text": "b"}, {"text": "c"}]},
        {"type": "text", "text": "d"},
    ]

    assert read(chunk(content=parts))[1] == [
        ThinkingDelta("a"),
        ThinkingDelta("bc"),
        TextDelta("d"),
    ]


def test_a_refusal_is_text_and_runs_no_calls():
    reader, events = read(chunk(refusal="no"), chunk(**call(arguments="{}")), chunk("tool_calls"))

    assert events[0] == TextDelta("no")
    assert not any(isinstance(one, CallClosed) for one in events)
    assert reader.end().finish is Finish.REFUSED
    assert read(chunk("stop", refusal="no"))[0].end().finish is Finish.REFUSED


def test_a_whole_message_may_come_in_one_chunk():
    one = {"choices": [{"message": {"content": "a"}, "finish_reason": "stop"}]}

    assert read(one)[0].end().message.text == "a"
    assert read(chunk(content="b"), one)[0].end().message.text == "b"


def test_calls_in_pieces():
    parts = (call(arguments='{"a"'), call(given=None, name=None, arguments=": 1}"))

    assert calls(*(chunk(**one) for one in parts)) == [("c1", "read", OBJECT)]


def test_a_name_in_pieces_or_repeated():
    assert calls(chunk(**call(name="re")), chunk(**call(name="ad"))) == [("c1", "read", "")]
    repeated = [call(arguments='{"a"'), call(arguments=": 1}")]
    assert calls(*(chunk(**one) for one in repeated)) == [("c1", "read", OBJECT)]
    assert calls(chunk(**call(name="re")), chunk(**call(name="read"))) == [("c1", "read", "")]


def test_servers_that_number_every_call_0():
    parts = (call(arguments=OBJECT), call(given="c2", arguments="{}"))

    assert calls(*(chunk(**one) for one in parts)) == [("c1", "read", OBJECT), ("c2", "read", "{}")]


def test_servers_without_ids():
    parts = [call(given=None, arguments=OBJECT), call(given=None, name="edit", arguments="{}")]
    assert [one[1:] for one in calls(*(chunk(**one) for one in parts))] == [
        ("read", OBJECT),
        ("edit", "{}"),
    ]
    same = [call(given=None, arguments=OBJECT), call(given=None, arguments=OBJECT)]
    assert [one[1:] for one in calls(*(chunk(**one) for one in same))] == [("read", OBJECT)] * 2


def test_servers_without_indexes():
    parts = (
        call(None, "c1", "read", '{"a"'),
        call(None, "c1", None, ": 1}"),
        call(None, None, None, ""),
        call(None, "c2", "edit", "{}"),
    )

    assert calls(*(chunk(**one) for one in parts)) == [("c1", "read", OBJECT), ("c2", "edit", "{}")]


def test_a_call_is_complete_when_the_next_one_begins():
    _, events = read(chunk(**call(arguments=OBJECT)), chunk(**call(1, "c2", "edit")))
    assert [one.id for one in events if isinstance(one, CallClosed)] == ["c1"]

    _, events = read(chunk(**call(arguments="{")), chunk(**call(1, "c2", "edit")))
    assert not any(isinstance(one, CallClosed) for one in events)


def test_an_empty_object_before_the_arguments_is_dropped():
    parts = (call(arguments="{}"), call(given=None, name=None, arguments=OBJECT))

    assert calls(*(chunk(**one) for one in parts)) == [("c1", "read", OBJECT)]


def test_empty_fields_are_no_call():
    empty = call(given="", name="", arguments="")
    reader, _ = read(chunk(content="a", **empty), chunk("stop"))

    assert reader.end().message.calls == ()


def test_a_call_of_a_function():
    one = chunk(function_call={"name": "read", "arguments": '{"a"'})
    two = chunk(function_call={"arguments": ": 1}"})
    assert [found[1:] for found in calls(one, two)] == [("read", OBJECT)]

    beside = chunk(function_call={"name": "read", "arguments": OBJECT}, **call(arguments=OBJECT))
    assert calls(beside) == [("c1", "read", OBJECT)]


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk("tool_calls"), chunk(**call())],
        [chunk(**call("x"))],
        [chunk(**call(True))],
        [chunk(function_call={"name": "read"}), chunk(**call())],
        [{"error": {"message": "x"}}],
        [chunk(content="a"), chunk(content="b"), chunk(content="c", given="r2")],
        [chunk(content="a"), chunk("stop", content="b", given="r2")],
    ],
)
def test_streams_that_are_wrong(chunks):
    assert fails(*chunks)


def test_servers_that_give_every_chunk_an_id_of_its_own():
    chunks = [chunk(content=one, given=one) for one in "abcd"]

    assert read(*chunks, chunk("stop", given="e"))[0].end().message.text == "abcd"
    assert read(chunk(content="a"), chunk("stop", given="r2"))[0].end().message.text == "a"


def test_tokens():
    usage = {"prompt_tokens": 5, "completion_tokens": 6}
    cached = usage | {"prompt_tokens_details": {"cached_tokens": 2}}

    assert read({"choices": [], "usage": usage})[1] == [UsageReported(5, 6, 0, 0)]
    assert read({"choices": [], "usage": cached})[1] == [UsageReported(5, 6, 2, 0)]


@pytest.mark.parametrize(
    ("arguments", "sent"), [(OBJECT, OBJECT), ("", "{}"), ("[1]", "{}"), ("{", "{}")]
)
def test_what_the_provider_gets_back(arguments, sent):
    reader, _ = read(chunk(**call(name="a b", arguments=arguments)), chunk("tool_calls"))

    made = reader.end().message.raw.value
    function = {"name": "invalid_tool_name", "arguments": sent}
    assert made["tool_calls"] == [{"id": "c1", "type": "function", "function": function}]
    assert made["content"] is None


def test_an_empty_message_has_empty_content():
    assert read(chunk("stop"))[0].end().message.raw.value == {"role": "assistant", "content": ""}


# --- requests ---------------------------------------------------------------------------

PICTURE = Picture("image/png", b"x")


def body(*messages, system=(), options=None):
    request = ModelRequest(system, messages)
    return ChatWire().render(request, options or WireOptions("m"))["messages"]


def test_the_system_text_comes_first():
    system = (SystemPart("a"), SystemPart("b"))
    made = body(Message("user", (TextBlock("c"),)), system=system)

    assert made == [{"role": "system", "content": "a\n\nb"}, {"role": "user", "content": "c"}]


def test_an_assistant_message_of_another_wire_is_made_anew():
    blocks = (TextBlock("a"), CallBlock("c1", "read", OBJECT), CallBlock("c2", "b d", "["))
    made = body(Message("assistant", blocks))[0]

    assert made["content"] == "a"
    assert [one["id"] for one in made["tool_calls"]] == ["c1", "c2"]
    assert [one["function"]["arguments"] for one in made["tool_calls"]] == [OBJECT, "{}"]
    assert body(Message("assistant", (CallBlock("c", "r", "{}"),)))[0]["content"] is None
    assert body(Message("assistant", ()))[0] == {"role": "assistant", "content": ""}


def test_an_assistant_message_of_this_wire_goes_back_as_it_came():
    raw = {"role": "assistant", "content": "x", "extra": 1}
    message = Message("assistant", (TextBlock("a"),), RawMessage("openai-chat", raw))

    assert body(message) == [raw]
    other = Message("assistant", (TextBlock("a"),), RawMessage("anthropic", raw))
    assert body(other)[0]["content"] == "a"


def test_results_have_the_ids_of_their_calls():
    long = "x" * 50
    asked = Message("assistant", (CallBlock("c1", "r", "{}"), CallBlock(long, "r", "{}")))
    results = (ResultBlock("c1", (TextBlock("a"),)), ResultBlock(long, (TextBlock("b"),)))
    made = body(asked, Message("tool", results))

    ids = [one["id"] for one in made[0]["tool_calls"]]
    assert [(one["role"], one["tool_call_id"]) for one in made[1:]] == [
        ("tool", one) for one in ids
    ]
    assert ids[0] == "c1"
    assert len(ids[1]) <= 40


@pytest.mark.parametrize("sees", [True, False])
def test_pictures_of_results_follow_in_a_message_of_the_user(sees):
    asked = Message("assistant", (CallBlock("c1", "r", "{}"),))
    result = Message("tool", (ResultBlock("c1", (TextBlock("a"), PICTURE)),))
    made = body(asked, result, options=WireOptions("m", sees_images=sees))

    assert [one["role"] for one in made] == ["assistant", "tool", *(["user"] if sees else [])]
    assert ("image_url" in json.dumps(made)) is sees


@pytest.mark.parametrize("sees", [True, False])
def test_pictures_of_the_user(sees):
    message = Message("user", (TextBlock("a"), PICTURE))
    content = body(message, options=WireOptions("m", sees_images=sees))[0]["content"]

    if sees:
        assert [one["type"] for one in content] == ["text", "image_url"]
    else:
        assert content.startswith("a\n")


def test_the_outline_of_a_body():
    asked = Message("assistant", (CallBlock("c1", "r", "{}"),))
    result = Message("tool", (ResultBlock("c1", (TextBlock("a"),)),))
    said = Message("user", (TextBlock("c"),))
    request = ModelRequest((SystemPart("a"),), (said, asked, result))
    made = ChatWire().render(request, WireOptions("m"))

    steps = list(ChatWire().outline(made))
    assert [(one.kind, tuple(one.ids)) for one in steps] == [
        ("user", ()),
        ("assistant", ("c1",)),
        ("results", ("c1",)),
    ]
