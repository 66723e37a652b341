"""Messages of a conversation as JSON, and back."""

import json

import pytest

from handrail.agent.codec import decode_message, encode_message
from handrail.core.ports.models import (
    CallBlock,
    Message,
    Picture,
    RawMessage,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)

PICTURE = Picture("image/png", b"\x00\xff")
BLOCKS = [
    TextBlock("a"),
    ThinkingBlock("b"),
    PICTURE,
    CallBlock("c1", "read_file", '{"path": "a"}'),
    ResultBlock("c1", (TextBlock("d"), PICTURE)),
    ResultBlock("c1", (), is_error=True),
]


@pytest.mark.parametrize("block", BLOCKS, ids=lambda one: type(one).__name__)
@pytest.mark.parametrize("role", ["user", "assistant", "tool"])
def test_a_block_comes_back_as_it_was(role, block):
    message = Message(role, (block,))

    assert decode_message(json.loads(json.dumps(encode_message(message)))) == message


@pytest.mark.parametrize("value", [{"a": [1]}, [1, 2], "x", None])
def test_what_a_provider_needs_comes_back(value):
    message = Message("assistant", tuple(BLOCKS[:2]), RawMessage("gemini", value))

    assert decode_message(json.loads(json.dumps(encode_message(message)))) == message


def test_a_message_without_a_raw_form_has_none():
    assert "raw" not in encode_message(Message("user", ()))
    assert decode_message({"role": "user", "blocks": []}).raw is None


@pytest.mark.parametrize(
    "encoded",
    [
        {"blocks": []},
        {"role": "user"},
        {"role": "user", "blocks": [{"type": "other"}]},
        {"role": "user", "blocks": [{"type": "text"}]},
    ],
)
def test_what_is_no_message_is_refused(encoded):
    with pytest.raises((ValueError, KeyError)):
        decode_message(encoded)
