"""The order of a conversation, ids of calls, and arguments in the forms of providers."""

import re

import pytest

from handrail.core.ports.models import (
    CallBlock,
    Message,
    ModelFailed,
    Picture,
    RawMessage,
    ResultBlock,
    TextBlock,
)
from handrail.models.wires.chat import ChatWire
from handrail.models.wires.requests import (
    IdLinks,
    RequestStep,
    check_steps,
    data_url,
    object_text,
    object_value,
    picture_note,
    raw_value,
    require_object,
    safe_name,
    split_result,
)


def steps(text):
    """`user a:1,2 r:1 r:2`: messages of the model with calls, and results."""
    kinds = {"u": "user", "a": "assistant", "r": "results"}
    made = []
    for one in text.split():
        kind, _, ids = one.partition(":")
        made.append(RequestStep(kinds[kind], tuple(ids.split(",")) if ids else ()))
    return made


@pytest.mark.parametrize(
    "text",
    ["u", "u a u", "u a:1 r:1", "u a:1,2 r:1,2 u", "u a:1,2 r:2 r:1", "a u", "u a:1 r:1 a:1 r:1"],
)
def test_conversations_in_order(text):
    check_steps(steps(text), starts_with_user=False)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "u a",
        "u a:1",
        "u a:1 u",
        "u a:1,2 r:1",
        "u r:1",
        "u a:1 r:2",
        "u a:1 r:1 r:1",
        "u a:1,1 r:1,1",
    ],
)
def test_conversations_that_no_provider_takes(text):
    with pytest.raises(ModelFailed) as caught:
        check_steps(steps(text), starts_with_user=False)

    assert caught.value.code == "invalid_request"


def test_some_conversations_start_with_the_user():
    check_steps(steps("u a u"), starts_with_user=True)
    with pytest.raises(ModelFailed):
        check_steps(steps("a u"), starts_with_user=True)


@pytest.mark.parametrize("given", ["", None, 5])
def test_a_call_has_an_id(given):
    made = [
        RequestStep("user"),
        RequestStep("assistant", (given,)),
        RequestStep("results", (given,)),
    ]

    with pytest.raises(ModelFailed):
        check_steps(made, starts_with_user=False)


def asked(*ids):
    return Message("assistant", tuple(CallBlock(one, "t", "{}") for one in ids))


def test_ids_are_made_fit_and_unique():
    links = IdLinks(re.compile(r"[a-z0-9-]{1,40}"))

    first = links.open(asked("a", "b c"))
    second = links.open(asked("a", "a"))

    assert first[0] == "a"
    assert re.fullmatch(r"id-[0-9a-f]{24}", first[1])
    assert second == ["a-2", "a-3"]


def test_results_belong_to_the_last_message_of_the_model():
    links = IdLinks(re.compile(r".{1,40}"))
    links.open(asked("a"))
    assert links.wire_id("a") == "a"
    links.open(asked("b"), ["given"])
    assert links.wire_id("b") == "given"
    with pytest.raises(ModelFailed):
        links.wire_id("a")
    with pytest.raises(ModelFailed):
        links.open(asked("c"), ["one", "two"])


def test_the_raw_form_is_used_on_its_own_wire():
    def message(value):
        return Message("assistant", (), RawMessage("a", value))

    assert raw_value(message([1]), "a", list) == [1]
    assert raw_value(message([1]), "b", list) is None
    assert raw_value(message({}), "a", list) is None
    assert raw_value(Message("assistant", ()), "a", list) is None


def test_pictures_of_a_result():
    seen, unseen = Picture("image/png", b"x"), Picture("image/tiff", b"x" * 1234)
    block = ResultBlock("c", (TextBlock("a"), seen, unseen, TextBlock("b")))

    assert split_result(block, sees_images=True) == ([seen], f"a\n{picture_note(unseen)}\nb")
    pictures, text = split_result(block, sees_images=False)
    assert (pictures, text.count("image/")) == ([], 2)
    assert "1,234" in picture_note(unseen)
    assert data_url(seen) == "data:image/png;base64,eA=="


@pytest.mark.parametrize(
    ("text", "sent", "value"),
    [('{"a": 1}', '{"a": 1}', {"a": 1}), ("[1]", "{}", {}), ("", "{}", {}), ("{", "{}", {})],
)
def test_arguments_are_an_object(text, sent, value):
    assert object_text(text) == sent
    assert object_value(text) == value


@pytest.mark.parametrize("arguments", [{}, {"a": 1}, "{}", '{"a": "\n"}'])
def test_arguments_that_providers_take(arguments):
    call = {"id": "c", "function": {"name": "read", "arguments": arguments}}
    body = {"messages": [{"role": "assistant", "tool_calls": [call]}]}

    assert list(ChatWire().outline(body)) == [RequestStep("assistant", ("c",))]


@pytest.mark.parametrize("arguments", [[], None, "[]", "{", "[" * 100_000, 5])
def test_arguments_that_providers_refuse(arguments):
    with pytest.raises(ModelFailed):
        require_object(arguments)


@pytest.mark.parametrize(("name", "sent"), [("a-b_C1", "a-b_C1"), ("", None), ("a b", None)])
def test_names_that_providers_take(name, sent):
    assert safe_name(name) == (sent or "invalid_tool_name")
