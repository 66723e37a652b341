"""Responses in, tool messages out; held against the SDKs' own classes and types."""

from types import SimpleNamespace
from typing import Any

import pytest
from anthropic.types import (
    ImageBlockParam,
    Message,
    MessageParam,
    TextBlockParam,
    ToolResultBlockParam,
)
from openai.types.chat import ChatCompletion, ChatCompletionToolMessageParam
from openai.types.responses import Response
from openai.types.responses.response_input_item_param import FunctionCallOutput
from pydantic import TypeAdapter

from handrail.core.problems import Problem, ProblemRaised
from handrail.core.results import Image, Status, ToolResult
from handrail.engine.providers.provider_messages import RequestedCalls, read_calls, tool_messages

CHAT: dict[str, Any] = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "created": 1,
    "model": "m",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "logprobs": None,
            "message": {
                "role": "assistant",
                "content": None,
                "refusal": None,
                "tool_calls": [
                    {
                        "id": "c1",
                        "type": "function",
                        "function": {"name": "read_file", "arguments": '{"path": "a"}'},
                    },
                    {
                        "id": "c2",
                        "type": "function",
                        "function": {"name": "grep", "arguments": ""},
                    },
                    {"id": "c3", "type": "custom", "custom": {"name": "theirs", "input": "x"}},
                ],
            },
        }
    ],
}
CHAT_CALLS = [
    {"id": "c1", "name": "read_file", "arguments": '{"path": "a"}'},
    {"id": "c2", "name": "grep", "arguments": ""},
]

RESPONSE: dict[str, Any] = {
    "id": "resp_1",
    "object": "response",
    "created_at": 1.0,
    "model": "m",
    "parallel_tool_calls": True,
    "tool_choice": "auto",
    "tools": [],
    "output": [
        {"type": "reasoning", "id": "rs_1", "summary": []},
        {
            "type": "function_call",
            "id": "fc_1",
            "call_id": "call_1",
            "name": "read_file",
            "arguments": '{"path": "a"}',
        },
        {
            "type": "message",
            "id": "msg_1",
            "role": "assistant",
            "status": "completed",
            "content": [{"type": "output_text", "text": "hi", "annotations": []}],
        },
        {"type": "function_call", "call_id": "call_2", "name": "grep", "arguments": "{}"},
    ],
}
RESPONSE_CALLS = [
    {"id": "call_1", "name": "read_file", "arguments": '{"path": "a"}'},
    {"id": "call_2", "name": "grep", "arguments": "{}"},
]

MESSAGE: dict[str, Any] = {
    "id": "msg_1",
    "type": "message",
    "role": "assistant",
    "model": "m",
    "stop_reason": "tool_use",
    "stop_sequence": None,
    "usage": {"input_tokens": 1, "output_tokens": 1},
    "content": [
        {"type": "text", "text": "let me look", "citations": None},
        {"type": "tool_use", "id": "tu_1", "name": "Read", "input": {"file_path": "a"}},
        {"type": "server_tool_use", "id": "st_1", "name": "web_search", "input": {"query": "x"}},
        {"type": "tool_use", "id": "tu_2", "name": "Grep", "input": {}},
    ],
}
MESSAGE_CALLS = [
    {"id": "tu_1", "name": "Read", "arguments": {"file_path": "a"}},
    {"id": "tu_2", "name": "Grep", "arguments": {}},
]

chat = ChatCompletion.model_validate(CHAT)
response = Response.model_validate(RESPONSE)
message = Message.model_validate(MESSAGE)


@pytest.mark.feature("B08")
@pytest.mark.parametrize(
    ("given", "asked"),
    [
        pytest.param(chat, RequestedCalls("openai", CHAT_CALLS), id="ChatCompletion"),
        pytest.param(
            chat.choices[0].message, RequestedCalls("openai", CHAT_CALLS), id="its message"
        ),
        pytest.param(CHAT, RequestedCalls("openai", CHAT_CALLS), id="chat dict"),
        pytest.param(
            CHAT["choices"][0]["message"], RequestedCalls("openai", CHAT_CALLS), id="message dict"
        ),
        pytest.param(
            chat.choices[0].message.tool_calls, RequestedCalls("openai", CHAT_CALLS), id="calls"
        ),
        pytest.param(chat.model_dump(), RequestedCalls("openai", CHAT_CALLS), id="chat dumped"),
        pytest.param(response, RequestedCalls("openai-responses", RESPONSE_CALLS), id="Response"),
        pytest.param(
            response.output, RequestedCalls("openai-responses", RESPONSE_CALLS), id="its output"
        ),
        pytest.param(
            RESPONSE, RequestedCalls("openai-responses", RESPONSE_CALLS), id="response dict"
        ),
        pytest.param(
            RESPONSE["output"],
            RequestedCalls("openai-responses", RESPONSE_CALLS),
            id="output dicts",
        ),
        pytest.param(message, RequestedCalls("anthropic", MESSAGE_CALLS), id="Message"),
        pytest.param(message.content, RequestedCalls("anthropic", MESSAGE_CALLS), id="its content"),
        pytest.param(
            MESSAGE, RequestedCalls("anthropic", MESSAGE_CALLS), id="message dict of anthropic"
        ),
        pytest.param(
            message.to_dict(), RequestedCalls("anthropic", MESSAGE_CALLS), id="message dumped"
        ),
    ],
)
def test_calls_are_read_from_objects_and_dicts_of_each_provider(given, asked):
    assert read_calls(given) == asked


def without_calls(shape: str) -> Any:
    texts = {
        "chat": {**CHAT["choices"][0]["message"], "tool_calls": None, "content": "hello"},
        "parts": {"role": "assistant", "content": [{"type": "text", "text": "hello"}]},
        "response": {**RESPONSE, "output": RESPONSE["output"][2:3]},
        "nothing": {**RESPONSE, "output": []},
        "message": {**MESSAGE, "content": MESSAGE["content"][:1]},
    }
    return texts[shape]


@pytest.mark.parametrize("shape", ["chat", "parts", "response", "nothing", "message"])
def test_a_response_without_calls_has_none(shape):
    asked = read_calls(without_calls(shape))

    assert asked.calls == []
    assert tool_messages([], asked.provider) == []


@pytest.mark.parametrize(
    "given",
    [
        None,
        "text",
        5,
        {},
        {"choices": []},
        {"choices": [{"delta": {"tool_calls": []}}]},
        {"role": "user", "content": [{"type": "tool_result"}]},
        {"role": "assistant", "tool_calls": "c1"},
        [{"name": "read_file"}],
        ["text"],
        SimpleNamespace(candidates=[]),
    ],
    ids=repr,
)
def test_another_shape_is_refused_with_what_is_accepted(given):
    with pytest.raises(ProblemRaised) as caught:
        read_calls(given)

    problem = caught.value.problem
    assert problem.code == "invalid_arguments"
    assert problem.hint is not None
    assert "Anthropic message" in problem.hint


@pytest.mark.parametrize("broken", [{"id": None}, {"function": {"name": None}}])
def test_a_call_that_could_not_be_answered_is_refused(broken):
    call = {"id": "c1", "type": "function", "function": {"name": "grep", "arguments": "{}"}}

    with pytest.raises(ProblemRaised) as caught:
        read_calls({"role": "assistant", "tool_calls": [{**call, **broken}]})

    assert "id or no name" in caught.value.problem.message


def test_a_function_call_without_an_id_is_not_taken_for_the_end():
    call = {"name": "grep", "arguments": "{}"}

    with pytest.raises(ProblemRaised) as caught:
        read_calls({"role": "assistant", "content": None, "function_call": call})

    assert caught.value.problem.code == "invalid_arguments"


# --- answering ----------------------------------------------------------------------------

PNG = Image("image/png", b"\x89PNG")
RESULTS = [
    ToolResult("1", Status.OK, "content of a"),
    ToolResult("2", Status.FAILED, "no such file", problem=Problem("not_found", "no such file")),
    ToolResult("3", Status.OK, "a picture", images=(PNG, Image("image/tiff", b"II*"))),
    ToolResult("4", Status.REFUSED, ""),
]
TIFF_NOTE = "[an image, image/tiff, 3 bytes, cannot be shown here]"


@pytest.mark.feature("B07", "B08")
def test_chat_gets_one_message_per_call_in_order():
    messages = tool_messages(RESULTS, "openai")

    assert messages == [
        {"role": "tool", "tool_call_id": "1", "content": "content of a"},
        {"role": "tool", "tool_call_id": "2", "content": "no such file"},
        {
            "role": "tool",
            "tool_call_id": "3",
            "content": "a picture\n[an image, image/png, 4 bytes, cannot be shown here]\n"
            + TIFF_NOTE,
        },
        {"role": "tool", "tool_call_id": "4", "content": ""},
    ]
    TypeAdapter(list[ChatCompletionToolMessageParam]).validate_python(messages)


@pytest.mark.feature("B07")
def test_responses_gets_one_output_per_call_with_its_images():
    messages = tool_messages(RESULTS, "openai-responses")

    assert messages == [
        {"type": "function_call_output", "call_id": "1", "output": "content of a"},
        {"type": "function_call_output", "call_id": "2", "output": "no such file"},
        {
            "type": "function_call_output",
            "call_id": "3",
            "output": [
                {"type": "input_text", "text": "a picture"},
                {"type": "input_image", "image_url": "data:image/png;base64,iVBORw=="},
                {"type": "input_text", "text": TIFF_NOTE},
            ],
        },
        {"type": "function_call_output", "call_id": "4", "output": ""},
    ]
    TypeAdapter(list[FunctionCallOutput]).validate_python(messages)


@pytest.mark.feature("A20", "B07")
def test_anthropic_gets_one_message_with_all_results_and_their_images():
    messages = tool_messages(RESULTS, "anthropic")

    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw=="}
    assert messages == [
        {
            "role": "user",
            "content": [
                result_block("1", "content of a", is_error=False),
                result_block("2", "no such file", is_error=True),
                result_block(
                    "3",
                    [
                        {"type": "text", "text": "a picture"},
                        {"type": "image", "source": source},
                        {"type": "text", "text": TIFF_NOTE},
                    ],
                    is_error=False,
                ),
                result_block("4", "", is_error=True),
            ],
        }
    ]
    TypeAdapter(list[MessageParam]).validate_python(messages)
    # The SDK types its lists as iterables, which are checked only when they are walked.
    blocks = messages[0]["content"]
    TypeAdapter(list[ToolResultBlockParam]).validate_python(blocks)
    TypeAdapter(list[TextBlockParam | ImageBlockParam]).validate_python(blocks[2]["content"])


def result_block(call_id: str, content: Any, *, is_error: bool) -> dict[str, Any]:
    return {
        "type": "tool_result",
        "tool_use_id": call_id,
        "content": content,
        "is_error": is_error,
    }


def test_an_image_without_text_is_sent_alone():
    result = ToolResult("1", Status.OK, "", images=(PNG,))

    assert [
        one["type"] for one in tool_messages([result], "anthropic")[0]["content"][0]["content"]
    ] == ["image"]
    assert tool_messages([result], "openai")[0]["content"].startswith("[an image, image/png")


def test_an_unknown_provider_is_refused_with_the_known_ones():
    with pytest.raises(ProblemRaised) as caught:
        tool_messages(RESULTS, "cohere")  # type: ignore[arg-type]

    assert caught.value.problem.hint == "formats: openai, openai-responses, anthropic"
