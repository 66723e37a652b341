"""Finds the end of a JSON object that comes in pieces, in time linear to its length."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

_STRUCTURE: Final = re.compile(r'[{}\[\]"]')
_IN_STRING: Final = re.compile(r'["\\]')


class ObjectEnd:
    """Whether the brackets of a growing text have closed again, with nothing but blanks behind.

    `follow` takes all parts of the text so far and reads only those that are new, so that it can be
    asked after every part. What is closed may still not be JSON.
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
        """Whether the text of these parts is closed."""
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
        found = _IN_STRING.search(text, at)
        if found is None:
            return len(text)
        self._escaped = found[0] == "\\"
        self._in_string = self._escaped
        return found.end()

    def _read_structure(self, text: str, at: int) -> int:
        found = _STRUCTURE.search(text, at)
        if found is None:
            return len(text)
        if found[0] == '"':
            self._in_string = True
        else:
            self._depth += 1 if found[0] in "{[" else -1
            self._closed = self._depth <= 0
        return found.end()
