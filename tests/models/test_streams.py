"""What a model streams over each wire format, from a provider on loopback."""

import asyncio
import json
from types import SimpleNamespace

import pytest
from tests.models.speaking import KEY, WIRES, asked, collect, model_on, no_sleep

from handrail.core.ports.models import (
    CallBlock,
    CallClosed,
    CallDelta,
    CallOpened,
    Finish,
    Message,
    MessageDone,
    ModelFailed,
    ModelRetry,
    ResultBlock,
    TextBlock,
    TextDelta,
    ThinkingBlock,
    ThinkingDelta,
    UsageReported,
)
from handrail.models.retries import RetryPolicy
from handrail.models.wires.formats import FORMATS
from handrail.testing import FakeProvider, ProviderFault, ScriptedCall, ScriptedMessage

CALLS = (
    ScriptedCall("write_file", {"path": "ä.txt", "content": "one\ntwo"}, "call_a"),
    ScriptedCall("read_file", {"path": "b"}, "call_b"),
)
MESSAGE = ScriptedMessage(text="I write, then I read.", calls=CALLS, thinking="Hm, let me see.")


@pytest.mark.parametrize("wire", WIRES)
async def test_a_message_is_assembled(wire):
    async with FakeProvider([MESSAGE], chunk=3, key=KEY) as server:
        events = await collect(model_on(server, wire))

    done = events[-1]
    assert isinstance(done, MessageDone)
    assert done.finish is Finish.CALLS
    assert _joined(events, TextDelta) == MESSAGE.text
    assert _joined(events, ThinkingDelta) == MESSAGE.thinking
    assert [block for block in done.message.blocks if not isinstance(block, CallBlock)] == [
        ThinkingBlock(MESSAGE.thinking),
        TextBlock(MESSAGE.text),
    ]
    closed = [event for event in events if isinstance(event, CallClosed)]
    assert [(one.index, one.id, one.name) for one in closed] == [
        (0, "call_a", "write_file"),
        (1, "call_b", "read_file"),
    ]
    assert [one.id for one in events if isinstance(one, CallOpened)] == ["call_a", "call_b"]
    for number, one in enumerate(closed):
        pieces = [e.json for e in events if isinstance(e, CallDelta) and e.index == number]
        assert "".join(pieces) == one.arguments_json
        assert one.arguments_json == done.message.calls[number].arguments_json
    usage = [event for event in events if isinstance(event, UsageReported)][-1]
    assert not usage.estimated
    assert usage.output == server.tokens["output"]


@pytest.mark.parametrize("wire", WIRES)
async def test_a_conversation_goes_on_with_what_came(wire):
    script = [MESSAGE, ScriptedMessage(text="All done.")]
    async with FakeProvider(script) as server:
        model = model_on(server, wire)
        first = (await _drain(model, asked()))[-1]
        results = tuple(
            ResultBlock(call.id, (TextBlock(f"result of {call.name}"),))
            for call in first.message.calls
        )
        second = await collect(model, asked(first.message, Message("tool", results)))

    assert second[-1].finish is Finish.END
    body = str(server.requests[1].body)
    assert "result of write_file" in body
    # What a provider signs goes back as it came.
    signed = {"anthropic": "signature-resp1", "gemini": "signature-resp1"}
    assert signed.get(wire, "sealed-resp1" if wire == "openai-responses" else "Hm, let me") in body


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A01")
async def test_a_stream_cut_at_any_byte_never_gives_a_finish(wire):
    whole = await _stream_bytes(wire)
    transport = _BytesTransport()
    policy = RetryPolicy(requests=0, sleep=no_sleep)
    async with FakeProvider() as server:
        finish_at = None
        for size in range(len(whole)):
            transport.data = whole[:size]
            model = model_on(server, wire, transport=transport, retries=policy, stream_retries=0)
            try:
                events = await collect(model)
            except ModelFailed as failed:
                assert failed.code == "cut"
                assert finish_at is None
                _check_partial(failed.partial)
            else:
                assert events[-1].finish is Finish.CALLS
                finish_at = size if finish_at is None else finish_at
    # The finish is among the last events: nothing before it was taken for a whole message.
    assert finish_at is None or b"call_b" not in whole[finish_at:].split(b"response.completed")[0]


@pytest.mark.parametrize("wire", WIRES)
async def test_failures_that_may_pass_are_retried(wire):
    waits = []

    async def sleep(seconds):
        waits.append(seconds)

    script = [
        ProviderFault("429", retry_after_s=7),
        ProviderFault("429", retry_after_s=0.25, header="retry-after-ms"),
        ProviderFault("500"),
        ProviderFault("cut", after=40),
        MESSAGE,
    ]
    async with FakeProvider(script) as server:
        policy = RetryPolicy(sleep=sleep, idle_s=20)
        events = await collect(model_on(server, wire, retries=policy))

    codes = [event.code for event in events if isinstance(event, ModelRetry)]
    assert codes == ["rate_limited", "rate_limited", "overloaded", "cut"]
    assert waits[:2] == [7, 0.25]
    assert 0.7 < waits[2] < 0.9
    assert 0.17 < waits[3] < 0.23
    assert len(server.requests) == 5
    assert events[-1].finish is Finish.CALLS


@pytest.mark.parametrize("wire", WIRES)
async def test_requests_are_retried_four_times(wire):
    async with FakeProvider([ProviderFault("500")] * 9) as server:
        with pytest.raises(ModelFailed) as failed:
            await collect(model_on(server, wire))

    assert (failed.value.code, failed.value.status) == ("overloaded", 500)
    assert len(server.requests) == 5


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.parametrize("kind", ["hang", "ping"])
async def test_a_stream_without_events_is_idle(wire, kind):
    policy = RetryPolicy(requests=1, idle_s=0.2, sleep=no_sleep)
    async with FakeProvider([ProviderFault(kind)] * 9) as server:
        with pytest.raises(ModelFailed) as failed:
            await collect(model_on(server, wire, retries=policy, stream_retries=1))

    assert failed.value.code == "idle"
    # Two streams; on a busy machine each may need a second request until its first byte.
    assert 2 <= len(server.requests) <= 4


@pytest.mark.parametrize("wire", WIRES)
async def test_nothing_is_retried_after_an_event_was_handed_out(wire):
    whole = await _stream_bytes(wire)
    script = [ProviderFault("cut", after=len(whole) * 2 // 3), MESSAGE]
    async with FakeProvider(script, chunk=7) as server:
        with pytest.raises(ModelFailed) as failed:
            await collect(model_on(server, wire))

    assert failed.value.code == "cut"
    assert failed.value.usage is not None
    assert len(server.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A03")
async def test_absurd_usage_is_replaced_by_an_estimate(wire):
    async with FakeProvider([ProviderFault("usage"), MESSAGE]) as server:
        events = await collect(model_on(server, wire))

    usage = [event for event in events if isinstance(event, UsageReported)][-1]
    assert usage.estimated
    assert 10 < usage.input < 10_000
    assert 1 <= usage.output < 10_000
    assert 0 <= usage.cache_read <= 100_000_000
    assert usage.cache_write == 0


class UsageFlood:
    """A transport whose answer reports usage again and again before it says something."""

    status, headers, count = 200, {}, 500

    async def post(self, url, headers, body):
        return self

    async def chunks(self):
        for number in range(1, self.count + 1):
            yield b'data: {"usage": {"prompt_tokens": %d}}\n\n' % number
        yield b'data: {"choices": [{"delta": {"content": "hi"}, "finish_reason": "stop"}]}\n\n'

    async def aclose(self):
        return


async def test_usage_that_is_reported_again_and_again_is_not_kept():
    server = SimpleNamespace(base_url=lambda wire: "http://127.0.0.1:9")
    events = await collect(model_on(server, "openai-chat", transport=UsageFlood()))

    held = [event.input for event in events[:-1] if isinstance(event, UsageReported)]
    assert held[0] == UsageFlood.count
    assert len(held) <= 2


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A02")
async def test_calls_with_one_id_are_told_apart(wire):
    async with FakeProvider([ProviderFault("duplicate_ids"), MESSAGE]) as server:
        model = model_on(server, wire)
        done = (await _drain(model, asked()))[-1]
        ids = [call.id for call in done.message.calls]
        results = tuple(ResultBlock(one, (TextBlock(f"for {one}"),)) for one in ids)
        await collect(model, asked(done.message, Message("tool", results)))

    assert len(set(ids)) == 2
    assert all(f"for {one}" in str(server.requests[1].body) for one in ids)


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A02")
@pytest.mark.parametrize("call_id", ["../../etc/passwd", "\x1b[31mred", "x" * 3000])
async def test_odd_ids_are_replaced_and_mapped_back(wire, call_id):
    message = ScriptedMessage(calls=(ScriptedCall("read_file", {"path": "a"}, call_id),))
    async with FakeProvider([message]) as server:
        model = model_on(server, wire)
        done = (await _drain(model, asked()))[-1]
        given = done.message.calls[0].id
        answer = Message("tool", (ResultBlock(given, (TextBlock("fine"),)),))
        await collect(model, asked(done.message, answer))

    assert given.startswith("id-")
    assert _ids(server.requests[1].body) == [call_id, call_id]


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A02")
@pytest.mark.parametrize(
    "message",
    [
        ScriptedMessage(calls=tuple(ScriptedCall("read_file", {"n": n}) for n in range(129))),
        ScriptedMessage(calls=(ScriptedCall("read_file", {"text": "x" * (8 << 20)}),)),
        ScriptedMessage(text="x" * ((8 << 20) + 1)),
    ],
    ids=["calls", "arguments", "text"],
)
async def test_a_message_over_a_limit_fails(wire, message):
    async with FakeProvider([message], chunk=1 << 20) as server:
        with pytest.raises(ModelFailed) as failed:
            await collect(model_on(server, wire))

    assert (failed.value.code, failed.value.retryable) == ("over_limit", False)
    assert len(server.requests) == 1


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A01")
@pytest.mark.parametrize("finish", ["length", "refused"])
async def test_a_message_that_was_cut_by_its_provider_says_so(wire, finish):
    message = ScriptedMessage(text="so", calls=CALLS, finish=finish)
    async with FakeProvider([message]) as server:
        events = await collect(model_on(server, wire))

    assert events[-1].finish == finish
    assert len(events[-1].message.calls) == 2


@pytest.mark.parametrize("wire", WIRES)
@pytest.mark.threat("A06")
async def test_a_key_is_only_in_its_header_and_never_in_an_error(wire):
    class Echo(_BytesTransport):
        status = 401

        async def post(self, url, headers, body):
            self.data = str(headers).encode()
            return await super().post(url, headers, body)

    async with FakeProvider([], key="another") as server:
        with pytest.raises(ModelFailed) as failed:
            await collect(model_on(server, wire))
        with pytest.raises(ModelFailed) as echoed:
            await collect(model_on(server, wire, transport=Echo()))

    assert failed.value.code == "auth"
    assert len(server.requests) == 1
    request = server.requests[0]
    assert KEY not in request.path + str(request.body)
    assert KEY not in str(echoed.value)
    assert "[key]" in str(echoed.value)
    assert echoed.value.__cause__ is None


async def test_a_redirect_is_not_followed():
    async with FakeProvider() as other:
        transport = _BytesTransport(302, {"location": other.base_url("anthropic")})
        with pytest.raises(ModelFailed) as failed:
            await collect(model_on(other, "anthropic", transport=transport))

    assert (failed.value.code, failed.value.retryable) == ("network", False)
    assert other.requests == []


def _check_partial(message):
    """Every call of a cut message is complete."""
    for call in message.calls if message is not None else ():
        assert json.loads(call.arguments_json) in [one.arguments for one in CALLS]


def _joined(events, kind):
    return "".join(event.text for event in events if isinstance(event, kind))


def _ids(value):
    """The ids of calls and results in a body."""
    names = ("call_id", "tool_call_id", "tool_use_id")
    if isinstance(value, list):
        return [found for one in value for found in _ids(one)]
    if not isinstance(value, dict):
        return []
    own = [value[name] for name in names if name in value]
    if not own and "id" in value:
        own = [value["id"]]
    return own + [found for one in value.values() for found in _ids(one)]


async def _drain(model, request):
    return [event async for event in model.stream(request)]


async def _stream_bytes(wire):
    from handrail.models.scripted.replies import ReplyQueue

    return b"".join(ReplyQueue([MESSAGE], chunk=7).answer(wire, b"{}").chunks)


class _BytesTransport:
    """Answers every request with the same bytes."""

    def __init__(self, status=200, headers=None):
        self.status = getattr(self, "status", status)
        self.headers = headers or {}
        self.data = b""

    async def post(self, url, headers, body):
        return self

    async def chunks(self):
        yield self.data
        await asyncio.sleep(0)

    async def aclose(self):
        return


@pytest.mark.threat("A02")
@pytest.mark.parametrize(
    ("block", "delta"),
    [
        ({"type": "thinking", "thinking": "a"}, {"type": "signature_delta", "signature": ""}),
        ({"type": "server_tool_use"}, {"type": "input_json_delta", "partial_json": ""}),
        ({"type": "text", "text": "a"}, {"type": "text_delta", "text": ""}),
    ],
)
def test_empty_pieces_do_not_keep_a_stream_alive(block, delta):
    reader = FORMATS["anthropic"].reader()
    reader.read({"type": "message_start", "message": {}})
    reader.read({"type": "content_block_start", "index": 0, "content_block": block})
    before = reader.progress

    for _ in range(3):
        reader.read({"type": "content_block_delta", "index": 0, "delta": delta})

    assert reader.progress == before


@pytest.mark.threat("A02")
@pytest.mark.parametrize(
    "delta",
    [
        {"type": "signature_delta", "signature": "x" * 1_000_000},
        {"type": "citations_delta", "citation": {"cited_text": "x" * 1_000_000}},
    ],
)
def test_signatures_and_citations_are_limited_too(delta):
    reader = FORMATS["anthropic"].reader()
    reader.read({"type": "message_start", "message": {}})
    block = {"type": "text", "text": "a"}
    reader.read({"type": "content_block_start", "index": 0, "content_block": block})

    with pytest.raises(ModelFailed, match="text of more than"):
        for _ in range(20):
            reader.read({"type": "content_block_delta", "index": 0, "delta": delta})


@pytest.mark.threat("A02")
def test_items_of_unknown_kinds_are_limited_too():
    reader = FORMATS["openai-responses"].reader()
    item = {"type": "reasoning", "encrypted_content": "x" * 1_000_000}

    with pytest.raises(ModelFailed, match="text of more than"):
        for index in range(20):
            reader.read({"type": "response.output_item.done", "output_index": index, "item": item})


@pytest.mark.threat("A02")
def test_reasoning_details_are_limited_too():
    reader = FORMATS["openai-chat"].reader()
    delta = {"reasoning_details": [{"data": "x" * 1_000_000}]}

    with pytest.raises(ModelFailed, match="text of more than"):
        for _ in range(20):
            reader.read({"choices": [{"delta": delta}]})


@pytest.mark.threat("A02")
def test_blocks_of_unknown_kinds_are_limited_too():
    reader = FORMATS["anthropic"].reader()
    reader.read({"type": "message_start", "message": {}})
    block = {"type": "later", "data": "x" * 1_000_000}

    with pytest.raises(ModelFailed, match="text of more than"):
        for index in range(20):
            reader.read({"type": "content_block_start", "index": index, "content_block": block})
            reader.read({"type": "content_block_stop", "index": index})


def test_a_field_of_an_unknown_block_keeps_its_type():
    reader = FORMATS["anthropic"].reader()
    reader.read({"type": "message_start", "message": {}})
    block = {"type": "later", "data": "x"}
    reader.read({"type": "content_block_start", "index": 0, "content_block": block})

    with pytest.raises(ModelFailed, match="data of a block changes its type"):
        reader.read({"type": "content_block_delta", "index": 0, "delta": {"data": 7}})


def test_a_repeated_ending_does_not_keep_a_stream_alive():
    reader = FORMATS["anthropic"].reader()
    reader.read({"type": "message_start", "message": {}})
    ending = {"type": "message_delta", "delta": {"stop_reason": "tool_use"}}
    reader.read(ending)
    before = reader.progress

    for _ in range(3):
        reader.read(ending)

    assert reader.progress == before


@pytest.mark.parametrize("given", [{}, {"id": "call_7"}])
def test_gemini_gets_an_id_back_only_if_it_gave_one(given):
    reader = FORMATS["gemini"].reader()
    part = {"functionCall": {"name": "read_file", "args": {"path": "b"}, **given}}
    reader.read({"candidates": [{"content": {"parts": [part]}, "finishReason": "STOP"}]})

    assert reader.raw_message(reader.pieces)["parts"] == [part]
