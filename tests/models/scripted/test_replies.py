"""What a scripted service answers: messages in order, faults between them, token counts."""

import json
from email.utils import parsedate_to_datetime

import pytest

from handrail.models.scripted.replies import ProviderFault, ReplyQueue
from handrail.models.scripted.streams import ScriptedCall, ScriptedMessage

WIRES = ("openai-chat", "openai-responses", "anthropic", "gemini")
HELLO = ScriptedMessage(text="hello world!")


def text(reply):
    return b"".join(reply.chunks).decode()


@pytest.mark.parametrize("wire", WIRES)
def test_messages_come_in_order_and_then_done(wire):
    queue = ReplyQueue([HELLO, ScriptedMessage(text="second")], chunk=100)

    replies = [queue.answer(wire, b"x" * 40) for _ in range(3)]

    assert "hello world!" in text(replies[0])
    assert "second" in text(replies[1])
    assert "done" in text(replies[2])
    assert {(reply.status, reply.then) for reply in replies} == {(200, "end")}
    assert queue.requests == 3


def test_tokens_are_estimated_from_the_bytes():
    queue = ReplyQueue([HELLO])

    queue.answer("anthropic", b"x" * 41)

    assert queue.tokens == {"input": 10, "output": 3}


def test_calls_and_thinking_count_as_output():
    call = ScriptedCall("read", {"a": 1}, "c")
    queue = ReplyQueue([ScriptedMessage(text="ab", thinking="cd", calls=(call,))])

    queue.answer("anthropic", b"")

    assert queue.tokens == {"input": 1, "output": (4 + 4 + len(call.arguments_json)) // 4}


def test_counts_that_a_message_gives_are_used():
    queue = ReplyQueue([ScriptedMessage(text="a", usage={"input": 7, "output": 9})])

    queue.answer("anthropic", b"x" * 400)

    assert queue.tokens == {"input": 7, "output": 9}


def test_counts_that_are_no_numbers_are_not_added():
    queue = ReplyQueue([ScriptedMessage(text="a", usage={"input": "x", "output": 2})])

    queue.answer("anthropic", b"x")

    assert queue.tokens == {"input": 0, "output": 2}


def test_a_message_may_take_its_time():
    queue = ReplyQueue([ScriptedMessage(text="abcdef", delay_s=2.0, stream_s=6.0)], chunk=2)

    reply = queue.answer("anthropic", b"")

    assert reply.delay_s == 2.0
    assert reply.pause_s * len(reply.chunks) == pytest.approx(6.0)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize(
    ("kind", "word"),
    [("413", "request_too_large"), ("429", "rate_limit_error"), ("500", "api_error")],
)
def test_errors_have_a_status_and_a_body(wire, kind, word):
    queue = ReplyQueue([ProviderFault(kind), HELLO])

    reply = queue.answer(wire, b"")

    error = json.loads(text(reply))["error"]
    assert (reply.status, "retry-after" in reply.headers) == (int(kind), False)
    if wire == "gemini":
        assert (error["code"], error["status"]) == (int(kind), word.upper())
    else:
        assert error["type"] == word
    assert kind in error["message"]
    assert "hello" in text(queue.answer("gemini", b""))


def test_an_error_says_when_to_ask_again():
    faults = [
        ProviderFault("429", retry_after_s=2),
        ProviderFault("429", retry_after_s=0.5, header="retry-after-ms"),
        ProviderFault("429", retry_after_s=100, header="date"),
    ]
    queue = ReplyQueue(faults)

    first, second, third = (queue.answer("anthropic", b"").headers for _ in faults)

    assert first["retry-after"] == "2"
    assert second["retry-after-ms"] == "500"
    assert "retry-after" not in second
    assert parsedate_to_datetime(third["retry-after"]).timestamp() > 1_600_000_000


@pytest.mark.parametrize(("kind", "then"), [("cut", "cut"), ("hang", "hang")])
def test_a_stream_stops_after_some_bytes(kind, then):
    whole = text(ReplyQueue([HELLO]).answer("anthropic", b""))
    queue = ReplyQueue([ProviderFault(kind, after=30), HELLO])

    reply = queue.answer("anthropic", b"")

    assert (reply.then, reply.status) == (then, 200)
    assert text(reply) == whole[:30]
    assert text(queue.answer("anthropic", b"")).replace("resp2", "resp1") == whole


def test_a_stream_may_stop_before_its_first_byte():
    assert ReplyQueue([ProviderFault("cut")]).answer("anthropic", b"").chunks == []


def test_a_service_may_only_ping():
    reply = ReplyQueue([ProviderFault("ping"), HELLO]).answer("anthropic", b"")

    assert (reply.chunks, reply.then) == ([], "ping")


def test_an_event_may_be_malformed_or_out_of_order():
    plain = ReplyQueue([HELLO]).answer("anthropic", b"").chunks
    malformed = ReplyQueue([ProviderFault("malformed"), HELLO]).answer("anthropic", b"").chunks
    order = ReplyQueue([ProviderFault("order"), HELLO]).answer("anthropic", b"").chunks

    assert malformed[:-1] == plain[:-1]
    with pytest.raises(ValueError, match="Expecting"):
        json.loads(malformed[-1].removeprefix(b"data: "))
    assert sorted(order) == sorted(plain)
    assert order != plain
    assert (order[0], order[1]) == (plain[-1], plain[0])


def test_all_calls_may_have_the_same_id():
    calls = (ScriptedCall("a", {}, "one"), ScriptedCall("b", {}, "two"))
    queue = ReplyQueue([ProviderFault("duplicate_ids"), ScriptedMessage(calls=calls)])

    reply = queue.answer("anthropic", b"")

    assert text(reply).count("call_same") == 2
    assert '"one"' not in text(reply)
    assert reply.then == "end"


def test_token_counts_may_be_absurd():
    queue = ReplyQueue([ProviderFault("usage"), HELLO])

    reply = queue.answer("anthropic", b"x")

    assert "-5" in text(reply)
    assert queue.tokens == {"input": 0, "output": 0}
    assert queue.take_message() == HELLO


def test_the_next_message_skips_nothing_that_it_can_use():
    queue = ReplyQueue([ProviderFault("500"), HELLO])

    assert queue.take_message().text == "done"
    assert queue.take_message() == HELLO
    assert queue.take_message().text == "done"
