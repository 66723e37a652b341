"""Converts between the text positions of models and those of language servers.

A model counts lines at LF and columns in characters, both from 1. A server counts lines at LF, CRLF
and CR and columns in code units of an encoding, both from 0.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from functools import cached_property
from itertools import accumulate
from typing import Final, NamedTuple

_BREAK: Final = re.compile("\r\n|\n|\r")
# The code points from which a character takes one more code unit, by the name of the encoding.
_WIDER: Final = {"utf-8": (0x80, 0x800, 0x10000), "utf-16": (0x10000,), "utf-32": ()}


class ServerPosition(NamedTuple):
    """A position as a language server counts it."""

    line: int
    unit: int


class TextPosition(NamedTuple):
    """A position as a model counts it."""

    line: int
    column: int


class TextPositions:
    """Converts the positions of one text; raises ValueError for an unknown encoding.

    Each line is scanned at most once, so many positions cost little more than one.
    """

    def __init__(self, text: str, encoding: str) -> None:
        if encoding not in _WIDER:
            raise ValueError(f"unknown position encoding {encoding!r}")
        self._text = text
        self._wider = _WIDER[encoding]
        self._tables: dict[int, array[int] | None] = {}

    def to_server(self, line: int, column: int) -> ServerPosition | None:
        """The position for a server; None if the text has no such line. A column after the end of its
        line means the end of the line.
        """
        if not 1 <= line <= len(self._model_starts):
            return None
        start = self._model_starts[line - 1]
        end = self._text.find("\n", start)
        end = len(self._text) if end < 0 else end
        offset = min(start + max(column - 1, 0), end)
        row = bisect_right(self._server_starts, offset) - 1
        characters = offset - self._server_starts[row]
        table = self._unit_table(row)
        units = characters if table is None or not characters else table[characters - 1]
        return ServerPosition(row, units)

    def to_offset(self, position: ServerPosition) -> int:
        """The index in the text; a position after the end of a line or of the text means that end."""
        if position.line >= len(self._server_starts):
            return len(self._text)
        row = max(position.line, 0)
        start, end = self._server_starts[row], self._server_ends[row]
        table = self._unit_table(row)
        # A unit inside a character means the character's beginning.
        characters = position.unit if table is None else bisect_right(table, position.unit)
        return min(start + characters, end)

    def to_model(self, position: ServerPosition) -> TextPosition:
        """The position for a model."""
        offset = self.to_offset(position)
        row = bisect_right(self._model_starts, offset) - 1
        return TextPosition(row + 1, offset - self._model_starts[row] + 1)

    def line_text(self, line: int) -> str:
        """A line, counted from 1 as models do, without its ending."""
        start = self._model_starts[line - 1]
        end = self._text.find("\n", start)
        return self._text[start : len(self._text) if end < 0 else end].removesuffix("\r")

    def _unit_table(self, row: int) -> array[int] | None:
        """For each character of a server's line, the number of units up to its end; None if every
        character takes one unit.
        """
        if row not in self._tables:
            following = self._server_starts[row + 1 : row + 2]
            line = self._text[self._server_starts[row] : following[0] if following else None]
            narrow = not self._wider or line.isascii()
            widths = (1 + bisect_right(self._wider, ord(char)) for char in line)
            self._tables[row] = None if narrow else array("Q", accumulate(widths))
        return self._tables[row]

    @cached_property
    def _model_starts(self) -> list[int]:
        return [0, *(at + 1 for at, char in enumerate(self._text) if char == "\n")]

    @cached_property
    def _server_starts(self) -> list[int]:
        if "\r" not in self._text:
            return self._model_starts
        return [0, *(found.end() for found in _BREAK.finditer(self._text))]

    @cached_property
    def _server_ends(self) -> list[int]:
        """The end of each server's line, without its line break."""
        return [*(found.start() for found in _BREAK.finditer(self._text)), len(self._text)]
