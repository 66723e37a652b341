"""The text and the calls of messages."""

from handrail.core.ports.models import (
    CallBlock,
    Message,
    Picture,
    ResultBlock,
    TextBlock,
    ThinkingBlock,
)

CALL = CallBlock("c1", "read", {"path": "a"})
PICTURE = Picture("image/png", b"")


def test_the_text_of_a_message_is_that_of_its_text_blocks():
    message = Message("assistant", (TextBlock("a"), ThinkingBlock("no"), CALL, TextBlock("b")))

    assert (message.text, message.calls) == ("ab", (CALL,))
    assert (Message("user", ()).text, Message("user", ()).calls) == ("", ())


def test_the_text_of_a_result_is_that_of_its_text_blocks():
    assert ResultBlock("c1", (TextBlock("a"), PICTURE, TextBlock("b"))).text == "ab"
    assert ResultBlock("c1", (PICTURE,)).text == ""
