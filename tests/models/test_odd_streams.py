"""Streams as servers and proxies of the four formats send them, read whole and chopped, and through
`rt.stream`. `tests/data/streams` has one stream per line: its events, as objects or raw text, and the
finishes that are allowed, or the codes with which it may fail.
"""

import json
from pathlib import Path

import pytest
from tests.models.speaking import WIRES, collect, model_on

import handrail
from handrail.core.ports.models import (
    CallClosed,
    MessageDone,
    ModelFailed,
    TextDelta,
    ThinkingDelta,
)
from handrail.core.problems import ProblemRaised

DATA = Path(__file__).parents[1] / "data" / "streams"
STREAMS = {
    wire: [json.loads(line) for line in DATA.joinpath(f"{wire}.jsonl").read_text().splitlines()]
    for wire in WIRES
}
PROVIDERS = {"openai-chat": "openai"}


class Body:
    """A reply with these bytes."""

    status = 200

    def __init__(self, data, size):
        self.headers = {"content-type": "text/event-stream"}
        self._data, self._size = data, size

    async def chunks(self):
        for start in range(0, len(self._data), self._size):
            yield self._data[start : start + self._size]

    async def aclose(self):
        pass


class Replies:
    """A transport on which every request gets the same bytes."""

    def __init__(self, data, size):
        self._data, self._size = data, size

    def base_url(self, _wire):
        return "http://127.0.0.1:9"

    async def post(self, url, headers, body):
        return Body(self._data, self._size)

    async def aclose(self):
        pass


def stream_bytes(events):
    parts = (one if isinstance(one, str) else f"data: {json.dumps(one)}\n\n" for one in events)
    return "".join(parts).encode()


def arguments(text):
    try:
        return json.loads(text or "{}")
    except ValueError:
        return text


def joined(events, kind):
    return "".join(one.text for one in events if isinstance(one, kind))


@pytest.mark.threat("A01", "A02")
@pytest.mark.parametrize("size", [1, 7, 1 << 20])
@pytest.mark.parametrize(
    ("wire", "stream"),
    [
        pytest.param(wire, one, id=f"{wire}: {one['name']}")
        for wire in WIRES
        for one in STREAMS[wire]
    ],
)
async def test_an_odd_stream_is_read_as_its_server_means_it(wire, stream, size):
    replies = Replies(stream_bytes(stream["events"]), size)
    model = model_on(replies, wire, transport=replies, stream_retries=0)
    try:
        events = await collect(model)
    except ModelFailed as failed:
        assert failed.code in stream.get("fails", ()), failed
        return

    done = events[-1]
    assert isinstance(done, MessageDone)
    assert done.finish in stream.get("finish", ())
    asked = [[one.name, arguments(one.arguments_json)] for one in done.message.calls]
    assert asked == stream.get("calls", [])
    if done.finish == "calls":
        closed = [
            [one.name, arguments(one.arguments_json)]
            for one in events
            if isinstance(one, CallClosed)
        ]
        assert closed == asked
    for name, kind in (("text", TextDelta), ("thinking", ThinkingDelta)):
        if name in stream:
            assert joined(events, kind) == stream[name]


@pytest.mark.feature("L10")
@pytest.mark.parametrize("wire", WIRES)
async def test_odd_streams_through_rt_stream(tmp_path, wire):
    """The events as objects: each call has its own result, in its place."""
    for name in ("a.txt", "b.txt", "b", "é.txt"):
        tmp_path.joinpath(name).write_text(f"this is {name}\n")
    read = 0
    async with handrail.open(tmp_path, store=":memory:") as rt:
        for stream in STREAMS[wire]:
            if not all(
                isinstance(one, dict) or one == "data: [DONE]\n\n" for one in stream["events"]
            ):
                continue
            read += 1
            events = [one for one in stream["events"] if isinstance(one, dict)]
            try:
                async with rt.stream(iter(events), provider=PROVIDERS.get(wire, wire)) as turn:
                    await turn
            except ProblemRaised as raised:
                assert stream.get("fails"), (stream["name"], raised)
                continue
            assert turn.finish in stream["finish"], stream["name"]
            calls = stream.get("calls", [])
            assert len(turn.results) == len(calls), stream["name"]
            for (_, given), result in zip(calls, turn.results, strict=True):
                path = given.get("path") if isinstance(given, dict) else None
                if path and result.status == "ok":
                    assert f"this is {path}" in result.text, stream["name"]
    assert read > 20
