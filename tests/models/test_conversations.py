"""The check before every request: what we render passes, what a provider refuses does not."""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.models.speaking import TOOL, WIRES

from handrail.core.ports.models import (
    CallBlock,
    Message,
    ModelFailed,
    ModelRequest,
    Picture,
    RawMessage,
    ResultBlock,
    SystemPart,
    TextBlock,
    ThinkingBlock,
)
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

OPTIONS = WireOptions("m")
PICTURE = Picture("image/png", b"\x89PNG")
TEXTS = st.text(max_size=12)
IDS = st.sampled_from(["call_0", "call_1", "toolu_1", "../x", "", "y" * 300, "a b"])
ARGUMENTS = st.sampled_from(['{"path": "a"}', "", "{}", '{"a', "[1]", "null"])


@st.composite
def conversations(draw):
    """Conversations of any provider: odd ids, repeated ids, pictures, broken arguments."""
    messages = [Message("user", (TextBlock(draw(TEXTS) or "hi"),))]
    for _ in range(draw(st.integers(0, 4))):
        blocks = [ThinkingBlock(draw(TEXTS))] if draw(st.booleans()) else []
        blocks += [TextBlock(draw(TEXTS))] if draw(st.booleans()) else []
        ids = draw(st.lists(IDS, unique=True, max_size=3))
        calls = [
            CallBlock(one, draw(st.sampled_from(["read_file", "a b"])), draw(ARGUMENTS))
            for one in ids
        ]
        messages.append(Message("assistant", (*blocks, *calls)))
        if calls:
            shown = (TextBlock(draw(TEXTS)), *([PICTURE] if draw(st.booleans()) else []))
            order = draw(st.permutations(ids))
            failed = draw(st.booleans())
            messages.append(Message("tool", tuple(ResultBlock(o, shown, failed) for o in order)))
        if draw(st.booleans()) or not calls:
            messages.append(Message("user", (TextBlock(draw(TEXTS) or "go on"), PICTURE)))
    return ModelRequest((SystemPart("s", cache=True),), tuple(messages), (TOOL,), 99)


@pytest.mark.parametrize("wire", WIRES)
@given(request=conversations(), sees=st.booleans())
def test_every_conversation_is_rendered_as_a_valid_one(wire, request, sees):
    body = FORMATS[wire].render(request, WireOptions("m", sees))

    FORMATS[wire].check(body)


def talk(wire):
    """A body with two calls and their results."""
    calls = (CallBlock("c1", "read_file", "{}"), CallBlock("c2", "read_file", '{"a": 1}'))
    results = tuple(ResultBlock(call.id, (TextBlock("r"),)) for call in calls)
    messages = (
        Message("user", (TextBlock("hi"),)),
        Message("assistant", (TextBlock("I look."), *calls)),
        Message("tool", results),
        Message("user", (TextBlock("go on"),)),
    )
    return FORMATS[wire].render(ModelRequest((), messages), OPTIONS)


def listed(wire, body):
    names = {"openai-responses": "input", "gemini": "contents"}
    return body[names.get(wire, "messages")]


def parts(message):
    return message.get("content") or message.get("parts")


def drop_last_result(wire, items):
    if wire in ("openai-chat", "openai-responses"):
        del items[-2]
    else:
        del parts(items[-1])[1]


def drop_all_results(wire, items):
    if wire in ("openai-chat", "openai-responses"):
        del items[-3:-1]
    else:
        del parts(items[-1])[:2]


def repeat_result(wire, items):
    if wire in ("openai-chat", "openai-responses"):
        items.insert(-1, copy.deepcopy(items[-2]))
    else:
        parts(items[-1]).insert(2, copy.deepcopy(parts(items[-1])[1]))


def drop_calls(wire, items):
    if wire == "openai-responses":
        items[:] = [one for one in items if one.get("type") != "function_call"]
    elif wire == "openai-chat":
        del items[1]["tool_calls"]
    else:
        del parts(items[1])[1:]


def end_early(wire, items):
    del items[-1 if wire in ("anthropic", "gemini") else -3 :]


def one_id(wire, items):
    if wire == "openai-responses":
        items[3]["call_id"] = items[2]["call_id"]
    elif wire == "openai-chat":
        items[1]["tool_calls"][1]["id"] = items[1]["tool_calls"][0]["id"]
    elif wire == "anthropic":
        parts(items[1])[2]["id"] = parts(items[1])[1]["id"]
    else:
        parts(items[1])[2]["functionCall"]["id"] = parts(items[1])[1]["functionCall"]["id"]


def results_first(wire, items):
    items.insert(0, items.pop(-2 if wire in ("openai-chat", "openai-responses") else -1))


def user_between(wire, items):
    place = 4 if wire == "openai-responses" else 2
    said = {"role": "user", "content": [{"type": "text", "text": "wait"}]}
    items.insert(place, {"role": "user", "parts": [{"text": "wait"}]} if wire == "gemini" else said)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    "change",
    [
        drop_last_result,
        drop_all_results,
        repeat_result,
        drop_calls,
        end_early,
        one_id,
        results_first,
        user_between,
    ],
)
def test_a_broken_conversation_is_refused(wire, change):
    body = talk(wire)
    FORMATS[wire].check(body)

    change(wire, listed(wire, body))

    with pytest.raises(ModelFailed) as failed:
        FORMATS[wire].check(body)
    assert (failed.value.code, failed.value.retryable) == ("invalid_request", False)


def test_text_after_a_call_is_moved_before_it_for_anthropic():
    call = {"type": "tool_use", "id": "c1", "name": "n", "input": {}}
    raw = RawMessage("anthropic", [call, {"type": "text", "text": "after"}])
    said = Message("assistant", (CallBlock("c1", "n", "{}"), TextBlock("after")), raw)
    answer = Message("tool", (ResultBlock("c1", (TextBlock("r"),)),))
    request = ModelRequest((), (Message("user", (TextBlock("hi"),)), said, answer))

    body = FORMATS["anthropic"].render(request, OPTIONS)

    FORMATS["anthropic"].check(body)
    assert [block["type"] for block in body["messages"][1]["content"]] == ["text", "tool_use"]


@pytest.mark.parametrize("wire", WIRES)
def test_a_result_without_its_call_cannot_be_rendered(wire):
    stray = Message("tool", (ResultBlock("c1", (TextBlock("r"),)),))
    request = ModelRequest((), (Message("user", (TextBlock("hi"),)), stray))

    with pytest.raises(ModelFailed, match="follows no such call"):
        FORMATS[wire].render(request, OPTIONS)
