"""The number of values in a message of a server, which is counted before the message is parsed."""

from __future__ import annotations

import json
from typing import Any

import pytest

from handrail.mcp.client import message_limits
from handrail.mcp.client.message_limits import ValueCounter

_TEXT = 'a,[{"\\\n' * 1_000


def _exceeds(data: bytes, size: int) -> bool:
    counter = ValueCounter()
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    return True in [counter.exceeds_limit(one) for one in pieces]


@pytest.mark.parametrize("size", [1, 2, 3, 7, 1 << 20])
@pytest.mark.parametrize(
    ("value", "count"),
    [([[]] * 20, 40), ({str(one): {} for one in range(10)}, 30), ([_TEXT] * 4, 8)],
    ids=["lists", "keys", "strings"],
)
def test_values_are_counted_and_not_the_characters_of_strings(
    monkeypatch: pytest.MonkeyPatch, value: Any, count: int, size: int
) -> None:
    data = json.dumps(value).encode()
    monkeypatch.setattr(message_limits, "MAX_VALUES", count)
    assert not _exceeds(data, size)
    monkeypatch.setattr(message_limits, "MAX_VALUES", count - 1)
    assert _exceeds(data, size)


@pytest.mark.parametrize("line", [b': "\n', b': "\r', b'event: "\\\n'])
def test_a_quote_in_another_line_hides_nothing(
    monkeypatch: pytest.MonkeyPatch, line: bytes
) -> None:
    monkeypatch.setattr(message_limits, "MAX_VALUES", 10)
    assert _exceeds(line + b"data: " + b"[]," * 10, 4)
