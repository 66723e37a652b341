"""JSON read together with where each part stands, so that one part can be changed and every
other byte left alone. Only the outermost levels are walked here; values are read by `json`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Final, NamedTuple

_SPACE: Final = re.compile(r"[ \t\n\r]*")
# Numbers become floats: an integer of 5,000 digits is valid, and `int` refuses it.
_DECODER: Final = json.JSONDecoder(parse_int=float)


class Value(NamedTuple):
    """A value and its span; `read_object` and `read_array` hold their parts in `value`."""

    start: int
    end: int
    value: Any


class Member(NamedTuple):
    """A key of an object, with the span of the key and the value behind it."""

    key_start: int
    key_end: int
    of: Value


Reader = Callable[[str, int], Value]
_NO_READERS: Final[Mapping[str, Reader]] = MappingProxyType({})


def read_document(text: str, readers: Mapping[str, Reader]) -> Value:
    """The one object that a text is; raises `json.JSONDecodeError`, or RecursionError."""
    document = read_object(text, skip_space(text, 0), readers)
    if skip_space(text, document.end) != len(text):
        raise json.JSONDecodeError("Extra data", text, skip_space(text, document.end))
    return document


def read_object(text: str, start: int, readers: Mapping[str, Reader] = _NO_READERS) -> Value:
    """An object as `dict[str, Member]`; `readers` say how the values of some keys are read."""
    _expect(text, start, "{")
    members: dict[str, Member] = {}
    at = skip_space(text, start + 1)
    while text[at : at + 1] != "}" or members:
        if text[at : at + 1] != '"':
            raise json.JSONDecodeError("Expecting a name in double quotes", text, at)
        key = read_value(text, at)
        colon = skip_space(text, key.end)
        _expect(text, colon, ":")
        reader = readers.get(key.value, read_value)
        value = reader(text, skip_space(text, colon + 1))
        members[key.value] = Member(key.start, key.end, value)
        at, closed = _after_item(text, value.end, "}")
        if closed:
            break
    return Value(start, at + 1, members)


def read_array(text: str, start: int, reader: Reader) -> Value:
    """An array as `list[Value]`, each read by `reader`; any other value as it is."""
    if text[start : start + 1] != "[":
        return read_value(text, start)
    items: list[Value] = []
    at = skip_space(text, start + 1)
    while text[at : at + 1] != "]" or items:
        items.append(reader(text, at))
        at, closed = _after_item(text, items[-1].end, "]")
        if closed:
            break
    return Value(start, at + 1, items)


def read_value(text: str, start: int) -> Value:
    """Any value, as Python has it."""
    value, end = _DECODER.raw_decode(text, start)
    return Value(start, end, value)


def skip_space(text: str, at: int) -> int:
    """Where the next thing that is not white space stands."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def _after_item(text: str, end: int, closer: str) -> tuple[int, bool]:
    at = skip_space(text, end)
    if text[at : at + 1] == closer:
        return at, True
    _expect(text, at, ",")
    return skip_space(text, at + 1), False


def _expect(text: str, at: int, char: str) -> None:
    if text[at : at + 1] != char:
        raise json.JSONDecodeError(f"Expecting {char!r}", text, at)
