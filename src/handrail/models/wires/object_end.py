"""Finds the end of a JSON object that arrives in pieces, in linear time."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_STRUCTURE: Final = re.compile(r'[{}\[\]"]')
_IN_STRING: Final = re.compile(r'["\\]')


class ObjectEnd:
    """Tracks whether the brackets of a growing text are closed, with only blanks after them.

    `follow` takes all parts so far and reads only the new ones, so it can be called after every
    part. A closed text may still not be JSON.
    """

    __slots__ = ("_broken", "_closed", "_depth", "_escaped", "_in_string", "_parts")

    def __init__(self) -> None:
        self._parts = 0
        self._depth = 0
        self._in_string = False
        self._escaped = False
        self._closed = False
        self._broken = False

    def follow(self, parts: Sequence[str]) -> bool:
        """Return whether the text of these parts is closed."""
        while self._parts < len(parts):
            if not self._broken:
                self._read(parts[self._parts])
            self._parts += 1
        return self._closed and not self._broken

    def _read(self, text: str) -> None:
        at = 0
        while at < len(text):
            if self._in_string:
                at = self._read_string(text, at)
            elif self._closed:
                self._broken = bool(text[at:].strip())
                return
            else:
                at = self._read_structure(text, at)

    def _read_string(self, text: str, at: int) -> int:
        if self._escaped:
            self._escaped = False
            return at + 1
        match = _IN_STRING.search(text, at)
        if match is None:
            return len(text)
        self._escaped = match[0] == "\\"
        self._in_string = self._escaped
        return match.end()

    def _read_structure(self, text: str, at: int) -> int:
        match = _STRUCTURE.search(text, at)
        if match is None:
            return len(text)
        if match[0] == '"':
            self._in_string = True
        else:
            self._depth += 1 if match[0] in "{[" else -1
            self._closed = self._depth <= 0
        return match.end()
