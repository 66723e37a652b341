"""Server-sent events out of bytes that are chopped anywhere."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from handrail.core.ports.models import ModelFailed
from handrail.models.sse import ServerEvent, SseReader

STREAM = (
    b'\xef\xbb\xbf: a comment\r\n\r\nevent: first\r\ndata: {"a":\r\ndata:  1}\r\n\r\n'
    b"data:no blank\n\nid: 7\nretry: 5\nunknown: x\ndata\n\rdata: caf\xc3\xa9\r\r"
    b"event: without data\n\ndata: cut off\n"
)
EVENTS = [
    ServerEvent("first", '{"a":\n 1}'),
    ServerEvent("", "no blank"),
    ServerEvent("", ""),
    ServerEvent("", "café"),
]


@given(st.lists(st.integers(0, len(STREAM)), max_size=30))
def test_any_chopping_gives_the_same_events(cuts):
    places = sorted({0, len(STREAM), *cuts})
    reader = SseReader()

    found = [event for start, end in pairwise(places) for event in reader.feed(STREAM[start:end])]

    assert found == EVENTS


def test_single_bytes_give_the_same_events():
    reader = SseReader()

    assert [event for n in range(len(STREAM)) for event in reader.feed(STREAM[n : n + 1])] == EVENTS


@pytest.mark.threat("A02")
@pytest.mark.parametrize("line_end", [b"", b"\n"])
def test_an_event_over_the_limit_is_refused_before_it_is_complete(line_end):
    reader = SseReader(limit=1000)
    line = b"data: " + b"x" * 400 + line_end

    with pytest.raises(ModelFailed) as failed:
        for _ in range(4):
            reader.feed(line)

    assert (failed.value.code, failed.value.retryable) == ("over_limit", False)


def test_comments_and_small_events_never_reach_the_limit():
    reader = SseReader(limit=100)

    found = [event for _ in range(1000) for event in reader.feed(b": ping\n\ndata: x\n\n")]

    assert len(found) == 1000
