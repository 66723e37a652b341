"""Actions that models write as JSON in their text, in the responses of every provider."""

import pytest

from handrail.engine.providers.text_actions import read_action

TEXT = '{"type": "look", "at": "a.py"}'
FOUND = {"id": "", "name": "look", "arguments": {"at": "a.py"}}


def chat(content):
    return {"choices": [{"message": {"role": "assistant", "content": content}}]}


@pytest.mark.parametrize(
    "response",
    [
        chat(TEXT),
        chat(f"```json\n{TEXT}\n```"),
        {"role": "assistant", "content": [{"type": "text", "text": TEXT}]},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "text": "hm"},
                {"type": "text", "text": None},
                {"type": "text", "text": TEXT},
            ],
        },
        {
            "output": [
                {"type": "reasoning", "text": "hm"},
                {"type": "message", "content": [{"type": "output_text", "text": TEXT}]},
            ]
        },
        {"role": "model", "parts": [{"text": "hm", "thought": True}, {"text": TEXT}]},
    ],
)
def test_the_action_is_read_from_the_text_alone(response):
    assert read_action(response, {"look"}) == FOUND
    assert read_action(response, {"other"}) is None
    assert read_action(response, ()) is None


@pytest.mark.parametrize("text", ["", "look", f"I look: {TEXT}", "[1]", '{"type": 1}', "{broken"])
def test_any_other_text_is_no_action(text):
    assert read_action(chat(text), {"look"}) is None
