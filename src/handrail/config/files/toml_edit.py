"""Adds tables to TOML text and removes them; every other line stays as it was written."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
# Quoted names may contain brackets and number signs.
_HEADER: Final = re.compile(
    r"""\s*\[\s*((?:"(?:[^"\\]|\\.)*+"|'[^']*+'|[^\[\]#"'])+?)\s*\]\s*(#.*)?"""
)
# Lines end at line feeds only: `splitlines` knows more line breaks than TOML.
_LINE: Final = re.compile(r"[^\n]*\n|[^\n]+")
_REMARK: Final = re.compile(r"\s*(#.*)?")


def append_table(text: str, key: Sequence[str], values: Mapping[str, Any]) -> str:
    """The text with a table appended; values are strings, booleans, lists of strings and tables of
    strings. Raises ValueError if the table cannot be added.
    """
    lines = [f"[{'.'.join(map(_write, key))}]"]
    lines += [f"{name} = {_write_value(value)}" for name, value in values.items()]
    separator = "" if not text else "\n" if text.endswith("\n") else "\n\n"
    changed = f"{text}{separator}" + "\n".join(lines) + "\n"
    expected = tomllib.loads(text)
    _parent(expected, key, create=True)[key[-1]] = dict(values)
    if tomllib.loads(changed) != expected:
        raise ValueError("the table cannot be added to this file")
    return changed


def remove_table(text: str, key: Sequence[str]) -> str:
    """The text without a table and the tables inside it; comments above the next table are kept. Raises
    KeyError if there is no such table, ValueError if it is not written under a header.
    """
    expected = tomllib.loads(text)
    del _parent(expected, key, create=False)[key[-1]]
    kept = "".join(_kept_lines(_LINE.findall(text), tuple(key)))
    found = tomllib.loads(kept)
    _drop_empty(expected, key[:-1])
    _drop_empty(found, key[:-1])
    if found != expected:
        raise ValueError("the table is not written under a header of its own")
    return kept


def _kept_lines(lines: Sequence[str], key: tuple[str, ...]) -> Iterator[str]:
    inside = False
    remarks: list[str] = []
    for line in lines:
        header = _parse_header(line)
        if header is not None:
            inside = header[: len(key)] == key
            yield from () if inside else remarks
            remarks = []
        if not inside:
            yield line
        elif _REMARK.fullmatch(line.rstrip("\n")) and line.strip():
            remarks.append(line)
        else:
            remarks = []


def _parse_header(line: str) -> tuple[str, ...] | None:
    """The key of a line that is the header of a table; None if it is not."""
    found = _HEADER.fullmatch(line.rstrip("\r\n"))
    if found is None:
        return None
    try:
        at: Any = tomllib.loads(f"[{found[1]}]")
    except tomllib.TOMLDecodeError:
        return None
    parts = []
    while at:
        ((name, at),) = at.items()
        parts.append(name)
    return tuple(parts)


def _parent(values: dict[str, Any], key: Sequence[str], *, create: bool) -> dict[str, Any]:
    for name in key[:-1]:
        below = values.setdefault(name, {}) if create else values[name]
        values = below if isinstance(below, dict) else {}
    return values


def _drop_empty(values: dict[str, Any], key: Sequence[str]) -> None:
    """Remove the tables along a key that have nothing in them."""
    if not key or not isinstance(values.get(key[0]), dict):
        return
    _drop_empty(values[key[0]], key[1:])
    if not values[key[0]]:
        del values[key[0]]


def _write(name: str) -> str:
    return name if _BARE.fullmatch(name) else _write_value(name)


def _write_value(value: Any) -> str:
    if isinstance(value, Mapping):
        return (
            "{"
            + ", ".join(f"{_write(key)} = {_write_value(one)}" for key, one in value.items())
            + "}"
        )
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return "[" + ", ".join(map(_write_value, value)) + "]"
