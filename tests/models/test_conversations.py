"""The check before every request: what we render passes, what a provider refuses does not."""

import copy
import json

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from tests.models.reading_back import facts, listed, read_back, through_the_store
from tests.models.speaking import TOOL, WIRES

from handrail.agent.conversation import KeptConversation
from handrail.agent.projection import ConversationEntry
from handrail.agent.session_file import export_conversation, import_conversation
from handrail.core.call import is_call_id
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
from handrail.core.problems import ProblemRaised
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


BLANK = Message("user", (TextBlock("\r"),))


@pytest.mark.parametrize("wire", WIRES)
@given(request=conversations(), sees=st.booleans())
@example(request=ModelRequest((), (BLANK,)), sees=True)
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


WORDS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12).filter(str.strip)
VALUES = st.dictionaries(st.sampled_from(["path", "a b"]), WORDS | st.integers(), max_size=2)


@st.composite
def sessions(draw):
    """Journals without pictures: what each wire must carry in full."""
    messages = [Message("user", (TextBlock(draw(WORDS)),))]
    for _ in range(draw(st.integers(1, 5))):
        ids = draw(st.lists(IDS, unique=True, max_size=3))
        calls = [CallBlock(one, "read_file", json.dumps(draw(VALUES))) for one in ids]
        said = [TextBlock(draw(WORDS))] if draw(st.booleans()) or not calls else []
        thought = [ThinkingBlock(draw(WORDS))] if draw(st.booleans()) else []
        messages.append(Message("assistant", (*thought, *said, *calls)))
        if calls:
            shown = [
                ResultBlock(one, (TextBlock(draw(WORDS)),)) for one in draw(st.permutations(ids))
            ]
            messages.append(Message("tool", tuple(shown)))
        for _ in range(draw(st.integers(0 if calls else 1, 2))):
            messages.append(Message("user", (TextBlock(draw(WORDS)),)))
    return tuple(messages)


@pytest.mark.parametrize("wire", WIRES)
@given(messages=sessions())
def test_a_journal_says_the_same_on_every_wire(wire, messages):
    kept = through_the_store(messages)
    body = FORMATS[wire].render(ModelRequest((), kept), OPTIONS)

    assert kept == messages
    FORMATS[wire].check(body)
    assert read_back(wire, json.loads(json.dumps(body))) == facts(messages)


@given(messages=sessions())
def test_an_exported_session_says_the_same(messages):
    turns = list(range(len(messages)))
    entries = [ConversationEntry(*one) for one in zip(messages, turns, strict=True)]
    kept = KeptConversation(None, entries, {}, None, turns)
    exported = json.loads(json.dumps(export_conversation(kept)))
    odd = any(not is_call_id(call.id) for message in messages for call in message.calls)
    try:
        imported = import_conversation(exported, "new", _Sink(), 1)
    except ProblemRaised:
        assert odd
        return

    left = len(messages) - bool(messages[-1].calls)
    assert facts(imported.messages) == facts(messages[:left])


ODD = [None, True, -1, 1e308, "", "y" * 300, "\x1b[2J", [], {}, "user", "tool", "c1", "{", "null"]


@st.composite
def tampered_files(draw):
    """Exported sessions that somebody has edited by hand."""
    chance = draw(st.randoms(use_true_random=False))
    calls = [{"call": f"c{n}", "name": "read_file", "arguments": "{}"} for n in (1, 2)]
    results = [{"result": f"c{n}", "text": "r", "is_error": False} for n in (1, 2)]
    file = {
        "format": "handrail-session",
        "version": 1,
        "title": "t",
        "messages": [
            {"turn": 0, "role": "user", "blocks": [{"text": "hi"}]},
            {"turn": 1, "role": "assistant", "blocks": [{"text": "a"}, *calls]},
            {"turn": 1, "role": "tool", "blocks": results},
            {"turn": 2, "role": "assistant", "blocks": [{"text": "done"}]},
        ],
    }
    for _ in range(draw(st.integers(1, 2))):
        place = file
        while True:
            keys = list(place) if isinstance(place, dict) else list(range(len(place)))
            if not keys:
                break
            key = chance.choice(keys)
            if isinstance(place[key], dict | list) and chance.random() < 0.8:
                place = place[key]
                continue
            match chance.choice(["replace", "delete", "repeat"]):
                case "replace":
                    place[key] = copy.deepcopy(chance.choice(ODD))
                case "delete":
                    del place[key]
                case _ if isinstance(place, list):
                    place.insert(chance.choice(keys), copy.deepcopy(place[key]))
            break
    return file


@pytest.mark.threat("A19")
@given(file=tampered_files())
def test_a_session_file_of_a_stranger_is_refused_or_can_be_continued_on_every_wire(file):
    try:
        imported = import_conversation(file, "new", _Sink(), 1)
    except ProblemRaised as raised:
        assert raised.problem.code == "invalid_arguments"
        return

    messages = (*imported.messages, Message("user", (TextBlock("go on"),)))
    for wire in WIRES:
        FORMATS[wire].check(FORMATS[wire].render(ModelRequest((), messages), OPTIONS))


class _Sink:
    """A store that keeps nothing."""

    def save_state(self, session, key, value):
        return
