"""The end of arguments that come in pieces, found without parsing them again and again."""

import json

import pytest

from handrail.models.wires import chat
from handrail.models.wires.chat import ChatReader
from handrail.models.wires.object_end import ObjectEnd

TEXTS = ['{"a": 1}', '{"a": "}"}', '{"a": "\\"}"}', '{"a": [{"b": {}}]} \n', '{"é": "\\\\"}']


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_is_closed_with_its_last_bracket_and_not_before(text):
    end, parts = ObjectEnd(), []
    closed = []
    for letter in text:
        parts.append(letter)
        closed.append(end.follow(parts))

    assert closed.index(True) == len(text.rstrip()) - 1
    assert closed[-1]
    assert json.loads("".join(parts))


@pytest.mark.parametrize("rest", ["{", "x", '"', "}"])
def test_a_text_that_goes_on_is_never_closed_again(rest):
    end = ObjectEnd()

    assert end.follow(["{}"])
    assert not end.follow(["{}", rest])
    assert not end.follow(["{}", rest, "}"])


@pytest.mark.threat("A02")
@pytest.mark.parametrize("piece", ['{"k": "', '{"a}', "{", "{}x"])
def test_pieces_that_could_each_begin_a_call_are_not_parsed_each_time(monkeypatch, piece):
    parsed = []
    monkeypatch.setattr(chat, "parse_object", lambda text: parsed.append(len(text)))
    reader = ChatReader()

    for _ in range(500):
        function = {"name": "read_file", "arguments": piece}
        delta = {"tool_calls": [{"index": 0, "function": function}]}
        reader.read({"id": "c", "choices": [{"index": 0, "delta": delta}]})

    assert len(parsed) <= 1
