"""One request of a model: what is sent, what comes back, and how a failure is told."""

import json

import pytest
from tests.models.speaking import asked

from handrail.core.ports.models import (
    CallBlock,
    Message,
    MessageDone,
    ModelFailed,
    ModelLimits,
    ModelRetry,
    TextBlock,
    TextDelta,
    UsageReported,
)
from handrail.models.client import Endpoint, WireModel, read_event, scrub_failure
from handrail.models.failures import failure_from_body
from handrail.models.retries import RetryPolicy
from handrail.models.sse import ServerEvent
from handrail.models.wires.chat import ChatReader
from handrail.models.wires.formats import FORMATS
from handrail.models.wires.requests import WireOptions

JSON = {"content-type": "application/json"}


class FakeReply:
    """An answer from memory that notes whether it was closed."""

    def __init__(self, *chunks, status=200, headers=None):
        self.status, self.headers, self.closed = status, headers or {}, 0
        self._chunks = chunks

    async def chunks(self):
        for one in self._chunks:
            if isinstance(one, Exception):
                raise one
            yield one

    async def aclose(self):
        self.closed += 1


class FakeTransport:
    """Answers each request with the next reply, and further ones with the last."""

    def __init__(self, *replies):
        self.replies, self.sent = list(replies), []

    async def post(self, url, headers, body):
        self.sent.append((url, headers, json.loads(body)))
        return self.replies[min(len(self.sent), len(self.replies)) - 1]

    async def aclose(self):
        pass


def event(**value):
    return f"data: {json.dumps(value)}\n\n".encode()


def said(text="", finish=None):
    return event(choices=[{"delta": {"content": text}, "finish_reason": finish}])


async def stream(transport, request=None, *, key="secret-key", headers=None, tries=0, detect=None):
    """The events of a request, the failure at its end, and the seconds that were waited."""
    waited = []

    async def read_key():
        return key

    async def sleep(seconds):
        waited.append(seconds)

    model = WireModel(
        "m",
        FORMATS["openai-chat"],
        WireOptions("m"),
        Endpoint("http://x/v1/", read_key, headers or {}),
        transport,
        ModelLimits(stream_retries=tries),
        retries=RetryPolicy(sleep=sleep, idle_s=5),
        detect=detect,
    )
    events, failed = [], None
    try:
        async for one in model.stream(request or asked()):
            events.append(one)
    except ModelFailed as caught:
        failed = caught
    return events, failed, waited


async def test_what_is_sent():
    transport = FakeTransport(FakeReply(said("a", "stop")))

    await stream(transport, headers={"x-own": "1"})

    url, headers, body = transport.sent[0]
    assert url == "http://x/v1/chat/completions"
    assert headers == {
        "content-type": "application/json",
        "accept": "text/event-stream",
        "x-own": "1",
        "authorization": "Bearer secret-key",
    }
    assert body["max_tokens"] == 500


async def test_without_a_key_no_key_is_sent():
    transport = FakeTransport(FakeReply(said("a", "stop")))

    await stream(transport, key=None)

    assert "authorization" not in transport.sent[0][1]


async def test_a_conversation_that_no_provider_takes_is_not_sent():
    transport = FakeTransport()
    open_call = Message("assistant", (CallBlock("c", "t", "{}"),))

    _, failed, _ = await stream(transport, asked(open_call))

    assert (failed.code, transport.sent) == ("invalid_request", [])


async def test_the_limits_of_the_server_are_asked_for_once():
    asks = []

    async def detect():
        asks.append(1)
        return ModelLimits(max_output_tokens=7)

    transport = FakeTransport(FakeReply(said("a", "stop")))
    await stream(transport, detect=detect)

    assert asks == [1]


async def test_events_usage_and_the_message():
    usage = event(choices=[], usage={"prompt_tokens": 5, "completion_tokens": 6})
    reply = FakeReply(said("a"), said("b", "stop"), usage, b"data: [DONE]\n\n")

    events, failed, _ = await stream(FakeTransport(reply))

    assert failed is None
    assert events[:-1] == [TextDelta("a"), TextDelta("b"), UsageReported(5, 6)]
    assert isinstance(events[-1], MessageDone)
    assert reply.closed == 1


async def test_tokens_that_are_not_told_are_estimated():
    events, _, _ = await stream(FakeTransport(FakeReply(said("x" * 41, "stop"))))
    usage = events[-2]

    assert (usage.estimated, usage.output, usage.input > 20) == (True, 10, True)
    events, _, _ = await stream(FakeTransport(FakeReply(said("x", "stop"))))
    assert events[-2].output == 1
    told = event(choices=[], usage={"prompt_tokens": 5, "completion_tokens": 0})
    events, _, _ = await stream(FakeTransport(FakeReply(said("", "stop"), told)))
    assert [one for one in events if isinstance(one, UsageReported)] == [UsageReported(5, 0)]


async def test_a_stream_that_is_cut_says_what_it_cost():
    reply = FakeReply(said("abcdefgh"), ModelFailed("network", "gone"))

    events, failed, _ = await stream(FakeTransport(reply))

    assert events == [TextDelta("abcdefgh")]
    assert (failed.code, failed.partial, failed.usage.output) == ("cut", None, 2)
    assert "gone" in failed.message
    assert reply.closed == 1


async def test_a_failure_before_the_first_event_is_tried_again():
    usage = event(choices=[], usage={"prompt_tokens": 5})
    first = FakeReply(usage, ModelFailed("network", "gone"))
    transport = FakeTransport(first, FakeReply(said("a", "stop")))

    events, failed, waited = await stream(transport, tries=2)

    assert failed is None
    assert isinstance(events[0], ModelRetry)
    assert events[1] == TextDelta("a")
    assert waited == [events[0].wait_s]
    assert first.closed == 1


async def test_a_failure_after_the_first_event_is_not_tried_again():
    transport = FakeTransport(FakeReply(said("a"), ModelFailed("network", "gone")), FakeReply())

    events, failed, waited = await stream(transport, tries=2)

    assert (events, failed.code, waited) == ([TextDelta("a")], "cut", [])
    assert len(transport.sent) == 1


async def test_a_message_that_has_ended_is_complete_however_its_connection_ends():
    reply = FakeReply(said("a", "stop"), ModelFailed("network", "gone"))

    events, failed, _ = await stream(FakeTransport(reply))

    assert failed is None
    assert events[-1].message.text == "a"


async def test_what_follows_the_last_event_is_not_read():
    reply = FakeReply(said("a", "stop"), b"data: [DONE]\n\n", said("b"))

    assert (await stream(FakeTransport(reply)))[0][-1].message.text == "a"


@pytest.mark.parametrize(
    ("reply", "code", "word"),
    [
        (FakeReply(b'{"error": {"type": "invalid_api_key"}}', status=401), "auth", "401"),
        (FakeReply(b"{}", headers=JSON), "network", "application/json"),
        (FakeReply(b"<html>", headers={"content-type": "text/html"}), "network", "text/html"),
        (
            FakeReply(b'{"error": {"type": "billing_error", "message": "pay"}}', headers=JSON),
            "auth",
            "pay",
        ),
        (FakeReply(b"", status=302), "network", "redirect"),
        (FakeReply(b"", status=399), "network", "redirect"),
        (FakeReply(b"plain words", status=400), "invalid_request", "plain words"),
        (FakeReply(b"x", ModelFailed("network", "gone"), status=500), "overloaded", "500"),
    ],
)
async def test_answers_that_are_no_stream(reply, code, word):
    transport = FakeTransport(reply)

    _, failed, _ = await stream(transport)

    assert (failed.code, word in failed.message) == (code, True)
    assert reply.closed == len(transport.sent)


async def test_an_error_says_when_to_ask_again():
    reply = FakeReply(b"{}", status=429, headers={"retry-after": "3"})

    _, failed, _ = await stream(FakeTransport(reply))

    assert (failed.retry_after_s, failed.status, failed.retryable) == (3.0, 429, True)


async def test_the_key_is_not_in_a_failure():
    body = b'{"error": {"message": "the key secret-key and own-value are wrong"}}'
    reply = FakeReply(body, status=401, headers={"retry-after": "3"})

    _, failed, _ = await stream(FakeTransport(reply), headers={"x": "own-value"})

    assert "secret-key" not in failed.message
    assert "own-value" not in failed.message
    assert (failed.code, failed.status, failed.retry_after_s) == ("auth", 401, 3.0)


def test_short_values_are_no_secrets():
    failed = ModelFailed("auth", "abc and abcd and abcd")

    assert scrub_failure(failed, ["abc"]) is failed
    hidden = scrub_failure(failed, ["abcd"]).message
    assert ("abc and" in hidden, "abcd" in hidden) == (True, False)
    assert scrub_failure(ModelFailed("auth", "abcd at the start"), ["abcd"]).message[:4] != "abcd"


@pytest.mark.parametrize(
    ("secret", "message", "left"),
    [
        ("0123456789abcdefghij", "key 0123456789abcdefghij.", "key [key]."),
        ("0123456789abcdefghij", "key 0123456789abc", "key [key]"),
        ("0123456789abcdefghij", "key 0123456789", "key [key]"),
        ("0123456789abcdefghij", "key 012345678", "key 012345678"),
        ("0123456789abcdefghij", "0123456789abX", "[key]X"),
        ("0123456789", "key 01234567", "key [key]"),
        ("0123456789", "key 0123456", "key 0123456"),
        ("0123456789", "0123456789 0123456789", "[key] [key]"),
        ("abcd", "xabcdabcdx", "x[key][key]x"),
        ("abcdé\n", "it is 'abcdé\\n'", "it is '[key]'"),
    ],
)
def test_a_secret_and_its_first_half_are_hidden(secret, message, left):
    assert scrub_failure(ModelFailed("auth", message), [secret]).message == left


def test_what_is_known_of_a_failure_stays():
    usage = UsageReported(1, 2)
    partial = Message("assistant", (TextBlock("a"),))
    failed = ModelFailed(
        "cut",
        "a secret",
        status=5,
        retryable=True,
        retry_after_s=2,
        partial=partial,
        usage=usage,
        hint="h",
    )

    found = scrub_failure(failed, ["secret"])

    assert "secret" not in found.message
    assert (found.code, found.status, found.retryable, found.retry_after_s) == ("cut", 5, True, 2)
    assert (found.partial, found.usage, found.hint) == (partial, usage, "h")


def test_events_that_keep_a_connection_alive():
    reader = ChatReader()

    assert read_event(reader, ServerEvent("", " ")) == ()
    assert not reader.stopped
    assert read_event(reader, ServerEvent("", "[DONE]")) == ()
    assert reader.stopped
    read_event(reader, ServerEvent("", ""))
    assert reader.stopped


@pytest.mark.parametrize("data", ["{", "[1]", "5", "[" * 100_000])
def test_events_that_are_wrong(data):
    with pytest.raises(ModelFailed):
        read_event(ChatReader(), ServerEvent("", data))


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({"error": {"type": "api_error", "message": "context length"}}, 400, "context_overflow"),
        ({"error": {"type": "api_error", "message": "context length"}}, 500, "overloaded"),
        ({"error": {"type": "api_error", "message": "context length"}}, None, "overloaded"),
        ({"error": {"type": "api_error", "message": "content_filter"}}, 422, "content_refused"),
        ({"error": {"type": "billing_error", "message": "context length"}}, 400, "auth"),
        ({"error": {"message": "prompt is too long"}}, 400, "context_overflow"),
        ({"error": {"message": "other"}}, 400, "invalid_request"),
        ({"error": {"code": "X", "type": "Rate_Limit_Error"}}, 400, "rate_limited"),
        ({"message": "safety system"}, 400, "content_refused"),
        ("too many tokens", 413, "context_overflow"),
        (None, 299, "invalid_request"),
        (None, 300, "network"),
        (None, 400, "invalid_request"),
        (None, 499, "invalid_request"),
        (None, 500, "overloaded"),
    ],
)
def test_the_code_of_a_failure(body, status, code):
    assert failure_from_body(body, status).code == code


@pytest.mark.parametrize(
    ("status", "retryable"), [(500, True), (429, True), (302, False), (400, False), (None, True)]
)
def test_which_failures_may_pass(status, retryable):
    assert failure_from_body({}, status).retryable is retryable
