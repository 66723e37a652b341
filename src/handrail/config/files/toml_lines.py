"""Finds the line of each key of a TOML file, which `tomllib` does not report.

The text must have been accepted by `tomllib`. A key may be missing from the result, but its
line is never wrong.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from typing import Final

Key = tuple[str | int, ...]

_SPACE: Final = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE: Final = re.compile(r"[A-Za-z0-9_-]+")
_STRING: Final = re.compile(
    r'"""(?:[^\\]|\\.)*?"{3,5}(?!")'
    r"|'''.*?'{3,5}(?!')"
    r'|"(?:[^"\\\n]|\\.)*+"'
    r"|'[^'\n]*+'",
    re.DOTALL,
)
_SCALAR: Final = re.compile(r"[^,\]}\n#]*")


def key_lines(text: str) -> Mapping[Key, int]:
    """Map the path of every table, key and list item to its line, counted from 1."""
    return _Scanner(text).scan()


class _Scanner:
    """A single pass over valid TOML."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._line, self._counted = 1, 0
        self._lines: dict[Key, int] = {}
        self._tables: dict[Key, int] = {}

    def scan(self) -> Mapping[Key, int]:
        table: Key = ()
        self._skip()
        while self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
            self._skip()
        return self._lines

    def _header(self) -> Key:
        several = self._text.startswith("[[", self._at)
        self._at += 2 if several else 1
        key = self._inside(self._dotted())
        if several:
            index = self._tables.get(key, 0)
            self._tables[key] = index + 1
            self._lines.setdefault(key, self._now())
            key = (*key, index)
        self._note(key)
        self._at += 2 if several else 1
        return key

    def _inside(self, parts: tuple[str, ...]) -> Key:
        """The key of a dotted name; a list of tables stands for its last table."""
        key: Key = ()
        for number, part in enumerate(parts, 1):
            key = (*key, part)
            if number < len(parts) and key in self._tables:
                key = (*key, self._tables[key] - 1)
        return key

    def _pair(self, table: Key) -> None:
        key = (*table, *self._dotted())
        self._note(key)
        self._at += 1
        self._value(key)

    def _dotted(self) -> tuple[str, ...]:
        parts = []
        while True:
            self._skip()
            parts.append(self._name())
            self._skip()
            if self._text[self._at] != ".":
                return tuple(parts)
            self._at += 1

    def _name(self) -> str:
        bare = _BARE.match(self._text, self._at)
        if bare is not None:
            self._at = bare.end()
            return bare[0]
        quoted = self._take(_STRING)
        name: str = tomllib.loads(f"k = {quoted}")["k"]
        return name

    def _value(self, key: Key) -> None:
        self._skip()
        first = self._text[self._at]
        if first == "[":
            self._list(key)
        elif first == "{":
            self._table(key)
        elif first in "\"'":
            self._take(_STRING)
        else:
            self._take(_SCALAR)

    def _list(self, key: Key) -> None:
        self._at += 1
        index = 0
        while not self._ends("]"):
            self._note((*key, index))
            self._value((*key, index))
            index += 1

    def _table(self, key: Key) -> None:
        self._at += 1
        while not self._ends("}"):
            self._pair(key)

    def _ends(self, bracket: str) -> bool:
        """Skip a comma; return whether the bracket follows, and skip it too."""
        self._skip()
        if self._text[self._at] == ",":
            self._at += 1
            self._skip()
        if self._text[self._at] != bracket:
            return False
        self._at += 1
        return True

    def _note(self, key: Key) -> None:
        for length in range(1, len(key) + 1):
            self._lines.setdefault(key[:length], self._now())

    def _now(self) -> int:
        self._line += self._text.count("\n", self._counted, self._at)
        self._counted = self._at
        return self._line

    def _skip(self) -> None:
        self._take(_SPACE)

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        if found is None:
            raise ValueError(f"not TOML at character {self._at}")
        self._at = found.end()
        return found[0]
