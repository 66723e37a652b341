"""Google's Gemini: streams part by part, and requests."""

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
from handrail.models.wires.gemini import GeminiReader, GeminiWire
from handrail.models.wires.requests import WireOptions


def chunk(*parts, finish=None, index=0, **more):
    candidate = {"index": index, "content": {"parts": list(parts)}}
    if finish is not None:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], **more}


def call(name="t", **more):
    return {"functionCall": {"name": name, **more}}


def read(*events):
    reader = GeminiReader()
    return reader, [one for event in events for one in reader.read(event)]


def parts(*events):
    return read(*events, chunk(finish="STOP"))[0].end().message.raw.value["parts"]


def test_text_and_thoughts():
    reader, found = read(
        chunk({"text": "a", "thought": True}, responseId="r1"),
        chunk({"text": "b"}, {"text": "c"}, responseId="r1"),
        chunk({"text": "x"}, index=1),
        chunk(finish="FINISH_REASON_UNSPECIFIED"),
        chunk(finish="STOP"),
        chunk(finish="OTHER"),
    )

    assert found == [ThinkingDelta("a"), TextDelta("b"), TextDelta("c")]
    done = reader.end()
    assert (done.finish, done.reason, done.response_id) == (Finish.END, "STOP", "r1")
    assert done.message.raw.value == {
        "role": "model",
        "parts": [{"text": "a", "thought": True}, {"text": "bc"}],
    }


def test_a_signature_stays_with_its_part():
    assert parts(
        chunk({"text": "a"}),
        chunk({"text": "b", "thoughtSignature": "s"}),
        chunk({"text": "c"}),
        chunk({"text": "d"}),
        chunk({"text": "", "thoughtSignature": "e"}),
    ) == [
        {"text": "a"},
        {"text": "b", "thoughtSignature": "s"},
        {"text": "cd"},
        {"text": "", "thoughtSignature": "e"},
    ]


def test_a_call_comes_whole():
    reader, found = read(
        chunk(call(args={"a": 1}, id="c1")), chunk(call()), chunk(call()), chunk(finish="STOP")
    )

    closed = [one for one in found if isinstance(one, CallClosed)]
    assert [one.arguments_json.replace(" ", "") for one in closed] == ['{"a":1}', "{}", "{}"]
    assert len({one.id for one in closed}) == 3
    assert reader.end().finish is Finish.CALLS
    made = reader.end().message.raw.value["parts"]
    assert [one["functionCall"].get("id") for one in made] == ["c1", None, None]
    assert made[0]["functionCall"]["args"] == {"a": 1}
    assert parts(chunk(call("a b")))[0]["functionCall"]["name"] == "invalid_tool_name"


def test_other_parts_are_kept():
    one = {"executableCode": {"code": "x"}}

    assert parts(chunk(one)) == [one]


@pytest.mark.parametrize(
    ("events", "code"),
    [
        ([{"error": {"code": 400, "message": "x"}}], None),
        ([{"promptFeedback": {"blockReason": "SAFETY"}}], "content_refused"),
        ([chunk({"text": "a"}, responseId="r1"), chunk(responseId="r2")], "cut"),
        ([chunk("a")], "cut"),
        ([chunk(call(args=[1]))], "cut"),
        ([chunk(call(willContinue=True))], "cut"),
        ([chunk(finish="STOP"), chunk(call())], "cut"),
    ],
)
def test_streams_that_are_wrong(events, code):
    with pytest.raises(ModelFailed) as caught:
        read(*events)

    assert code in (None, caught.value.code)


def test_thoughts_count_as_output():
    def usage(**more):
        return read({"usageMetadata": more})[1]

    assert usage(promptTokenCount=5, candidatesTokenCount=6, thoughtsTokenCount=7) == [
        UsageReported(5, 13, 0, 0)
    ]
    assert usage(promptTokenCount=5, cachedContentTokenCount=2) == [UsageReported(5, 0, 2, 0)]
    assert usage(promptTokenCount=5, candidatesTokenCount=0, thoughtsTokenCount=-7) == [
        UsageReported(5, 0, 0, 0)
    ]
    assert usage(candidatesTokenCount=0) == [UsageReported(0, 0, 0, 0)]
    assert read({"usageMetadata": 5})[1] == []


# --- requests ---------------------------------------------------------------------------

PICTURE = Picture("image/png", b"x")
HELLO = Message("user", (TextBlock("hello"),))


def render(*messages, sees=True, **more):
    request = ModelRequest(more.pop("system", ()), messages, **more)
    return GeminiWire().render(request, WireOptions("m", sees_images=sees))


def contents(*messages, **more):
    return [(one["role"], one["parts"]) for one in render(*messages, **more)["contents"]]


def test_where_a_request_goes():
    assert GeminiWire().target(WireOptions("a/b")) == (
        "/models/a%2Fb:streamGenerateContent?alt=sse"
    )
    assert GeminiWire().auth_headers("k") == {"x-goog-api-key": "k"}


def test_messages_of_one_role_are_joined_and_empty_ones_left_out():
    empty = Message("assistant", ())

    assert contents(HELLO, empty, HELLO, Message("user", (TextBlock(""),))) == [
        ("user", [{"text": "hello"}, {"text": "hello"}])
    ]
    assert render(HELLO, system=(SystemPart("s"),))["systemInstruction"] == {
        "parts": [{"text": "s"}]
    }


@pytest.mark.parametrize("sees", [True, False])
def test_calls_and_results(sees):
    asked = Message("assistant", (TextBlock("a"), CallBlock("c1", "t", '{"x": 1}')))
    results = (ResultBlock("c1", (TextBlock("r"), PICTURE)),)
    (_, said), (_, given) = contents(asked, Message("tool", results), sees=sees)

    assert said == [{"text": "a"}, {"functionCall": {"id": "c1", "name": "t", "args": {"x": 1}}}]
    answer = given[0]["functionResponse"]
    assert (answer["id"], answer["name"]) == ("c1", "t")
    assert (answer["response"] == {"output": "r"}) is sees
    assert [list(one) for one in given[1:]] == ([["inlineData"]] if sees else [])


def test_an_error_is_told_as_such():
    asked = Message("assistant", (CallBlock("c1", "t", "{}"),))
    failed = Message("tool", (ResultBlock("c1", (TextBlock("r"),), is_error=True),))

    assert contents(asked, failed)[1][1][0]["functionResponse"]["response"] == {"error": "r"}


def test_a_call_without_an_id_is_answered_without_one():
    value = {"role": "model", "parts": [{"text": "a"}, call("t", args={})]}
    asked = Message("assistant", (CallBlock("x", "t", "{}"),), RawMessage("gemini", value))
    result = Message("tool", (ResultBlock("x", (TextBlock("r"),)),))
    (_, said), (_, given) = contents(asked, result)

    assert said == value["parts"]
    assert "id" not in given[0]["functionResponse"]


def test_a_request_does_not_change_the_message_that_it_repeats():
    value = {"role": "model", "parts": [{"text": "a"}]}
    said = Message("assistant", (TextBlock("a"),), RawMessage("gemini", value))

    contents(HELLO, said, Message("assistant", (TextBlock("b"),)))

    assert value == {"role": "model", "parts": [{"text": "a"}]}


def steps(*given):
    return [(one.kind, one.ids) for one in GeminiWire().outline({"contents": list(given)})]


def answer(name="t", **more):
    return {"functionResponse": {"name": name, **more}}


def test_the_outline_of_a_body():
    assert steps(
        {"role": "user", "parts": [{"text": "a"}]},
        {"role": "model", "parts": [call(args={}), call("u", args={}, id="c"), call(args={})]},
        {"role": "user", "parts": [answer(), answer("u", id="c"), answer(), {"text": "b"}]},
        {"role": "user", "parts": [answer()]},
    ) == [
        ("user", ()),
        ("assistant", ("t#1", "c", "t#2")),
        ("results", ("t#1", "c", "t#2")),
        ("user", ()),
        ("results", ("t#1",)),
    ]


@pytest.mark.parametrize(
    "content",
    [
        {"role": "user", "parts": []},
        {"role": "user", "parts": [call(args={})]},
        {"role": "model", "parts": [call(args=[])]},
    ],
)
def test_bodies_that_the_service_refuses(content):
    with pytest.raises(ModelFailed):
        steps(content)
