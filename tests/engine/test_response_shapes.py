"""Responses of Gemini, unusual shapes of the others, and how a response ended."""

from types import SimpleNamespace

import pytest

from handrail.core.ports.models import Finish
from handrail.core.problems import ProblemRaised
from handrail.core.results import Image, Status, ToolResult
from handrail.engine.providers.provider_messages import (
    ResponseEnd,
    either,
    gemini_parts,
    read_calls,
    read_end,
    response_id,
    tool_messages,
)

PART = {"functionCall": {"id": "g1", "name": "grep", "args": {"q": 1}}}
BARE = {"functionCall": {"name": "list_files"}}


def gemini(*parts, **candidate):
    return {"candidates": [{"content": {"role": "model", "parts": list(parts)}, **candidate}]}


@pytest.mark.parametrize(
    ("response", "calls"),
    [
        (gemini(PART), [("g1", "grep", {"q": 1})]),
        (gemini({"text": "x"}, BARE, PART), [("", "list_files", {}), ("g1", "grep", {"q": 1})]),
        (gemini({"text": "x"}), []),
        (gemini(), []),
        ({"role": "model", "parts": [PART]}, [("g1", "grep", {"q": 1})]),
        ({"role": "model"}, []),
        ({"candidates": [{"finishReason": "SAFETY"}]}, []),
        (
            SimpleNamespace(
                candidates=[
                    SimpleNamespace(
                        content=SimpleNamespace(
                            parts=[
                                SimpleNamespace(
                                    function_call=SimpleNamespace(id=None, name="grep", args=None)
                                )
                            ]
                        )
                    )
                ]
            ),
            [("", "grep", {})],
        ),
    ],
)
def test_calls_of_gemini(response, calls):
    found = read_calls(response)

    assert found.provider == "gemini"
    assert [(one["id"], one["name"], one["arguments"]) for one in found.calls] == calls


@pytest.mark.parametrize(
    "response", [{"candidates": []}, {"candidates": None}, {"role": "user"}, {"parts": [PART]}, {}]
)
def test_what_is_no_response_of_gemini(response):
    assert gemini_parts(response) is None
    with pytest.raises(ProblemRaised):
        read_calls(response)


FUNCTION = {"id": "c", "function": {"name": "grep", "arguments": "{}"}}
BLOCK = {"type": "tool_use", "id": "t", "name": "Grep", "input": {}}


@pytest.mark.parametrize(
    ("response", "provider", "ids"),
    [
        ([FUNCTION], "openai", ["c"]),
        ((FUNCTION, {"id": "x", "type": "custom"}), "openai", ["c"]),
        ([{"type": "text"}, BLOCK], "anthropic", ["t"]),
        ([BLOCK], "anthropic", ["t"]),
        ([], "openai-responses", []),
        ({"output": []}, "openai-responses", []),
        ({"output": (), "role": "assistant"}, "openai-responses", []),
        ({"role": "assistant", "content": [BLOCK]}, "anthropic", ["t"]),
        # Blocks of content beside calls of a chat are no message of Anthropic.
        ({"role": "assistant", "content": [BLOCK], "tool_calls": [FUNCTION]}, "openai", ["c"]),
        ({"role": "assistant", "content": [BLOCK], "tool_calls": []}, "openai", []),
        ({"role": "assistant", "content": "x"}, "openai", []),
        ({"role": "assistant", "function_call": {}, "tool_calls": [FUNCTION]}, "openai", ["c"]),
        ({"choices": [{"message": {"role": "assistant"}}]}, "openai", []),
        ({"choices": ({"message": {"role": "assistant"}},)}, "openai", []),
    ],
)
def test_the_shape_tells_the_provider(response, provider, ids):
    found = read_calls(response)

    assert (found.provider, [one["id"] for one in found.calls]) == (provider, ids)


@pytest.mark.parametrize(
    ("response", "expected"),
    [
        ({"id": "r1"}, "r1"),
        ({"responseId": "r2"}, "r2"),
        (SimpleNamespace(response_id="r3"), "r3"),
        ({"id": ""}, None),
        ({"id": 5}, None),
        ({}, None),
        ([{"id": "x"}], None),
        (({"id": "x"},), None),
    ],
)
def test_the_id_of_a_response(response, expected):
    assert response_id(response) == expected


def test_a_field_is_found_in_both_spellings():
    assert either({"finishReason": "a", "finish_reason": "b"}, "finishReason") == "a"
    assert either({"finish_reason": "b"}, "finishReason") == "b"
    assert either({"finishReason": ""}, "finishReason") == ""
    assert either({}, "finishReason") is None


PNG = Image("image/png", b"\x89PNG")


def test_results_for_gemini_are_one_message_with_the_pictures_last():
    results = [
        ToolResult("g1", Status.OK, "text", images=(PNG, Image("image/tiff", b"II*"))),
        ToolResult("", Status.FAILED, "broke"),
    ]

    (message,) = tool_messages(results, "gemini", ["grep"])

    first, second, picture, note = message["parts"]
    assert message["role"] == "user"
    assert first == {
        "functionResponse": {"id": "g1", "name": "grep", "response": {"output": "text"}}
    }
    assert second == {"functionResponse": {"name": "", "response": {"error": "broke"}}}
    assert picture == {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}}
    assert list(note) == ["text"]
    assert "image/tiff, 3 bytes" in note["text"]


def chat(reason, **message):
    return {"choices": [{"finish_reason": reason, "message": message}]}


@pytest.mark.parametrize(
    ("response", "end"),
    [
        (chat("tool_calls"), ResponseEnd(Finish.CALLS, "tool_calls")),
        (chat("length"), ResponseEnd(Finish.LENGTH, "length")),
        (chat("new word"), ResponseEnd(Finish.UNKNOWN, "new word")),
        (chat("x" * 101), ResponseEnd(Finish.UNKNOWN, "x" * 100)),
        (chat(None), ResponseEnd(Finish.UNKNOWN)),
        (chat("stop", refusal="no"), ResponseEnd(Finish.REFUSED, "refusal")),
        ({"role": "assistant", "content": "x"}, ResponseEnd(None)),
        ({"role": "assistant", "refusal": "no"}, ResponseEnd(Finish.REFUSED, "refusal")),
        (
            {"role": "assistant", "finish_reason": "length"},
            ResponseEnd(Finish.LENGTH, "length"),
        ),
        ({"role": "assistant", "content": []}, ResponseEnd(None)),
        ({"role": "assistant", "content": [], "id": "m"}, ResponseEnd(Finish.UNKNOWN)),
        (
            {"role": "assistant", "content": [], "stop_reason": "tool_use"},
            ResponseEnd(Finish.CALLS, "tool_use"),
        ),
        (SimpleNamespace(content=[], stop_reason=None), ResponseEnd(Finish.UNKNOWN)),
        (
            {"output": [], "status": "incomplete", "incomplete_details": {"reason": "new"}},
            ResponseEnd(Finish.CUT, "new"),
        ),
        ({"output": [], "status": "incomplete"}, ResponseEnd(Finish.CUT, "incomplete")),
        (gemini(PART, finishReason="MAX_TOKENS"), ResponseEnd(Finish.LENGTH, "MAX_TOKENS")),
        (
            gemini(PART, finishReason=SimpleNamespace(value="MAX_TOKENS")),
            ResponseEnd(Finish.LENGTH, "MAX_TOKENS"),
        ),
        (gemini(PART), ResponseEnd(Finish.UNKNOWN)),
        ({"role": "model", "parts": []}, ResponseEnd(None)),
        ([], ResponseEnd(None)),
    ],
)
def test_how_a_response_ended(response, end):
    assert read_end(response) == end


@pytest.mark.parametrize(
    ("statuses", "unfinished"),
    [
        (["completed", None], set()),
        (["completed", "incomplete"], {1}),
        (["in_progress", "completed", "incomplete"], {0, 2}),
    ],
)
def test_calls_that_are_marked_as_incomplete(statuses, unfinished):
    items = [{"type": "reasoning", "status": "incomplete"}]
    items += [{"type": "function_call", "status": one} for one in statuses]

    assert read_end(items).unfinished == unfinished
    assert read_end({"output": items, "status": "completed"}).unfinished == unfinished


@pytest.mark.parametrize(
    ("finish", "runs", "cuts"),
    [
        (None, True, False),
        (Finish.CALLS, True, False),
        (Finish.LENGTH, False, True),
        (Finish.REFUSED, False, True),
        (Finish.CUT, False, True),
        (Finish.UNKNOWN, False, False),
    ],
)
def test_what_the_end_of_a_response_allows(finish, runs, cuts):
    end = ResponseEnd(finish)

    assert (end.runs_effects, end.cuts_last_call) == (runs, cuts)
