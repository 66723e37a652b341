"""Events of a stream as SDKs have them: which become dicts, which are passed over, what ends."""

from types import SimpleNamespace

import pytest
from pydantic import BaseModel, Field

from handrail.core.problems import ProblemRaised
from handrail.engine.providers.streamed_turn import StreamSource, recognise_wire


class SdkEvent(BaseModel):
    """An event as the models of an SDK are; `kind` is a name that Python could not use."""

    type: str = "response.created"
    kind: str = Field("", alias="class")
    data: bytes = b""
    other: int | None = None


def plain(event):
    return StreamSource([]).plain(event)


def test_an_object_of_an_sdk_becomes_the_dict_that_was_sent():
    event = SdkEvent.model_validate({"type": "x", "class": "y", "data": "z"})

    assert plain(event) == {"type": "x", "class": "y", "data": "z"}
    assert plain(SimpleNamespace(type="chunk", chunk=event)) == plain(event)
    assert plain(SimpleNamespace(type="chunk", chunk={"type": "text"})) == {"type": "text"}


def test_the_dump_of_an_event_is_of_json_and_silent():
    asked = []
    event = SimpleNamespace(type="x", model_dump=lambda **options: asked.append(options) or {})

    assert plain(event) == {}
    assert asked == [{"mode": "json", "by_alias": True, "exclude_unset": True, "warnings": False}]


@pytest.mark.parametrize(
    "kind",
    ["text", "input_json", "thinking", "content.delta", "refusal.done", "tool_calls.function.x"],
)
def test_what_a_helper_has_added_is_passed_over(kind):
    assert plain(SimpleNamespace(type=kind)) is None
    assert plain({"type": kind}) == {"type": kind}


@pytest.mark.parametrize(
    "event",
    [
        object(),
        "text",
        SimpleNamespace(type="x"),
        SimpleNamespace(type="contents.delta"),
        SimpleNamespace(model_dump=lambda **_: []),
        SimpleNamespace(type="chunk"),
    ],
)
def test_what_is_no_event_is_refused(event):
    with pytest.raises(ProblemRaised) as raised:
        plain(event)

    assert raised.value.problem.code == "invalid_arguments"


@pytest.mark.parametrize(
    ("event", "wire"),
    [
        ({"type": "response.created"}, "openai-responses"),
        ({"type": "message_start"}, "anthropic"),
        ({"type": "content_block_delta"}, "anthropic"),
        ({"type": "error"}, "anthropic"),
        ({"choices": []}, "openai-chat"),
        ({"object": "chat.completion.chunk"}, "openai-chat"),
        ({"error": {}}, "openai-chat"),
        ({"candidates": []}, "gemini"),
    ],
)
def test_the_first_event_tells_the_format(event, wire):
    assert recognise_wire(event) == wire


@pytest.mark.parametrize("event", [{}, {"type": "responses"}, {"type": 7}, {"object": "list"}])
def test_another_first_event_is_refused(event):
    with pytest.raises(ProblemRaised):
        recognise_wire(event)


class Closing:
    """An empty source that notes how it is closed."""

    def __init__(self, **ends):
        self.__dict__.update(ends)

    def __iter__(self):
        return iter(())


async def test_a_source_is_closed_once():
    told = []

    async def aclose():
        told.append("aclose")

    await StreamSource(Closing(aclose=aclose, close=lambda: told.append("close"))).aclose()
    await StreamSource(Closing(close=lambda: told.append("close"))).aclose()
    await StreamSource(Closing(aclose=None, close=aclose)).aclose()
    await StreamSource(Closing()).aclose()

    assert told == ["aclose", "close", "aclose"]


async def test_events_are_read_until_the_last_one():
    async def sent():
        yield 1

    for events in ([1], iter([1]), sent()):
        source = StreamSource(events)
        assert await source.read() == 1
        with pytest.raises(StopAsyncIteration):
            await source.read()
